/* SPDX-License-Identifier: MIT */
#include "dialect/mcp/mcp-era.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/id.h"
#include "core/version.h"
#include "dialect/mcp/mcp-step.h"
#include "gen/errors.h"

#define ERA_NEWEST_OLD "2025-11-25" /* what a client gets that wants one nobody knows */

static const char *const era_old[] = {"2024-11-05", "2025-03-26", "2025-06-18", ERA_NEWEST_OLD};

const char mcp_instructions[] = "muster hosts you and other agents. Read your unread messages with "
                                "cccc_inbox_list (cccc_bootstrap at the start of a "
                                "session), answer with cccc_message_reply or cccc_message_send: what "
                                "you print on your terminal reaches nobody. Mark as "
                                "read what you have dealt with. Keep decisions, tasks and notes in "
                                "the shared context. muster_wait waits for mail.";

/* ---- which one ------------------------------------------------------------------------------- */

const char *mcp_era_agree(Str wanted) {
        for (size_t i = 0; i < ARRAY_SIZE(era_old); i++)
                if (str_is(wanted, era_old[i]))
                        return era_old[i];
        return ERA_NEWEST_OLD;
}

bool mcp_era_is_old(Str revision) {
        return str_is(revision, mcp_era_agree(revision));
}

bool mcp_era_says_new(const Json *params) {
        return json_get(json_get(params, "_meta"), "io.modelcontextprotocol/protocolVersion");
}

/* ---- what needs no daemon -------------------------------------------------------------------- */

static void era_begin(JsonWriter *w, Str id) {
        jw_begin_object(w);
        jw_field_cstr(w, "jsonrpc", "2.0");
        jw_key(w, "id");
        jw_raw(w, id);
}

void mcp_era_put_empty(JsonWriter *w, Str id) {
        era_begin(w, id);
        jw_key(w, "result");
        jw_raw(w, STR("{}"));
        jw_end_object(w);
}

void mcp_era_put_initialize(JsonWriter *w, Str id, const Json *params, bool tells) {
        era_begin(w, id);
        jw_key(w, "result");
        jw_begin_object(w);
        jw_field_cstr(w, "protocolVersion", mcp_era_agree(json_text_of(params, "protocolVersion")));
        jw_key(w, "capabilities");
        jw_raw(w, tells ? STR("{\"tools\":{\"listChanged\":true},\"resources\":{\"subscribe\":true},"
                              "\"prompts\":{}}")
                        : STR("{\"tools\":{},\"resources\":{},\"prompts\":{}}"));
        jw_key(w, "serverInfo");
        jw_raw(w, STR("{\"name\":\"muster\",\"title\":\"muster\",\"version\":\"" MUSTER_VERSION "\"}"));
        jw_field_cstr(w, "instructions", mcp_instructions);
        jw_end_object(w);
        jw_end_object(w);
}

/* ---- requests -------------------------------------------------------------------------------- */

const McpTool *mcp_era_tool(Str name) {
        for (size_t i = 0; i < n_mcp_tools; i++)
                if (str_is(name, mcp_tools[i].name))
                        return &mcp_tools[i];
        return NULL;
}

bool mcp_era_is_keyed(const McpTool *tool, const Json *args) {
        const McpStep *step = tool->n_steps ? &tool->steps[0] : NULL;

        if (tool->flags & TOOL_CHOOSES)
                for (size_t i = 0; i < tool->n_steps; i++) {
                        step = &tool->steps[i];
                        if (mcp_step_is_given(step, args))
                                break;
                }
        for (size_t i = 0; step && i < step->n_binds; i++)
                if (strstr(step->binds[i].from, "$key"))
                        return true;
        return false;
}

static int era_put_key(JsonWriter *w) {
        unsigned char bytes[16];
        char text[2 * sizeof(bytes) + 1];

        if (random_bytes(bytes, sizeof(bytes)))
                return -EIO;
        for (size_t i = 0; i < sizeof(bytes); i++)
                snprintf(text + 2 * i, 3, "%02x", bytes[i]);
        jw_field_cstr(w, "muster/key", text);
        return 0;
}

