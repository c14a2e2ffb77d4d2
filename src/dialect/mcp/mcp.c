/* SPDX-License-Identifier: MIT */
/*
 * Messages and methods. What is answered at once is written here; tools/call and resources/read go on in mcp-call.c.
 */
#include "dialect/mcp/mcp.h"

#include <errno.h>

#include "core/daemon.h"
#include "core/request.h"
#include "core/version.h"
#include "dialect/mcp/mcp-era.h"
#include "dialect/mcp/mcp-request.h"

/* ---- answers --------------------------------------------------------------------------------- */

void mcp_send(Client *client, Buf *line, bool is_failed) {
        if (is_failed) {
                conn_abort(client->conn, "out of memory");
                return;
        }
        client_end_message(client, line, 0);
        (void)conn_give(client->conn, line);
}

static void mcp_head(JsonWriter *w, Str id) {
        jw_begin_object(w);
        jw_field_cstr(w, "jsonrpc", "2.0");
        jw_key(w, "id");
        jw_raw(w, id);
}

static void mcp_refuse(Client *client, Str id, int error, const char *message, Str about) {
        _cleanup_(buf_deinit) Buf line = BUF_NULL, text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&line);
        bool is_revision = error == CALL_E_VERSION_MISMATCH;

        w.failed = buf_printf(&text, "%s%s" STR_FMT, message, about.n ? ": " : "", STR_ARG(about)) != 0;
        mcp_head(&w, id);
        jw_key(&w, "error");
        jw_begin_object(&w);
        jw_field_int(&w, "code", is_revision ? MCP_REVISION_CODE : native_error_code(error));
        jw_field_str(&w, "message", buf_str(&text));
        if (is_revision) {
                jw_key(&w, "data");
                jw_begin_object(&w);
                jw_key(&w, "supported");
                jw_raw(&w, STR("[\"" MCP_REVISION "\"]"));
                jw_field_str(&w, "requested", about);
                jw_end_object(&w);
        }
        jw_end_object(&w);
        jw_end_object(&w);
        mcp_send(client, &line, w.failed);
}

/* A result that may be cached by nobody: what it shows changes. */
static void mcp_begin(JsonWriter *w, Str id, bool is_list) {
        mcp_head(w, id);
        jw_key(w, "result");
        jw_begin_object(w);
        jw_field_cstr(w, "resultType", "complete");
        if (is_list) {
                jw_field_int(w, "ttlMs", 0);
                jw_field_cstr(w, "cacheScope", "private");
        }
}

static void mcp_end(Client *client, JsonWriter *w) {
        jw_end_object(w);
        jw_end_object(w);
        mcp_send(client, w->out, w->failed);
}

/* ---- methods --------------------------------------------------------------------------------- */

static void mcp_discover(Client *client, const McpMessage *message) {
        _cleanup_(buf_deinit) Buf line = BUF_NULL;
        JsonWriter w = JSON_WRITER(&line);

        mcp_begin(&w, message->id, true);
        jw_key(&w, "supportedVersions");
        jw_raw(&w, STR("[\"" MCP_REVISION "\"]"));
        jw_key(&w, "capabilities");
        jw_raw(&w,
               STR("{\"tools\":{\"listChanged\":true},\"resources\":{\"subscribe\":true},\"prompts\":{}}"));
        jw_field_cstr(&w, "instructions", mcp_instructions);
        jw_key(&w, "_meta");
        jw_raw(&w, STR("{\"io.modelcontextprotocol/"
                       "serverInfo\":{\"name\":\"muster\",\"title\":\"muster\",\"version\":"
                       "\"" MUSTER_VERSION "\"}}"));
        mcp_end(client, &w);
}

static void mcp_list_tools(Client *client, const McpMessage *message) {
        _cleanup_(buf_deinit) Buf line = BUF_NULL;
        JsonWriter w = JSON_WRITER(&line);

        mcp_begin(&w, message->id, true);
        jw_key(&w, "tools");
        jw_begin_array(&w);
        for (size_t i = 0; i < n_mcp_tools; i++)
                if (mcp_tool_is_allowed(client, &mcp_tools[i]))
                        jw_raw(&w, str_from(mcp_tools[i].json));
        jw_end_array(&w);
        mcp_end(client, &w);
}

