/* SPDX-License-Identifier: MIT */
/*
 * coop's terminals over a WebSocket: /ws of the contract, and /api/sessions/NAME/pty of its own page. Output goes out as
 * binary messages and nothing else does, so what is to be told beside it is told as text for people in the output.
 *
 *   /ws                        binary: input; text: {"type":"resize","cols":…,"rows":…}
 *   /api/sessions/NAME/pty     text is input, too, unless it is such an object
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/daemon.h"
#include "dialect/coop/coop.h"
#include "sessions/pty-input.h"
#include "dialect/http/ws.h"
#include "gen/coop-ops.h"
#include "sessions/pty-stream.h"

enum { WS_COOP_CONTROL_VALUES = 64, WS_COOP_COLS = 120, WS_COOP_ROWS = 40 };

typedef struct WsCoop {
        PtyStream stream;
        PtyInput input;
        bool is_open; /* the terminal was found */
        bool is_page; /* text is input */
        int error;    /* of attach */
        Buf answer;   /* of attach, which nobody gets */
} WsCoop;

static const Dialect ws_coop_dialect;

/* ---- to the client --------------------------------------------------------------------------- */

static void ws_coop_say(PtyStream *stream, Buf *out, const char *before, const char *text) {
        char line[128];
        int n = snprintf(line, sizeof(line), "%s\x1b[2m[%s]\x1b[0m\r\n", before, text);

        if (ws_append_frame(out, WS_BINARY, (Str){line, (size_t)MAX(n, 0)}))
                conn_abort(stream->client->conn, "out of memory");
}

static void ws_coop_put_event(PtyStream *stream, Buf *out, PtyEvent event, int64_t value) {
        char text[64];

        if (event == PTY_EVENT_LAG) {
                snprintf(text, sizeof(text), "%lld bytes not shown", (long long)value);
                ws_coop_say(stream, out, "\r\n", text);
        } else if (event == PTY_EVENT_EXITED)
                ws_coop_say(stream, out, "\r\n", "process exited");
        else if (event == PTY_EVENT_RESTARTING) {
                snprintf(text, sizeof(text), "restarting in %lldms...", (long long)value);
                ws_coop_say(stream, out, "", text);
        }
}

static void ws_coop_end(PtyStream *stream) {
        ws_close(stream->client, WS_CODE_NORMAL, "the terminal has ended");
}

static const PtyStreamKind ws_coop_kind = {
        .is_web = true, .frame = ws_frame_bytes, .put_event = ws_coop_put_event, .end = ws_coop_end};

/* ---- from the client ------------------------------------------------------------------------- */

static unsigned ws_coop_side(const Json *message, const char *key, unsigned usual) {
        const Json *side = json_get(message, key);
        uint64_t n;

        if (!side)
                return usual;
        return json_uint64(side, &n) && n <= UINT16_MAX ? (unsigned)n : 0;
}

/* True: it was a resize. */
static bool ws_coop_resize(WsCoop *self, Str text) {
        Client *client = self->stream.client;
        Json *message = NULL;

        if (!text.n || text.data[0] != '{' ||
            json_parse(&client->daemon->envelope, text.data, text.n,
                       &(JsonLimits){.n_values = WS_COOP_CONTROL_VALUES}, &message, NULL) ||
            !str_is(json_str(json_get(message, "type")), "resize"))
                return false;
        pty_stream_resize(&self->stream, ws_coop_side(message, "cols", WS_COOP_COLS),
                          ws_coop_side(message, "rows", WS_COOP_ROWS));
        return true;
}

