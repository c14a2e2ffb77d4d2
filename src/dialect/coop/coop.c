/* SPDX-License-Identifier: MIT */
#include "dialect/coop/coop.h"

#include "core/daemon.h"
#include "gen/coop-ops.h"

/* client->state of a client whose handshake was good. */
static const char greeted;

/* ---- replies --------------------------------------------------------------------------------- */

static bool coop_has_length(const Call *call) {
        return !call->client || !call->client->channel;
}

static void coop_end_message(const Call *call, Buf *out, size_t mark) {
        if (coop_has_length(call))
                framing_put_length(out->data + mark, out->n - mark - 4);
        else
                client_end_message(call->client, out, mark);
}

static void coop_begin_result(const Call *call, Buf *out) {
        if (coop_has_length(call))
                (void)buf_append_str(out, STR("\0\0\0\0"));
        (void)buf_append_str(out, STR("{\"ok\":true,"));
}

/* The result object's members belong into the answer itself: its opening brace is taken out, or all of it
 * when empty. */
static void coop_end_result(const Call *call, Buf *out) {
        char *result = out->data + call->result_mark;
        size_t n = out->n - call->result_mark;

        if (n == 2) { /* {} */
                result[-1] = '}';
                out->n -= 2;
        } else {
                memmove(result, result + 1, n - 1);
                out->n--;
        }
        coop_end_message(call, out, call->mark);
}

bool coop_put_failure(Buf *out, int error, Str message, Str details) {
        JsonWriter w = JSON_WRITER(out);

        jw_begin_object(&w);
        jw_field_bool(&w, "ok", false);
        if (error == CALL_E_VERSION_MISMATCH)
                jw_field_int(&w, "version", COOP_VERSION);
        jw_field_cstr(&w, "error", coop_error_code(error));
        jw_field_str(&w, "message", message);
        if (details.n > 2) { /* {…}: its members belong into the answer itself */
                (void)buf_append_str(out, STR(","));
                (void)buf_append(out, details.data + 1, details.n - 2);
        }
        jw_end_object(&w);
        return !w.failed;
}

static void coop_write_error(const Call *call, Buf *out) {
        size_t mark = out->n;

        if (coop_has_length(call))
                (void)buf_append_str(out, STR("\0\0\0\0"));
        if (coop_put_failure(out, call->error, call->message, buf_str(&call->details)))
                coop_end_message(call, out, mark);
}

static void coop_error_word(int error, JsonWriter *w) {
        jw_cstr(w, coop_error_code(error));
}

/* ---- requests -------------------------------------------------------------------------------- */

void coop_be_greeted(Client *client) {
        client->state = (void *)&greeted;
}

static void coop_greet(Client *client, const Json *json) {
        const Json *said = json_get(json, "version");
        uint64_t version;

        if (!json_is_integer(said) || !json_uint64(said, &version)) {
                client_refuse(client, CALL_E_INVALID_REQUEST, STR_NULL, NULL,
                              "expected a handshake {\"version\": 1}");
                conn_finish(client->conn, "bad handshake");
        } else if (version != COOP_VERSION) {
                client_refuse(client, CALL_E_VERSION_MISMATCH, STR_NULL, NULL,
                              "Unsupported protocol version %llu", (unsigned long long)version);
                conn_finish(client->conn, "version mismatch");
        } else {
                static const char answer[] = "\0\0\0\x17{\"version\":1,\"ok\":true}";
                _Static_assert(sizeof(answer) - 1 - 4 == 0x17, "the length in the answer");

                coop_be_greeted(client);
                (void)conn_write(client->conn, (Str){answer, sizeof(answer) - 1});
        }
}

static void command(Client *client, const Json *json) {
        const Json *cmd = json_get(json, "cmd");
        const Op *op = op_find(&coop_ops, json_str(cmd));

        if (!json_is(json, JSON_OBJECT))
                client_refuse(client, CALL_E_INVALID_REQUEST, STR_NULL, NULL, "not a JSON object");
        else if (!json_is(cmd, JSON_STRING))
                client_refuse(client, CALL_E_INVALID_REQUEST, STR_NULL, NULL, "cmd must be a string");
        else if (!op)
                client_refuse(client, CALL_E_UNKNOWN_OP, STR_NULL, NULL, "Unknown command '" STR_FMT "'",
                              STR_ARG(json_str(cmd)));
        else
                client_run(client, op, json, STR_NULL, false, NULL);
}

static int coop_parse(_unused_ const Dialect *dialect, Arena *arena, Str *frame, Json **ret,
                      JsonFault *fault) {
        return json_parse(arena, frame->data, frame->n, &message_limits, ret, fault);
}

static void coop_aim(_unused_ const Dialect *dialect, const Json *message, const OpTable **ops,
                     const Op **op, const Json **args) {
        *ops = &coop_ops;
        *args = message;
        if (json_is(message, JSON_OBJECT))
                *op = op_find(&coop_ops, json_str(json_get(message, "cmd")));
}

static void coop_on_frame(Client *client, Str frame) {
        Json *json = NULL;
        JsonFault fault = {0};
        int r = client_parse(client, &frame, &json, &fault);

        if (!client->state)
                coop_greet(client, r ? NULL : json);
        else if (r)
                client_refuse(client, CALL_E_PARSE, STR_NULL, NULL, "not JSON: %s",
                              r < 0 ? "no memory" : fault.what);
        else
                command(client, json);
}

static void coop_on_eof(Client *client, _unused_ Str rest) {
        conn_finish(client->conn, "end of stream");
}

static void coop_on_oversize(Client *client) {
        client_refuse(client, CALL_E_TOO_LARGE, STR_NULL, NULL, "message over %d bytes", COOP_MESSAGE_MAX);
        conn_finish(client->conn, "message too large");
}

const Dialect coop_dialect = {
        .name = "coop",
        .ops = &coop_ops,
        .framing = {.kind = FRAMING_LENGTH, .n_max = COOP_MESSAGE_MAX},
        .parse = coop_parse,
        .aim = coop_aim,
        .frame = coop_on_frame,
        .eof = coop_on_eof,
        .oversize = coop_on_oversize,
        .begin_result = coop_begin_result,
        .end_result = coop_end_result,
        .write_error = coop_write_error,
        .error_word = coop_error_word,
        .stream = coop_stream,
};