static void mcp_list(Client *client, const McpMessage *message, const char *key,
                     void (*put)(JsonWriter *w)) {
        _cleanup_(buf_deinit) Buf line = BUF_NULL;
        JsonWriter w = JSON_WRITER(&line);

        mcp_begin(&w, message->id, true);
        jw_key(&w, key);
        put(&w);
        mcp_end(client, &w);
}

static void mcp_list_resources(Client *client, const McpMessage *message) {
        mcp_list(client, message, "resources", mcp_resources_write);
}

static void mcp_list_templates(Client *client, const McpMessage *message) {
        mcp_list(client, message, "resourceTemplates", mcp_templates_write);
}

static void mcp_list_prompts(Client *client, const McpMessage *message) {
        mcp_list(client, message, "prompts", mcp_prompts_write);
}

static void mcp_get_prompt(Client *client, const McpMessage *message) {
        _cleanup_(buf_deinit) Buf line = BUF_NULL;
        JsonWriter w = JSON_WRITER(&line);
        Str name = json_text_of(message->params, "name");
        const char *why = "unknown prompt";

        mcp_begin(&w, message->id, false);
        if (!mcp_prompt_write(&w, name, json_get(message->params, "arguments"), &why)) {
                mcp_refuse(client, message->id, CALL_E_INVALID_PARAMS, why, name);
                return;
        }
        mcp_end(client, &w);
}

static void mcp_call_tool(Client *client, const McpMessage *message) {
        Str name = json_text_of(message->params, "name");
        const Json *args = json_get(message->params, "arguments");
        const McpTool *tool = mcp_tool_find(name);

        if (!tool)
                mcp_refuse(client, message->id, CALL_E_INVALID_PARAMS, "unknown tool", name);
        else if (args && !json_is(args, JSON_OBJECT) && !json_is(args, JSON_NULL))
                mcp_refuse(client, message->id, CALL_E_INVALID_PARAMS, "arguments must be an object",
                           STR_NULL);
        else
                mcp_call(client, &(McpRequest){.client = client,
                                               .id = message->id,
                                               .tool = tool,
                                               .args = json_is(args, JSON_OBJECT) ? args : NULL,
                                               .meta = message->meta});
}

static void mcp_read_resource(Client *client, const McpMessage *message) {
        McpRequest asked = {.client = client, .id = message->id, .meta = message->meta};
        McpFound found;

        asked.uri = json_text_of(message->params, "uri");
        if (!mcp_resource_find(&client->daemon->envelope, asked.uri, &found))
                mcp_refuse(client, message->id, CALL_E_INVALID_PARAMS, "unknown resource", asked.uri);
        else if (!found.tool)
                conn_abort(client->conn, "out of memory");
        else {
                asked.tool = found.tool;
                asked.args = found.args;
                mcp_call(client, &asked);
        }
}

static void mcp_subscribe(Client *client, const McpMessage *message) {
        const char *why = mcp_listen(client, message);

        if (why)
                mcp_refuse(client, message->id, CALL_E_INVALID_PARAMS, why, STR_NULL);
}

typedef struct McpMethod {
        const char *name;
        void (*run)(Client *client, const McpMessage *message);
        bool is_by_rights; /* what it does depends on the rights of its caller */
} McpMethod;

static const McpMethod mcp_methods[] = {
        {"server/discover", mcp_discover, false},
        {"tools/list", mcp_list_tools, true},
        {"tools/call", mcp_call_tool, false},
        {"resources/list", mcp_list_resources, false},
        {"resources/templates/list", mcp_list_templates, false},
        {"resources/read", mcp_read_resource, false},
        {"prompts/list", mcp_list_prompts, false},
        {"prompts/get", mcp_get_prompt, false},
        {"subscriptions/listen", mcp_subscribe, true},
};

static const McpMethod *mcp_method_find(Str name) {
        for (size_t i = 0; i < ARRAY_SIZE(mcp_methods); i++)
                if (str_is(name, mcp_methods[i].name))
                        return &mcp_methods[i];
        return NULL;
}

/* ---- messages -------------------------------------------------------------------------------- */

