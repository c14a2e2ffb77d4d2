/* SPDX-License-Identifier: MIT */
#include "dialect/cccc/cccc.h"

#include "base/utf8.h"
#include "core/daemon.h"
#include "dialect/cccc/cccc-gate.h"
#include "gen/cccc-ops.h"

/* ---- requests -------------------------------------------------------------------------------- */

typedef struct Envelope {
        Str op;
        const Json *args;
} Envelope;

/* Returns NULL, or what is wrong with it. */
static const char *read_envelope(const Json *json, Envelope *ret) {
        const char *wrong = NULL;
        bool has_op = false;
        int64_t v;

        if (!json_is(json, JSON_OBJECT))
                return "the request must be an object";
        json_each (member, json) {
                Str key = json_key(member);
                if (str_is(key, "op")) {
                        has_op = true;
                        ret->op = json_str(member);
                        if (!json_is(member, JSON_STRING))
                                wrong = "op must be a string";
                } else if (str_is(key, "args")) {
                        ret->args = member;
                        if (!json_is(member, JSON_OBJECT))
                                wrong = "args must be an object";
                } else if (!str_is(key, "v")) {
                        wrong = "unknown member in the request";
                } else if (!json_int64(member, &v) || v != 1) {
                        wrong = "v must be 1";
                }
        }
        return wrong ? wrong : has_op ? NULL : "op is missing";
}

/* Clients of the original may send bytes that are not UTF-8: they are replaced, as there. */
static int cccc_parse_replaced(Arena *arena, Str line, Json **ret, JsonFault *fault) {
        Buf clean = BUF_NULL;
        Str kept = STR_NULL;

        if (!utf8_append_replaced(&clean, line.data, line.n))
                kept = arena_str(arena, buf_str(&clean));
        buf_deinit(&clean);
        return kept.data ? json_parse(arena, kept.data, kept.n, &message_limits, ret, fault) : JSON_E_UTF8;
}

static int cccc_parse(_unused_ const Dialect *dialect, Arena *arena, Str *line, Json **ret,
                      JsonFault *fault) {
        int r = json_parse(arena, line->data, line->n, &message_limits, ret, fault);

        return r == JSON_E_UTF8 ? cccc_parse_replaced(arena, *line, ret, fault) : r;
}

static void cccc_aim(_unused_ const Dialect *dialect, const Json *message, const OpTable **ops,
                     const Op **op, const Json **args) {
        Envelope envelope = {0};

        *ops = &cccc_ops;
        if (read_envelope(message, &envelope))
                return;
        *op = op_find(&cccc_ops, str_trim(envelope.op));
        *args = envelope.args;
}

static void cccc_refuse(Client *client, const char *why) {
        Call *call = client_call(client, STR_NULL, false, NULL);
        JsonWriter *w;

        if (!call)
                return;
        w = call_details(call);
        jw_begin_object(w);
        jw_field_cstr(w, "error", why);
        jw_end_object(w);
        call_finish(call, call_fail(call, CALL_E_INVALID_REQUEST, "invalid request"));
}

static void cccc_on_frame(Client *client, Str line) {
        Envelope envelope = {0};
        JsonFault fault = {.what = "not JSON"};
        const char *wrong;
        const Op *op;
        Json *json = NULL;
        int r = client_parse(client, &line, &json, &fault);

        if (r)
                return cccc_refuse(client, r < 0 ? "out of memory" : fault.what);
        if (cccc_gate_hears(client, json))
                return;
        if (client->has_token)
                conn_set_limits(client->conn, &client->endpoint->type->limits); /* it may be silent again */
        wrong = read_envelope(json, &envelope);
        if (wrong)
                return cccc_refuse(client, wrong);
        envelope.op = str_trim(envelope.op);
        op = op_find(&cccc_ops, envelope.op);
        if (!op)
                client_refuse(client, CALL_E_UNKNOWN_OP, STR_NULL, NULL, "unknown op: " STR_FMT,
                              STR_ARG(envelope.op));
        else
                client_run(client, op, envelope.args, STR_NULL, false, NULL);
}

static void cccc_on_eof(Client *client, Str rest) {
        if (rest.n)
                cccc_on_frame(client, rest);
        else
                conn_finish(client->conn, "end of stream");
}

static void cccc_on_oversize(Client *client) {
        cccc_refuse(client, "the line is too long");
}

/* ---- replies --------------------------------------------------------------------------------- */

static void cccc_begin_result(_unused_ const Call *call, Buf *out) {
        (void)buf_append_str(out, STR("{\"v\":1,\"ok\":true,\"result\":"));
}

static void cccc_end_result(_unused_ const Call *call, Buf *out) {
        (void)buf_append_str(out, STR(",\"error\":null}\n"));
}

static void cccc_write_error(const Call *call, Buf *out) {
        JsonWriter w = JSON_WRITER(out);

        (void)buf_append_str(out, STR("{\"v\":1,\"ok\":false,\"result\":{},\"error\":"));
        jw_begin_object(&w);
        jw_field_cstr(&w, "code", cccc_error_code(call->error));
        jw_field_str(&w, "message", call->message);
        jw_key(&w, "details");
        jw_raw(&w, call->details.n ? buf_str(&call->details) : STR("{}"));
        jw_end_object(&w);
        (void)buf_append_str(out, STR("}\n"));
}

static void cccc_error_word(int error, JsonWriter *w) {
        jw_cstr(w, cccc_error_code(error));
}

static void replied(Client *client) {
        if (!client->stream)
                conn_finish(client->conn, "answered");
}

const Dialect cccc_dialect = {
        .name = "cccc",
        .ops = &cccc_ops,
        .framing = {.kind = FRAMING_LINE, .n_max = CCCC_LINE_MAX},
        .parse = cccc_parse,
        .aim = cccc_aim,
        .frame = cccc_on_frame,
        .eof = cccc_on_eof,
        .oversize = cccc_on_oversize,
        .gives = true,
        .begin_result = cccc_begin_result,
        .end_result = cccc_end_result,
        .write_error = cccc_write_error,
        .error_word = cccc_error_word,
        .replied = replied,
        .stream = cccc_term_stream,
};
