/* SPDX-License-Identifier: MIT */
#include "dialect/jsonrpc/jsonrpc.h"

#include <errno.h>

#include "base/utf8.h"
#include "core/daemon.h"

/* ---- requests -------------------------------------------------------------------------------- */

static void jsonrpc_trace(const Client *client, const char *direction, Str text) {
        if (jsonrpc_of(client)->trace)
                jsonrpc_of(client)->trace(client, direction, text);
}

/* What makes it no request; NULL: it is one. */
static const char *missing_part(const Json *message) {
        if (!json_is(message, JSON_OBJECT) || !str_is(json_str(json_get(message, "jsonrpc")), "2.0"))
                return ": missing jsonrpc 2.0";
        return json_str(json_get(message, "method")).n ? NULL : ": missing method";
}

static void refuse_invalid(Client *client, const Json *id, Buf *out, const char *missing) {
        const JsonRpcDialect *profile = jsonrpc_of(client);
        Str echoed = profile->invalid_keeps_id && id ? json_raw(id) : STR("null");

        client_refuse(client, CALL_E_INVALID_REQUEST, echoed, out, "Invalid Request%s",
                      profile->says_missing ? missing : "");
}

static const Op *jsonrpc_find(const Client *client, Str method, const OpTable **ops) {
        const JsonRpcDialect *profile = jsonrpc_of(client);

        *ops = client->dialect->ops;
        return profile->find ? profile->find(method, ops) : op_find(*ops, method);
}

/* Where it has to be served by somebody else, that is looked at first. */
static void jsonrpc_run(Client *client, const OpTable *ops, const Op *op, const Json *params, Str id,
                        Buf *out) {
        const JsonRpcDialect *profile = jsonrpc_of(client);
        char why[JSONRPC_WHY_MAX] = "";
        int error = profile->enter ? profile->enter(client, ops, op, params, why) : 0;

        if (!error)
                client_run_of(client, ops, op, params, id, !id.n, out);
        else if (id.n)
                client_refuse(client, error, id, out, "%s", why);
}

void jsonrpc_handle(Client *client, const Json *message, Buf *out) {
        const JsonRpcDialect *profile = jsonrpc_of(client);
        const Json *id = json_get(message, "id"), *params = json_get(message, "params");
        bool is_silent = !id || (json_is(id, JSON_NULL) && profile->null_id_is_silent);
        Str method = json_str(json_get(message, "method"));
        const char *missing = missing_part(message);
        const OpTable *ops;
        const Op *op;

        if (id && json_raw(id).n > JSONRPC_ID_MAX) {
                client_refuse(client, CALL_E_INVALID_REQUEST, STR("null"), out,
                              "Invalid Request: id over %d bytes", JSONRPC_ID_MAX);
                return;
        }
        if (missing) {
                refuse_invalid(client, id, out, missing);
                return;
        }
        if (is_silent && !profile->runs_notifications)
                return;
        op = jsonrpc_find(client, method, &ops);
        if (params && !json_is(params, JSON_OBJECT) &&
            (profile->any_params || json_is(params, JSON_NULL) ||
             (op && profile->has_issues && !op->n_fields)))
                params = NULL;
        if (!op && !is_silent)
                client_refuse(client, CALL_E_UNKNOWN_OP, json_raw(id), out, "%s" STR_FMT,
                              profile->unknown_method, STR_ARG(method));
        else if (op && params && !json_is(params, JSON_OBJECT) && !is_silent)
                client_refuse(client, CALL_E_INVALID_PARAMS, json_raw(id), out,
                              profile->has_issues ? "Invalid params" : "params must be an object");
        else if (op && (!params || json_is(params, JSON_OBJECT))) /* else: a notification, dropped */
                jsonrpc_run(client, ops, op, params, is_silent ? STR_NULL : json_raw(id), out);
}

/* *line lives in the arena afterwards. A line that becomes too long by it stays as wrong as it was. */
static int jsonrpc_parse_replaced(Arena *arena, Str *line, Json **ret, JsonFault *fault) {
        Buf clean = BUF_NULL;
        Str kept = STR_NULL;

        if (!utf8_append_replaced(&clean, line->data, line->n) && clean.n <= JSONRPC_LINE_MAX)
                kept = arena_str(arena, buf_str(&clean));
        buf_deinit(&clean);
        if (!kept.data)
                return JSON_E_UTF8;
        *line = kept;
        return json_parse(arena, kept.data, kept.n, &message_limits, ret, fault);
}

int jsonrpc_parse(const Dialect *dialect, Arena *arena, Str *line, Json **ret, JsonFault *fault) {
        const JsonRpcDialect *profile = (const JsonRpcDialect *)dialect;
        int r;

        *line = str_trim(*line);
        if (profile->skips_bom && str_starts(*line, STR("\xef\xbb\xbf")))
                *line = (Str){line->data + 3, line->n - 3};
        r = json_parse(arena, line->data, line->n, &message_limits, ret, fault);
        return r == JSON_E_UTF8 && profile->replaces_utf8 ? jsonrpc_parse_replaced(arena, line, ret, fault)
                                                          : r;
}

void jsonrpc_aim(const Dialect *dialect, const Json *message, const OpTable **ops, const Op **op,
                 const Json **args) {
        *ops = dialect->ops;
        *args = json_get(message, "params");
        if (json_is(*args, JSON_OBJECT))
                *op = op_find(dialect->ops, json_str(json_get(message, "method")));
}