static void mcp_handle(Client *client, const Json *json) {
        McpMessage message = {.params = json_get(json, "params")};
        const Json *id = json_get(json, "id");
        Str method = json_text_of(json, "method"), revision;
        const McpMethod *found = mcp_method_find(method);

        if (id && (json_raw(id).n > MCP_ID_MAX || (!json_is(id, JSON_STRING) && !json_is(id, JSON_NUMBER))))
                return mcp_refuse(client, STR("null"), CALL_E_INVALID_REQUEST,
                                  "the id is no string or number, or too long", STR_NULL);
        message.id = id ? json_raw(id) : STR("null");
        if (!str_is(json_text_of(json, "jsonrpc"), "2.0") || !method.n)
                return mcp_refuse(client, message.id, CALL_E_INVALID_REQUEST, "no JSON-RPC 2.0 request",
                                  STR_NULL);
        if (!id)
                return; /* a notification: to cancel is to hang up */
        if (!found)
                return mcp_refuse(client, message.id, CALL_E_UNKNOWN_OP, "unknown method", method);
        message.meta = json_get(message.params, "_meta");
        revision = json_text_of(message.meta, "io.modelcontextprotocol/protocolVersion");
        if (!revision.n)
                return mcp_refuse(client, message.id, CALL_E_INVALID_PARAMS,
                                  "_meta has no io.modelcontextprotocol/protocolVersion", STR_NULL);
        if (!str_is(revision, MCP_REVISION))
                return mcp_refuse(client, message.id, CALL_E_VERSION_MISMATCH,
                                  "unsupported protocol version", revision);
        if (found->is_by_rights && !principal_of(client)->is_settled)
                mcp_call(client, &(McpRequest){.client = client,
                                               .id = message.id,
                                               .tool = mcp_tool_find(STR("muster_whoami")),
                                               .meta = message.meta,
                                               .then = found->run,
                                               .params = message.params});
        else
                found->run(client, &message);
}

static int mcp_parse(_unused_ const Dialect *dialect, Arena *arena, Str *line, Json **ret,
                     JsonFault *fault) {
        *line = str_trim(*line);
        return json_parse(arena, line->data, line->n, &message_limits, ret, fault);
}

/* Which operation it will be is known when the tool's arguments are bound. */
static void mcp_aim(_unused_ const Dialect *dialect, _unused_ const Json *message,
                    _unused_ const OpTable **ops, _unused_ const Op **op, _unused_ const Json **args) {}

/* A tool keeps the message for longer than this turn, and its text with it. */
static void mcp_frame(Client *client, Str line) {
        JsonFault fault = {.what = "no memory"};
        Json *json = NULL;
        int r;

        line = str_trim(line);
        if (!line.n)
                return;
        if (!client->request)
                line = arena_str(&client->daemon->envelope, line);
        r = line.data ? client_parse(client, &line, &json, &fault) : -ENOMEM;
        if (r)
                mcp_refuse(client, STR("null"), CALL_E_PARSE, "parse error",
                           str_from(r < 0 ? "no memory" : fault.what));
        else
                mcp_handle(client, json);
}

static void mcp_eof(Client *client, _unused_ Str rest) {
        client_leave(client, "end of stream");
}

static void mcp_oversize(Client *client) {
        mcp_refuse(client, STR("null"), CALL_E_INVALID_REQUEST, "message over 16 MiB", STR_NULL);
        conn_finish(client->conn, "line too long");
}

static void mcp_close(Client *client) {
        mcp_call_free(client->state);
        client->state = NULL;
}

/* ---- calls of operations --------------------------------------------------------------------- */

/* The result itself is all that is wanted: the answer is made of it when the last step is done. */
static void mcp_write_nothing(_unused_ const Call *call, _unused_ Buf *out) {}

static void mcp_keep_error(const Call *call, Buf *out) {
        McpRequest *self = call->client->state;

        out->n = call->mark;
        self->error = call->error;
        self->message = arena_str(&self->arena, call->message);
        self->details = call->details.n ? arena_str(&self->arena, buf_str(&call->details)) : STR_NULL;
}

static const char *mcp_tool_of(const Client *client) {
        const McpRequest *self = client->state;

        return self && !self->then ? self->tool->name : NULL;
}

/* News of a project whose task is asked for: nobody listens to them here. */
static void mcp_push(_unused_ Client *client, _unused_ Chunk *chunk) {}

const Dialect mcp_dialect = {
        .name = "mcp",
        .framing = {.kind = FRAMING_LINE, .n_max = MCP_LINE_MAX},
        .parse = mcp_parse,
        .aim = mcp_aim,
        .frame = mcp_frame,
        .eof = mcp_eof,
        .oversize = mcp_oversize,
        .close = mcp_close,
        .begin_result = mcp_write_nothing,
        .end_result = mcp_write_nothing,
        .write_error = mcp_keep_error,
        .tool = mcp_tool_of,
        .replied = mcp_call_on_replied,
        .push = mcp_push,
};