void mcp_era_put_meta(JsonWriter *w, const McpSaid *said, const Json *meta, bool is_old, bool has_key) {
        jw_key(w, "_meta");
        jw_begin_object(w);
        json_each (one, meta)
                if (!str_starts(json_key(one), STR("muster/"))) {
                        jw_key_str(w, json_key(one));
                        jw_value(w, one);
                }
        if (is_old) {
                jw_field_cstr(w, "io.modelcontextprotocol/protocolVersion", MCP_REVISION);
                jw_key(w, "io.modelcontextprotocol/clientCapabilities");
                jw_raw(w, STR("{}"));
        }
        if (said->group.n)
                jw_field_str(w, "muster/group", said->group);
        if (said->actor.n)
                jw_field_str(w, "muster/actor", said->actor);
        if (has_key && era_put_key(w))
                w->failed = true;
        jw_end_object(w);
}

void mcp_era_put_request(JsonWriter *w, const McpSaid *said, const McpAsked *asked) {
        era_begin(w, asked->id);
        jw_field_str(w, "method", asked->method);
        jw_key(w, "params");
        jw_begin_object(w);
        json_each (one, asked->params)
                if (!str_is(json_key(one), "_meta")) {
                        jw_key_str(w, json_key(one));
                        jw_value(w, one);
                }
        mcp_era_put_meta(w, said, json_get(asked->params, "_meta"), asked->is_old, asked->has_key);
        jw_end_object(w);
        jw_end_object(w);
}

/* ---- answers --------------------------------------------------------------------------------- */

static bool era_drop_prefix(Str *text, const char *prefix) {
        if (!str_starts(*text, str_from(prefix)))
                return false;
        *text = (Str){text->data + strlen(prefix), text->n - strlen(prefix)};
        return true;
}

/* The daemon writes an answer always in this way. */
static bool era_drop_head(Str *rest, Str id) {
        if (!era_drop_prefix(rest, "{\"jsonrpc\":\"2.0\",\"id\":") || !str_starts(*rest, id))
                return false;
        *rest = (Str){rest->data + id.n, rest->n - id.n};
        return true;
}

int mcp_era_error(Str id, Str line) {
        Str rest = line;
        bool is_negative;
        int code = 0;

        if (!era_drop_head(&rest, id) || !era_drop_prefix(&rest, ",\"error\":{\"code\":"))
                return 0;
        is_negative = era_drop_prefix(&rest, "-");
        for (size_t i = 0; i < rest.n && i < 6 && rest.data[i] >= '0' && rest.data[i] <= '9'; i++)
                code = code * 10 + (rest.data[i] - '0');
        return is_negative ? -code : code;
}

int mcp_era_put_old(Buf *out, Str id, bool is_resource, Str line) {
        Str rest = line, head;
        char refusal[64];

        if (!era_drop_head(&rest, id))
                return buf_append_str(out, line);
        head = (Str){line.data, line.n - rest.n};
        if (era_drop_prefix(&rest, ",\"result\":{\"resultType\":\"complete\",")) {
                (void)era_drop_prefix(&rest, "\"ttlMs\":0,\"cacheScope\":\"private\",");
                return buf_append_str(out, head) || buf_append_str(out, STR(",\"result\":{")) ||
                                       buf_append_str(out, rest)
                               ? -ENOMEM
                               : 0;
        }
        snprintf(refusal, sizeof(refusal), ",\"error\":{\"code\":%d,",
                 native_error_code(CALL_E_INVALID_PARAMS));
        if (is_resource && era_drop_prefix(&rest, refusal))
                return buf_append_str(out, head) ||
                                       buf_printf(out, ",\"error\":{\"code\":%d,", MCP_NO_RESOURCE) ||
                                       buf_append_str(out, rest)
                               ? -ENOMEM
                               : 0;
        return buf_append_str(out, line);
}