static void ws_coop_on_message(Client *client, Str message) {
        WsCoop *self = client->state;

        if (!self->is_open)
                return;
        if (ws_is_text(client) && (ws_coop_resize(self, message) || !self->is_page))
                return;
        (void)pty_input_push(&self->input, message);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void ws_coop_on_drained(Client *client) {
        WsCoop *self = client->state;

        if (self->is_open)
                pty_stream_catch_up(&self->stream);
}

static void ws_coop_on_leaving(Client *client) {
        WsCoop *self = client->state;

        if (self->is_open)
                pty_stream_leaving(&self->stream);
        ws_on_leaving(client);
}

static void ws_coop_on_close(Client *client) {
        WsCoop *self = client->state;

        if (!self)
                return;
        pty_input_deinit(&self->input);
        if (self->is_open)
                pty_stream_deinit(&self->stream);
        buf_deinit(&self->answer);
        free(self);
        client->state = NULL;
}

static void ws_coop_warn(PtyStream *stream, Str text) {
        if (ws_append_frame(conn_out(stream->client->conn), WS_BINARY, text))
                conn_abort(stream->client->conn, "out of memory");
        conn_flush_soon(stream->client->conn);
}

static void ws_coop_write_nothing(_unused_ const Call *call, _unused_ Buf *out) {}

static void ws_coop_write_error(const Call *call, Buf *out) {
        WsCoop *self = call->client->state;

        out->n = call->mark;
        self->error = call->error;
}

static void ws_coop_stream(Client *client, const StreamTarget *target) {
        WsCoop *self = client->state;
        const PtyTarget *asked = container_of(target, PtyTarget, stream);

        self->is_open = true;
        if (pty_input_init(&self->input, &self->stream, asked, true, ws_coop_warn))
                conn_abort(client->conn, "out of memory");
        pty_stream_begin(&self->stream, client, &ws_coop_kind, asked);
}

static void ws_coop_on_replied(Client *client) {
        const WsCoop *self = client->state;

        if (self->error == CALL_E_FORBIDDEN)
                ws_close(client, WS_CODE_REFUSED, coop_error_code(self->error));
        else if (self->error)
                ws_close(client, WS_CODE_NOT_FOUND, coop_error_code(self->error));
}

static void ws_coop_error_word(int error, JsonWriter *w) {
        jw_cstr(w, coop_error_code(error));
}

static const Dialect ws_coop_dialect = {
        .name = "http",
        .frame = ws_coop_on_message,
        .eof = ws_on_eof,
        .oversize = ws_on_oversize,
        .close = ws_coop_on_close,
        .begin_result = ws_coop_write_nothing,
        .end_result = ws_coop_write_nothing,
        .write_error = ws_coop_write_error,
        .error_word = ws_coop_error_word,
        .stream = ws_coop_stream,
        .drained = ws_coop_on_drained,
        .leaving = ws_coop_on_leaving,
        .replied = ws_coop_on_replied,
};

/* ---- the upgrade ----------------------------------------------------------------------------- */

/* A number stays text here and is judged by the operation. */
static bool ws_coop_put(Arena *arena, Json *args, const HttpTarget *target, const char *key) {
        Str value;

        if (!http_target_find(target, str_from(key), &value))
                return true;
        for (size_t i = 0; i < value.n; i++)
                if (value.data[i] < '0' || value.data[i] > '9')
                        return !json_set(arena, args, str_from(key), json_new_str(arena, value));
        return value.n && value.n <= 9 && (value.data[0] != '0' || value.n == 1)
                       ? !json_set(arena, args, str_from(key), json_new_number(arena, value))
                       : !json_set(arena, args, str_from(key), json_new_str(arena, value));
}

static Json *ws_coop_args(HttpRequest *request, Arena *arena, bool is_page) {
        const HttpTarget *target = &request->target;
        Json *args = json_new(arena, JSON_OBJECT);
        Str session = STR_NULL;

        if (is_page)
                session = target->segments[2];
        else
                (void)http_target_find(target, STR("session"), &session);
        if (!args || json_set(arena, args, STR("session"), json_new_str(arena, session)) ||
            !ws_coop_put(arena, args, target, "pty") || !ws_coop_put(arena, args, target, "cols") ||
            !ws_coop_put(arena, args, target, "rows"))
                return NULL;
        return args;
}

/* Who may only look follows the log of the terminal. */
static bool ws_coop_only_looks(HttpRequest *request) {
        Client *client = request->client;

        return !right_is_in(principal_rights(client, principal_of(client)), RIGHT_TYPE);
}

static bool ws_coop_follow_args(Arena *arena, Json *args) {
        return !json_set(arena, args, STR("follow"), json_new_bool(arena, true)) &&
               !json_set(arena, args, STR("tail_lines"), json_new_int(arena, 1));
}

/* A token that is for one thing shows that one only. */
static bool ws_coop_is_allowed(const HttpRequest *request, Arena *arena, const Json *args) {
        const Token *token = http_auth_token(request);
        Str session = json_str(json_get(args, "session")), name;
        uint64_t pty = 0;

        if (!token || !*token->object)
                return true;
        (void)json_uint64(json_get(args, "pty"), &pty);
        name = pty ? arena_printf(arena, "session:" STR_FMT ".%llu", STR_ARG(session),
                                  (unsigned long long)pty)
                   : arena_printf(arena, "session:" STR_FMT, STR_ARG(session));
        return name.data && str_is(name, token->object);
}

void ws_coop_open(HttpRequest *request, _unused_ Str body) {
        Client *client = request->client;
        Arena *arena = &client->daemon->envelope; /* the request's own goes with the upgrade */
        bool is_page = request->target.n_segments > 1, only_looks = ws_coop_only_looks(request);
        Json *args = ws_coop_args(request, arena, is_page);
        WsCoop *self = calloc(1, sizeof(*self));

        if (!self || !args || (only_looks && !ws_coop_follow_args(arena, args))) {
                free(self);
                http_answer_status(request, 500);
                return;
        }
        if (!ws_coop_is_allowed(request, arena, args)) {
                free(self);
                http_answer_status(request, 403);
                return;
        }
        if (!ws_upgrade(request, &ws_coop_dialect)) {
                free(self);
                return;
        }
        self->is_page = is_page;
        self->stream.client = client;
        client->state = self;
        client_run_of(client, &coop_ops, op_find(&coop_ops, only_looks ? STR("logs") : STR("attach")), args,
                      STR_NULL, false, &self->answer);
}
