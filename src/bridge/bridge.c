/* SPDX-License-Identifier: MIT */
/*
 * Messages of the client: what is answered here, what goes to the daemon, and in which words.
 */
#include "bridge/bridge.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json/json-writer.h"
#include "gen/errors.h"

static const JsonLimits bridge_limits = {.n_values = 1 << 18};

void bridge_log(const Bridge *self, const char *format, ...) {
        char text[512];
        va_list ap;

        if (!self->is_verbose)
                return;
        va_start(ap, format);
        vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);
        dprintf(STDERR_FILENO, "muster mcp: %s\n", text);
}

int64_t bridge_now_ms(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void bridge_say(Bridge *self, Str line) {
        while (line.n && !self->is_out_over) {
                ssize_t n = write(STDOUT_FILENO, line.data, line.n);
                struct pollfd pfd = {.fd = STDOUT_FILENO, .events = POLLOUT};

                if (n < 0 && errno == EAGAIN)
                        (void)poll(&pfd, 1, -1);
                else if (n < 0 && errno != EINTR)
                        self->is_out_over = true;
                if (n > 0)
                        line = (Str){line.data + n, line.n - (size_t)n};
        }
}

/* ---- what is answered here ------------------------------------------------------------------- */

void bridge_begin(JsonWriter *w, Str id) {
        jw_begin_object(w);
        jw_field_cstr(w, "jsonrpc", "2.0");
        jw_key(w, "id");
        jw_raw(w, id);
}

void bridge_end(Bridge *self, JsonWriter *w) {
        jw_end_object(w);
        if (!w->failed && !buf_append_str(w->out, STR("\n")))
                bridge_say(self, buf_str(w->out));
}

void bridge_refuse(Bridge *self, Str id, int error, const char *message) {
        _cleanup_(buf_deinit) Buf line = BUF_NULL;
        JsonWriter w = JSON_WRITER(&line);

        bridge_begin(&w, id);
        jw_key(&w, "error");
        jw_begin_object(&w);
        jw_field_int(&w, "code", native_error_code(error));
        jw_field_cstr(&w, "message", message);
        jw_end_object(&w);
        bridge_end(self, &w);
}

/* What was written into w is a message. */
static void bridge_say_whole(Bridge *self, const JsonWriter *w) {
        if (!w->failed && !buf_append_str(w->out, STR("\n")))
                bridge_say(self, buf_str(w->out));
}

void bridge_answer_empty(Bridge *self, Str id) {
        _cleanup_(buf_deinit) Buf line = BUF_NULL;
        JsonWriter w = JSON_WRITER(&line);

        mcp_era_put_empty(&w, id);
        bridge_say_whole(self, &w);
}

static void bridge_initialize(Bridge *self, Str id, const Json *params) {
        _cleanup_(buf_deinit) Buf line = BUF_NULL;
        JsonWriter w = JSON_WRITER(&line);

        self->has_shaken = true;
        mcp_era_put_initialize(&w, id, params, true);
        bridge_say_whole(self, &w);
}

/* ---- what goes to the daemon ----------------------------------------------------------------- */

void bridge_put_meta(Bridge *self, JsonWriter *w) {
        mcp_era_put_meta(w, &self->said, NULL, true, false);
}

static void bridge_forward(Bridge *self, Str id, Str method, const Json *params, bool is_old) {
        _cleanup_(buf_deinit) Buf line = BUF_NULL;
        JsonWriter w = JSON_WRITER(&line);
        AskSpec spec = {.id = id, .is_old = is_old, .is_repeatable = true};
        const Json *meta = json_get(params, "_meta"), *args = json_get(params, "arguments");
        const McpTool *tool;
        bool is_keyed;

        spec.is_tool = str_is(method, "tools/call");
        spec.listen = str_is(method, "subscriptions/listen") ? LISTEN_CLIENT : LISTEN_NOT;
        spec.is_wait = spec.listen;
        spec.is_resource = str_is(method, "resources/read");
        spec.token = json_raw(json_get(meta, "progressToken"));
        tool = spec.is_tool ? mcp_era_tool(json_text_of(params, "name")) : NULL;
        is_keyed = tool && mcp_era_is_keyed(tool, args);
        if (tool) {
                spec.is_wait = tool->flags & TOOL_WAITS;
                spec.is_repeatable = is_keyed || (tool->flags & (TOOL_READS | TOOL_IDEMPOTENT));
        }
        mcp_era_put_request(&w, &self->said,
                            &(McpAsked){.id = id,
                                        .method = method,
                                        .params = params,
                                        .is_old = is_old,
                                        .has_key = is_keyed});
        if (!w.failed && !buf_append_str(&line, STR("\n")))
                spec.request = buf_str(&line);
        if (!spec.request.n || ask_new(self, &spec))
                bridge_refuse(self, id, CALL_E_INTERNAL, "out of memory");
}

/* ---- messages -------------------------------------------------------------------------------- */

static void bridge_request(Bridge *self, Str id, Str method, const Json *params) {
        bool is_new = mcp_era_says_new(params);

        if (params && !json_is(params, JSON_OBJECT))
                bridge_refuse(self, id, CALL_E_INVALID_PARAMS, "params must be an object");
        else if (str_is(method, "initialize"))
                bridge_initialize(self, id, params);
        else if (is_new && str_is(method, "subscriptions/listen") && ask_n_listens(self) >= BRIDGE_LISTENS)
                bridge_refuse(self, id, CALL_E_INVALID_PARAMS, "too many subscriptions");
        else if (is_new)
                bridge_forward(self, id, method, params, false);
        else if (str_is(method, "ping") || (str_is(method, "logging/setLevel") && self->has_shaken))
                bridge_answer_empty(self, id);
        else if (!self->has_shaken)
                bridge_refuse(
                        self, id, CALL_E_INVALID_PARAMS,
                        "neither initialize nor _meta io.modelcontextprotocol/protocolVersion was said");
        else if (str_is(method, "server/discover") || str_is(method, "subscriptions/listen"))
                bridge_refuse(self, id, CALL_E_UNKNOWN_OP, "not a method of this revision");
        else if (str_is(method, "resources/subscribe"))
                listen_subscribe(self, id, params);
        else if (str_is(method, "resources/unsubscribe"))
                listen_unsubscribe(self, id, params);
        else {
                bridge_forward(self, id, method, params, true);
                if (str_is(method, "tools/list"))
                        listen_for_tools(self);
        }
}

static void bridge_message(Bridge *self, const Json *message) {
        const Json *id = json_get(message, "id"), *params = json_get(message, "params");
        Str method = json_text_of(message, "method");
        bool is_odd = id && !json_is(id, JSON_STRING) && !json_is(id, JSON_NUMBER);

        if (!str_is(json_text_of(message, "jsonrpc"), "2.0") || is_odd)
                bridge_refuse(self, id && !is_odd ? json_raw(id) : STR("null"), CALL_E_INVALID_REQUEST,
                              "no JSON-RPC 2.0 message");
        else if (!method.n && (!id || (!json_get(message, "result") && !json_get(message, "error"))))
                bridge_refuse(self, id ? json_raw(id) : STR("null"), CALL_E_INVALID_REQUEST, "no method");
        else if (method.n && id)
                bridge_request(self, json_raw(id), method, params);
        else if (str_is(method, "notifications/cancelled"))
                ask_cancel(self, json_raw(json_get(params, "requestId")));
}

static void bridge_line(Bridge *self, Str line) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Json *json = NULL;

        line = str_trim(line);
        if (!line.n)
                return;
        if (json_parse(&arena, line.data, line.n, &bridge_limits, &json, NULL))
                bridge_refuse(self, STR("null"), CALL_E_PARSE, "parse error");
        else if (!json_is(json, JSON_ARRAY))
                bridge_message(self, json);
        else if (!json_count(json))
                bridge_refuse(self, STR("null"), CALL_E_INVALID_REQUEST, "an empty batch");
        else
                json_each (one, json)
                        bridge_message(self, one);
}

void bridge_take(Bridge *self) {
        size_t n_used = 0;

        for (;;) {
                const char *from = self->in.data + self->n_scanned;
                const char *end = self->in.n > self->n_scanned
                                          ? memchr(from, '\n', self->in.n - self->n_scanned)
                                          : NULL;

                if (!end || self->n_asks >= BRIDGE_WAITING_MAX)
                        break;
                if (!self->is_skipping)
                        bridge_line(self,
                                    (Str){self->in.data + n_used, (size_t)(end - self->in.data) - n_used});
                self->is_skipping = false;
                n_used = self->n_scanned = (size_t)(end - self->in.data) + 1;
        }
        buf_consume(&self->in, n_used);
        self->n_scanned = 0;
        if (self->in.n > BRIDGE_LINE_MAX && self->n_asks < BRIDGE_WAITING_MAX) {
                if (!self->is_skipping)
                        bridge_refuse(self, STR("null"), CALL_E_INVALID_REQUEST, "message over 16 MiB");
                self->is_skipping = true;
                self->in.n = 0;
        }
}

void bridge_init(Bridge *self) {
        self->end = &self->first;
}

void bridge_deinit(Bridge *self) {
        ask_free_all(self);
        buf_deinit(&self->in);
}