void jsonrpc_frame(Client *client, Str line) {
        const JsonRpcDialect *profile = jsonrpc_of(client);
        JsonFault fault = {0};
        Json *json = NULL;
        int r;

        line = str_trim(line);
        if (!line.n)
                return;
        jsonrpc_trace(client, "<-", line);
        if (*line.data != '{' &&
            !client->request) /* a batch keeps its text, which goes away with this turn */
                line = arena_str(&client->daemon->envelope, line);
        r = line.data ? client_parse(client, &line, &json, &fault) : -ENOMEM;
        if (r)
                client_refuse(client, CALL_E_PARSE, STR("null"), NULL, "Parse error: %s",
                              r < 0 ? "no memory" : fault.what);
        else if (json_is(json, JSON_ARRAY) && json_count(json) > JSONRPC_BATCH_MAX)
                client_refuse(client, CALL_E_INVALID_REQUEST, STR("null"), NULL,
                              "a batch has at most %d requests", JSONRPC_BATCH_MAX);
        else if (json_is(json, JSON_ARRAY) && json_count(json) && profile->has_batches)
                jsonrpc_batch(client, json);
        else
                jsonrpc_handle(client, json, NULL);
}

void jsonrpc_eof(Client *client, Str rest) {
        if (jsonrpc_of(client)->eof_ends_line)
                jsonrpc_frame(client, rest);
        client_leave(client, "end of stream");
}

void jsonrpc_oversize(Client *client) {
        client_refuse(client, CALL_E_TOO_LARGE, STR("null"), NULL, "line over %d bytes", JSONRPC_LINE_MAX);
        conn_finish(client->conn, "line too long");
}

/* ---- replies --------------------------------------------------------------------------------- */

static bool is_in_batch(const Call *call) {
        return call->out != conn_out(call->client->conn);
}

static void jsonrpc_put_head(const Call *call, Buf *out) {
        if (is_in_batch(call) && out->n > 1)
                (void)buf_append_str(out, STR(","));
        (void)buf_append_str(out, STR("{\"jsonrpc\":\"2.0\""));
        if (jsonrpc_of(call->client)->id_before_result) {
                (void)buf_append_str(out, STR(",\"id\":"));
                (void)buf_append_str(out, call->id);
        }
}

static void put_tail(const Call *call, Buf *out) {
        if (!jsonrpc_of(call->client)->id_before_result) {
                (void)buf_append_str(out, STR(",\"id\":"));
                (void)buf_append_str(out, call->id);
        }
        (void)buf_append_str(out, STR("}"));
        if (is_in_batch(call))
                return;
        jsonrpc_trace(call->client, "->", (Str){out->data + call->mark, out->n - call->mark});
        client_end_message(call->client, out, call->mark);
}

void jsonrpc_begin_result(const Call *call, Buf *out) {
        jsonrpc_put_head(call, out);
        (void)buf_append_str(out, STR(",\"result\":"));
}

void jsonrpc_end_result(const Call *call, Buf *out) {
        put_tail(call, out);
}

static void jsonrpc_put_error(const Call *call, JsonWriter *w) {
        const JsonRpcDialect *profile = jsonrpc_of(call->client);

        if (profile->write_foreign && call->ops && call->ops != profile->dialect.ops) {
                profile->write_foreign(call, w);
                return;
        }
        jw_field_int(w, "code", profile->error_code(call->error));
        jw_field_str(w, "message", call->message);
        if (call->details.n) {
                jw_key(w, "data");
                jw_raw(w, buf_str(&call->details));
        }
}

void jsonrpc_write_error(const Call *call, Buf *out) {
        JsonWriter w = JSON_WRITER(out);

        jsonrpc_put_head(call, out);
        (void)buf_append_str(out, STR(",\"error\":"));
        jw_begin_object(&w);
        jsonrpc_put_error(call, &w);
        jw_end_object(&w);
        put_tail(call, out);
}

void jsonrpc_replied(Client *client) {
        if (client->state)
                jsonrpc_batch_replied(client);
}

/* ---- notifications --------------------------------------------------------------------------- */

Chunk *jsonrpc_notification(const char *name, Str params) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;

        if (buf_printf(&text, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":", name) ||
            buf_append_str(&text, params) || buf_append_str(&text, STR("}\n")))
                return NULL;
        return chunk_new(buf_str(&text));
}

/* In a channel it is no line: its own framing is put around each copy. */
/* Of a channel each line is a message. */
static void jsonrpc_push_copy(Client *client, Str text) {
        Buf *out = conn_out(client->conn);

        while (text.n) {
                const char *end = memchr(text.data, '\n', text.n);
                size_t n = end ? (size_t)(end - text.data) : text.n, mark = out->n;

                if (buf_append(out, text.data, n))
                        conn_abort(client->conn, "out of memory");
                else
                        client_end_message(client, out, mark);
                n += end ? 1 : 0;
                text = (Str){text.data + n, text.n - n};
        }
        conn_flush_soon(client->conn);
}

void jsonrpc_push(Client *client, Chunk *chunk) {
        Str text = {chunk->data, chunk->n - 1};

        jsonrpc_trace(client, "->", text);
        if (client->state)
                jsonrpc_batch_push(client, text);
        else if (client->channel)
                jsonrpc_push_copy(client, text);
        else
                (void)conn_write_chunk(client->conn, chunk);
}
