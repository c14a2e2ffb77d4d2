/* SPDX-License-Identifier: MIT */
#include "cli/link/exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json-writer.h"
#include "cli/link/busy.h"

enum { PROTOCOL_VERSION = 1, REPLY_DEPTH = 1000000 };

/* ---- requests -------------------------------------------------------------------------------- */

static void write_args(JsonWriter *w, const char *key, const Json *args) {
        if (args)
                jw_field_value(w, key, args);
        else {
                jw_key(w, key);
                jw_raw(w, STR("{}"));
        }
}

static int write_cccc(const Request *request, Buf *out) {
        JsonWriter w = JSON_WRITER(out);

        jw_begin_object(&w);
        jw_field_int(&w, "v", PROTOCOL_VERSION);
        jw_field_cstr(&w, "op", request->op);
        write_args(&w, "args", request->args);
        jw_end_object(&w);
        return w.failed ? error_origin(-ENOMEM) : error_trace(buf_append_str(out, STR("\n")));
}

/* Native methods need none, and so can follow each other on one connection. */
static int write_preface(const Request *request, Buf *out) {
        if (!strcmp(request->dialect, "native"))
                return 0;
        if (request->project)
                return error_trace(buf_printf(out, "@%s project=%s\n", request->dialect, request->project));
        return error_trace(buf_printf(out, "@%s\n", request->dialect));
}

static int write_jsonrpc(const Request *request, Buf *out) {
        JsonWriter w = JSON_WRITER(out);
        int r = write_preface(request, out);

        if (r)
                return error_trace(r);
        jw_begin_object(&w);
        jw_field_cstr(&w, "jsonrpc", "2.0");
        jw_field_int(&w, "id", 1);
        jw_field_cstr(&w, "method", request->op);
        write_args(&w, "params", request->args);
        jw_end_object(&w);
        return w.failed ? error_origin(-ENOMEM) : error_trace(buf_append_str(out, STR("\n")));
}

static int write_coop(const Request *request, Buf *out) {
        static const char greeting[] = "\0\0\0\x0d{\"version\":1}";
        size_t mark = out->n + sizeof(greeting) - 1;
        JsonWriter w = JSON_WRITER(out);
        int r = buf_append(out, greeting, sizeof(greeting) - 1);

        if (!r)
                r = buf_append_str(out, STR("\0\0\0\0"));
        if (r)
                return error_trace(r);
        jw_begin_object(&w);
        jw_field_cstr(&w, "cmd", request->op);
        json_each (arg, request->args) {
                jw_key_str(&w, json_key(arg));
                jw_value(&w, arg);
        }
        jw_end_object(&w);
        if (w.failed)
                return error_origin(-ENOMEM);
        framing_put_length(out->data + mark, out->n - mark - 4);
        return 0;
}

static bool is_coop(const char *dialect) {
        return !strcmp(dialect, "coop");
}

FramingKind exchange_framing(const char *dialect) {
        return is_coop(dialect) ? FRAMING_LENGTH : FRAMING_LINE;
}

int request_write(const Request *request, Buf *out) {
        if (is_coop(request->dialect))
                return error_trace(write_coop(request, out));
        if (!strcmp(request->dialect, "cccc"))
                return error_trace(write_cccc(request, out));
        return error_trace(write_jsonrpc(request, out));
}

/* ---- replies --------------------------------------------------------------------------------- */

static bool exchange_is_given(const Json *json) {
        return json && !json_is(json, JSON_NULL) && !(json->type >= JSON_ARRAY && !json_count(json));
}

/* {"error":{code,message,data|details}} of JSON-RPC and CCCC, {"error":CODE,"message":…} of coop. */
static void read_error(const Json *json, Reply *ret) {
        const Json *error = json_get(json, "error"), *from = json_is(error, JSON_OBJECT) ? error : json;
        const Json *data = json_get(from, "data"), *details = json_get(from, "details");

        ret->is_error = true;
        ret->code = from == error ? json_get(error, "code") : exchange_is_given(error) ? error : NULL;
        ret->message = json_str(json_get(from, "message"));
        ret->details = exchange_is_given(data) ? data : exchange_is_given(details) ? details : NULL;
}

int reply_read(Arena *arena, const char *dialect, Str text, Reply *ret) {
        const JsonLimits limits = {.n_bytes = SIZE_MAX, .n_depth = REPLY_DEPTH};
        bool is_fine = true;
        Json *json;
        int r = json_parse(arena, text.data, text.n, &limits, &json, NULL);

        if (r)
                return r < 0 ? error_trace(r) : EXCHANGE_E_GARBLED;
        if (!json_is(json, JSON_OBJECT))
                return EXCHANGE_E_GARBLED;
        *ret = (Reply){.whole = json};
        json_bool(json_get(json, "ok"), &is_fine);
        if (!is_fine || exchange_is_given(json_get(json, "error")))
                read_error(json, ret);
        else if (is_coop(dialect)) {
                (void)json_remove(json, STR("ok")); /* the rest is the result */
                ret->result = json;
        } else
                ret->result = json_get(json, "result");
        return ret->is_error || ret->result ? 0 : EXCHANGE_E_GARBLED;
}

/* A coop frame shorter than 16 MiB, as all are, begins with 0; anything else is a native refusal, which is a
 * line. */
static int exchange_receive(Link *link, const char *dialect, Str *ret) {
        FramingKind kind = exchange_framing(dialect);
        char first;
        int r = busy_peek(link, &first);

        if (r)
                return r;
        return link_receive(link, kind == FRAMING_LENGTH && first != 0 ? FRAMING_LINE : kind, ret);
}

static int exchange_receive_reply(Link *link, const char *dialect, Arena *arena, Reply *ret) {
        Str text;
        int r = exchange_receive(link, dialect, &text);

        return r ? r : reply_read(arena, dialect, text, ret);
}

/* Who we are, for a daemon that cannot see it: from a container. Only the one that has given the token is told, and
 * before anything else. */
static int exchange_write_token(Link *link, const Request *request, Buf *out) {
        const char *token = getenv("MUSTER_TOKEN"), *of = getenv("MUSTER_SOCKET");
        bool is_first = !link->has_spoken;

        link->has_spoken = true;
        if (!is_first || is_coop(request->dialect) || !token || !*token || !of ||
            strcmp(of, link->path) != 0)
                return 0;
        return error_trace(buf_printf(out, "@token %s\n", token));
}

int exchange(Link *link, const Request *request, Arena *arena, Reply *ret) {
        _cleanup_(buf_deinit) Buf bytes = BUF_NULL;
        int r = exchange_write_token(link, request, &bytes);

        if (!r)
                r = request_write(request, &bytes);
        if (r)
                return error_trace(r);
        r = link_send(link, buf_str(&bytes));
        if (r && r != LINK_E_CLOSED) /* closed: perhaps after saying why */
                return r;
        r = exchange_receive_reply(link, request->dialect, arena, ret);
        if (!r && is_coop(request->dialect) && !ret->is_error) /* that was the handshake's */
                r = exchange_receive_reply(link, request->dialect, arena, ret);
        return r;
}
