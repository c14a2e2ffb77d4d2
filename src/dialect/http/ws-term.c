/* SPDX-License-Identifier: MIT */
/*
 * /term: the terminal of anything that is hosted, for a page that comes back. The page counts the bytes that it got and
 * says how far it has drawn them; after any break it goes on behind the last one. docs/console-wire.md has the messages.
 *
 * The browser's WebSocket has no back-pressure: it would take a flood into the page. So what is not acknowledged is
 * bounded (WS_TERM_AHEAD_MAX): above it output is dropped, and told as lag and a screen, as for every stream.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "core/daemon.h"
#include "core/fleet/fleet.h"
#include "core/term/keys.h"
#include "sessions/pty-input.h"
#include "dialect/http/ws.h"
#include "gen/native-ops.h"

enum {
        WS_TERM_AHEAD_MAX = 1 << 20,  /* bytes sent and not acknowledged: above it output is dropped */
        WS_TERM_RESUME_MAX = 1 << 20, /* bytes behind which one that comes back gets a screen instead */
        WS_TERM_RECEIPTS_MAX = 64,    /* keys whose receipt is due; more are refused */
        WS_TERM_LOOK_MS = 20,         /* between two looks whether the terminal has taken them */
        WS_TERM_VALUES = 64,          /* in a message */
        WS_TERM_KEY_MAX = 32,
        WS_TERM_COUNTS = 8,            /* jumps of the count that acknowledgements are still understood of */
        WS_TERM_STDERR_MAX = 64 << 10, /* bytes of stderr that one who comes is shown */
};

/* The page counts from `at` when so much was sent in all. */
typedef struct WsTermCount {
        int64_t at, sent;
} WsTermCount;

typedef struct WsTerm {
        PtyStream stream;
        PtyStreamKind kind; /* with the frames of its channel */
        PtyInput input;
        bool is_open; /* the terminal was found */
        bool is_filtered;
        bool has_after;
        uint64_t after;
        char after_process[17]; /* "": not said */
        char process[17];       /* that `at` counts the bytes of */
        Str name;               /* in its own memory, `names` */
        char *names;
        int64_t at;                         /* of the next byte, as the page counts */
        WsTermCount counts[WS_TERM_COUNTS]; /* how it counted, the present way last */
        size_t n_counts;
        int64_t sent, drawn;    /* bytes in all, however they were counted */
        uint64_t n_stderr_lost; /* of stderr, which is not counted */
        char stderr_tail[4];    /* the beginning of a character */
        size_t n_stderr_tail;
        int error; /* of the operation */
        uint64_t receipts[WS_TERM_RECEIPTS_MAX];
        size_t n_receipts;
        Timer look; /* for them */
} WsTerm;

static WsTerm *ws_term_of(PtyStream *stream) {
        return container_of(stream, WsTerm, stream);
}

/* ---- to the page ----------------------------------------------------------------------------- */

static void ws_term_end_message(WsTerm *self, JsonWriter *w, size_t mark) {
        jw_end_object(w);
        if (w->failed)
                conn_abort(self->stream.client->conn, "out of memory");
        else
                client_end_message(self->stream.client, w->out, mark);
        conn_flush_soon(self->stream.client->conn);
}

static void ws_term_put_number(WsTerm *self, const char *key, uint64_t n) {
        JsonWriter w = JSON_WRITER(conn_out(self->stream.client->conn));
        size_t mark = w.out->n;

        jw_begin_object(&w);
        jw_field_uint(&w, key, n);
        ws_term_end_message(self, &w, mark);
}

static uint64_t ws_term_oldest(const Hosted *hosted) {
        return hosted->shown_out - hosted_scrollback(hosted, SIZE_MAX).n;
}

/* Where the count goes on, and how things stand. */
static void ws_term_put_place(WsTerm *self, const Hosted *hosted, bool is_owner, uint64_t head,
                              size_t n_screen) {
        JsonWriter w = JSON_WRITER(conn_out(self->stream.client->conn));
        size_t mark = w.out->n;

        jw_begin_object(&w);
        jw_field_int(&w, "at", self->at);
        jw_field_uint(&w, "head", head);
        jw_field_uint(&w, "oldest", ws_term_oldest(hosted));
        if (n_screen)
                jw_field_uint(&w, "screen", n_screen);
        jw_field_cstr(&w, "id", hosted->id);
        jw_field_str(&w, "name", self->name);
        jw_field_cstr(&w, "process", hosted->id);
        jw_field_uint(&w, "cols", hosted->cols);
        jw_field_uint(&w, "rows", hosted->rows);
        jw_field_cstr(&w, "state", hosted_state_name(hosted));
        jw_field_bool(&w, "owner", is_owner);
        jw_field_bool(&w, "writer", self->is_open ? pty_client_may_type(&self->stream.shown) : is_owner);
        jw_field_uint(&w, "viewers", hosted->n_viewers + !self->is_open);
        ws_term_end_message(self, &w, mark);
}

/* What is not acknowledged stays so: only the count goes on elsewhere. Of too many the oldest is forgotten: what was sent
 * then counts as drawn with whatever came behind it. */
static void ws_term_count_from(WsTerm *self, int64_t at) {
        if (self->n_counts == WS_TERM_COUNTS)
                memmove(self->counts, self->counts + 1, --self->n_counts * sizeof(*self->counts));
        self->counts[self->n_counts++] = (WsTermCount){at, self->sent};
        self->at = at;
}

/* How much is drawn in all when the page says that it is at `at`. An acknowledgement may have been under way when the
 * count jumped, so earlier ways to count are tried, too; where two fit the later one is meant. -1: none does. */
static int64_t ws_term_drawn(const WsTerm *self, int64_t at) {
        int64_t end = self->sent;

        for (size_t i = self->n_counts; i-- > 0; end = self->counts[i].sent) {
                const WsTermCount *count = &self->counts[i];

                if (at >= count->at && at - count->at <= end - count->sent)
                        return count->sent + (at - count->at);
        }
        return -1;
}

static void ws_term_next(PtyStream *stream, const Hosted *hosted, uint64_t position, size_t n_screen) {
        WsTerm *self = ws_term_of(stream);
        int64_t at = (int64_t)position - (int64_t)n_screen;

        if (!n_screen && at == self->at && !strcmp(self->process, hosted->id))
                return;
        memcpy(self->process, hosted->id, sizeof(self->process));
        ws_term_count_from(self, at);
        ws_term_put_place(self, hosted, pty_owns(&stream->shown), position, n_screen);
}

static void ws_term_sent(PtyStream *stream, size_t n_bytes) {
        WsTerm *self = ws_term_of(stream);

        self->at += (int64_t)n_bytes;
        self->sent += (int64_t)n_bytes;
}

static bool ws_term_is_full(const PtyStream *stream) {
        const WsTerm *self = (const WsTerm *)container_of(stream, WsTerm, stream);

        return self->sent - self->drawn > WS_TERM_AHEAD_MAX;
}

static void ws_term_put_size(PtyStream *stream, JsonWriter *w) {
        const Hosted *hosted = pty_client_hosted(&stream->shown);

        if (!hosted)
                return;
        jw_field_uint(w, "cols", hosted->cols);
        jw_field_uint(w, "rows", hosted->rows);
}

static void ws_term_put_event(PtyStream *stream, Buf *out, PtyEvent event, int64_t value) {
        static const struct {
                const char *name, *key;
        } events[] = {[PTY_EVENT_LAG] = {"lag", "dropped"},
                      [PTY_EVENT_EXITED] = {"exited", "code"},
                      [PTY_EVENT_RESTARTING] = {"restarting", "delay_ms"},
                      [PTY_EVENT_WRITER] = {"writer", NULL},
                      [PTY_EVENT_DETACHED] = {"leaving", NULL},
                      [PTY_EVENT_RESIZED] = {"resized", NULL},
                      [PTY_EVENT_OWNER] = {"owner", NULL}};
        JsonWriter w = JSON_WRITER(out);
        size_t mark = out->n;

        jw_begin_object(&w);
        jw_field_cstr(&w, "event", events[event].name);
        if (events[event].key)
                jw_field_int(&w, events[event].key, value);
        if (event == PTY_EVENT_OWNER)
                jw_field_bool(&w, "owner", value);
        if (event == PTY_EVENT_OWNER || event == PTY_EVENT_RESIZED)
                ws_term_put_size(stream, &w);
        ws_term_end_message(ws_term_of(stream), &w, mark);
}

static void ws_term_end(PtyStream *stream) {
        ws_put_text(stream->client, conn_out(stream->client->conn), STR("{\"event\":\"ended\"}"));
        ws_close(stream->client, WS_CODE_NORMAL, "the terminal has ended");
}

/* Not as output, which is counted. */
static void ws_term_warn(PtyStream *stream, Str text) {
        JsonWriter w = JSON_WRITER(conn_out(stream->client->conn));
        size_t mark = w.out->n;

        jw_begin_object(&w);
        jw_field_cstr(&w, "event", "blocked");
        jw_field_str(&w, "text", text);
        ws_term_end_message(ws_term_of(stream), &w, mark);
}

static void ws_term_put_stderr(WsTerm *self, Str text) {
        JsonWriter w = JSON_WRITER(conn_out(self->stream.client->conn));
        size_t mark = w.out->n;

        jw_begin_object(&w);
        jw_field_cstr(&w, "event", "stderr");
        jw_field_str(&w, "text", text);
        if (self->n_stderr_lost)
                jw_field_uint(&w, "dropped", self->n_stderr_lost);
        ws_term_end_message(self, &w, mark);
        self->n_stderr_lost = 0;
}

/* Of what has no terminal. It is no output, which is counted, and not shown again after a break; characters stay whole. */
static void ws_term_on_stderr(PtyStream *stream, Str bytes, bool is_lost) {
        WsTerm *self = ws_term_of(stream);
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        size_t n_rest;

        if (is_lost || buf_append(&text, self->stderr_tail, self->n_stderr_tail) ||
            buf_append_str(&text, bytes)) {
                self->n_stderr_lost += bytes.n;
                return;
        }
        n_rest = utf8_unfinished(buf_str(&text));
        memcpy(self->stderr_tail, text.data + text.n - n_rest, n_rest);
        self->n_stderr_tail = n_rest;
        if (text.n > n_rest)
                ws_term_put_stderr(self, (Str){text.data, text.n - n_rest});
}

/* What is left of it from before. */
static void ws_term_show_stderr(WsTerm *self, const Hosted *hosted) {
        Str text = hosted_stderr(hosted);

        if (text.n > WS_TERM_STDERR_MAX) {
                self->n_stderr_lost = text.n - WS_TERM_STDERR_MAX;
                text = (Str){text.data + self->n_stderr_lost, WS_TERM_STDERR_MAX};
        }
        if (text.n)
                ws_term_on_stderr(&self->stream, text, false);
}

static const PtyStreamKind ws_term_kind = {.is_web = true,
                                           .shares_size = true,
                                           .put_stderr = ws_term_on_stderr,
                                           .put_event = ws_term_put_event,
                                           .end = ws_term_end,
                                           .is_full = ws_term_is_full,
                                           .next = ws_term_next,
                                           .sent = ws_term_sent};

/* ---- receipts -------------------------------------------------------------------------------- */

static bool ws_term_has_taken(const WsTerm *self) {
        const Hosted *hosted = pty_client_hosted(&self->stream.shown);

        return !self->stream.backlog.n && (!hosted || !host_n_input(hosted));
}

static void ws_term_look(WsTerm *self) {
        if (!self->n_receipts)
                return;
        if (!ws_term_has_taken(self)) {
                if (timer_set(&self->look, WS_TERM_LOOK_MS))
                        conn_abort(self->stream.client->conn, "out of memory");
                return;
        }
        for (size_t i = 0; i < self->n_receipts; i++)
                ws_term_put_number(self, "done", self->receipts[i]);
        self->n_receipts = 0;
}

static void ws_term_on_look(Timer *timer) {
        ws_term_look(container_of(timer, WsTerm, look));
}

/* As the key bar of a page calls them, where tmux calls them otherwise. */
static const char *ws_term_key_name(const char *name) {
        static const struct {
                const char *page, *ours;
        } names[] = {{"Esc", "Escape"},     {"Backspace", "BSpace"}, {"ArrowUp", "Up"},
                     {"ArrowDown", "Down"}, {"ArrowLeft", "Left"},   {"ArrowRight", "Right"},
                     {"ShiftTab", "BTab"},  {"Del", "Delete"}};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (!strcmp(names[i].page, name))
                        return names[i].ours;
        return name;
}

static void ws_term_key(WsTerm *self, const Json *message) {
        _cleanup_(buf_deinit) Buf bytes = BUF_NULL;
        Str key = json_str(json_get(message, "key"));
        char name[WS_TERM_KEY_MAX];
        uint64_t n = 0;

        (void)json_uint64(json_get(message, "n"), &n);
        snprintf(name, sizeof(name), STR_FMT, STR_ARG(key));
        if (key.n >= sizeof(name) || self->n_receipts == WS_TERM_RECEIPTS_MAX ||
            !pty_client_may_type(&self->stream.shown) || keys_append(&bytes, ws_term_key_name(name))) {
                ws_term_put_number(self, "refused", n);
                return;
        }
        pty_own(&self->stream.shown);
        (void)pty_input_push(&self->input, buf_str(&bytes));
        self->receipts[self->n_receipts++] = n;
        ws_term_look(self);
}

/* ---- from the page --------------------------------------------------------------------------- */

/* What is not between the last one and what was sent is nonsense. */
static void ws_term_ack(WsTerm *self, const Json *ack) {
        int64_t at, drawn;

        if (!json_int64(ack, &at))
                return;
        drawn = ws_term_drawn(self, at);
        if (drawn <= self->drawn)
                return;
        self->drawn = drawn;
        if (!ws_term_is_full(&self->stream) && pty_stream_is_behind(&self->stream))
                conn_want_drained(self->stream.client->conn);
}

static void ws_term_resize(WsTerm *self, const Json *sides) {
        const Json *first = json_first(sides);
        uint64_t cols = 0, rows = 0;

        if (first && json_uint64(first, &cols) && json_uint64(first->next, &rows) && cols <= UINT16_MAX &&
            rows <= UINT16_MAX)
                pty_stream_resize(&self->stream, (unsigned)cols, (unsigned)rows);
}

/* What is not known is ignored. */
static void ws_term_on_text(WsTerm *self, Str text) {
        Client *client = self->stream.client;
        Json *message = NULL;

        if (json_parse(&client->daemon->envelope, text.data, text.n,
                       &(JsonLimits){.n_values = WS_TERM_VALUES}, &message, NULL))
                return;
        if (json_get(message, "ack"))
                ws_term_ack(self, json_get(message, "ack"));
        if (json_get(message, "resize"))
                ws_term_resize(self, json_get(message, "resize"));
        if (json_get(message, "hidden"))
                pty_hide(&self->stream.shown, json_truth_of(message, "hidden"));
        if (json_truth_of(message, "take"))
                pty_own(&self->stream.shown);
        if (json_get(message, "key"))
                ws_term_key(self, message);
}

static void ws_term_on_message(Client *client, Str message) {
        WsTerm *self = client->state;

        if (!self->is_open)
                return;
        if (ws_is_text(client)) {
                ws_term_on_text(self, message);
                return;
        }
        if (message.n && pty_client_may_type(&self->stream.shown))
                pty_own(&self->stream.shown);
        (void)pty_input_push(&self->input, message);
}

/* ---- life ------------------------------------------------------------------------------------ */

/* One that has not drawn what it has gets no more for now: its next word goes on here. */
static void ws_term_on_drained(Client *client) {
        WsTerm *self = client->state;

        if (self->is_open && !ws_term_is_full(&self->stream))
                pty_stream_catch_up(&self->stream);
}

static void ws_term_on_leaving(Client *client) {
        WsTerm *self = client->state;

        if (self->is_open)
                pty_stream_leaving(&self->stream);
        ws_on_leaving(client);
}

static void ws_term_on_close(Client *client) {
        WsTerm *self = client->state;

        if (!self)
                return;
        timer_clear(&self->look);
        pty_input_deinit(&self->input);
        if (self->is_open)
                pty_stream_deinit(&self->stream);
        free(self->names);
        free(self);
        client->state = NULL;
}

/* The end of the output that it has not seen. False: it has to begin anew, or with a screen. */
static bool ws_term_resume(const WsTerm *self, const Hosted *hosted, Str *ret) {
        uint64_t end = hosted->shown_out;

        if (self->after > end || self->after < ws_term_oldest(hosted) ||
            end - self->after > WS_TERM_RESUME_MAX)
                return false;
        *ret = hosted_scrollback(hosted, (size_t)(end - self->after));
        return true;
}

static bool ws_term_is_resumed(const WsTerm *self, const Hosted *hosted) {
        return self->has_after && self->after <= hosted->shown_out &&
               (!*self->after_process || !strcmp(self->after_process, hosted->id));
}

static int ws_term_take_name(WsTerm *self, const Hosted *hosted) {
        Daemon *daemon = self->stream.client->daemon;
        FleetThing thing = {0};

        if (fleet_describe(daemon, hosted, &daemon->envelope, &thing))
                return -ENOMEM;
        self->names = str_dup(thing.name);
        self->name = (Str){self->names, thing.name.n};
        return self->names ? 0 : -ENOMEM;
}

static void ws_term_stream(Client *client, const StreamTarget *target) {
        WsTerm *self = client->state;
        const PtyTarget *asked = container_of(target, PtyTarget, stream);
        const Hosted *hosted = asked->pty ? asked->pty->hosted : target->hosted;
        bool is_resumed = ws_term_is_resumed(self, hosted), is_owner = pty_will_own(asked);
        uint64_t n_missed = 0;
        Str past = STR_NULL;

        if (ws_term_take_name(self, hosted) ||
            pty_input_init(&self->input, &self->stream, asked, self->is_filtered, ws_term_warn)) {
                conn_abort(client->conn, "out of memory");
                return;
        }
        if (!is_resumed)
                past = hosted_scrollback(hosted, SESSION_SCROLLBACK);
        else if (!ws_term_resume(self, hosted, &past))
                n_missed = hosted->shown_out - self->after;
        memcpy(self->process, hosted->id, sizeof(self->process));
        ws_term_count_from(self, (int64_t)(hosted->shown_out - past.n));
        ws_term_put_place(self, hosted, is_owner, hosted->shown_out, 0);
        self->is_open = true;
        self->kind = ws_term_kind;
        self->kind.frame = client->channel->pack;
        pty_stream_begin_at(&self->stream, client, &self->kind, asked, past);
        self->stream.n_dropped += n_missed;
        pty_stream_catch_up(&self->stream);
        ws_term_show_stderr(self, hosted);
}

/* Nobody gets the answer of the operation: the stream says it. */
static void ws_term_begin_result(_unused_ const Call *call, _unused_ Buf *out) {}

static void ws_term_end_result(const Call *call, Buf *out) {
        out->n = call->mark;
}

static void ws_term_write_error(const Call *call, Buf *out) {
        WsTerm *self = call->client->state;

        out->n = call->mark;
        self->error = call->error;
}

static void ws_term_on_replied(Client *client) {
        const WsTerm *self = client->state;

        if (self->error == CALL_E_FORBIDDEN || self->error == CALL_E_PERMISSION_DENIED)
                ws_close(client, WS_CODE_REFUSED, call_error_name(self->error));
        else if (self->error)
                ws_close(client, WS_CODE_NOT_FOUND, call_error_name(self->error));
}

static void ws_term_error_word(int error, JsonWriter *w) {
        jw_int(w, native_error_code(error));
}

static const Dialect ws_term_dialect = {
        .name = "native",
        .ops = &native_ops,
        .frame = ws_term_on_message,
        .eof = ws_on_eof,
        .oversize = ws_on_oversize,
        .close = ws_term_on_close,
        .begin_result = ws_term_begin_result,
        .end_result = ws_term_end_result,
        .write_error = ws_term_write_error,
        .error_word = ws_term_error_word,
        .stream = ws_term_stream,
        .drained = ws_term_on_drained,
        .leaving = ws_term_on_leaving,
        .replied = ws_term_on_replied,
};

/* ---- the upgrade ----------------------------------------------------------------------------- */

static bool ws_term_number(const HttpTarget *target, const char *key, uint64_t max, uint64_t *ret) {
        Str text;
        uint64_t n = 0;

        if (!http_target_find(target, str_from(key), &text) || !text.n || text.n > 18)
                return false;
        for (size_t i = 0; i < text.n; i++) {
                if (text.data[i] < '0' || text.data[i] > '9')
                        return false;
                n = n * 10 + (uint64_t)(text.data[i] - '0');
        }
        *ret = n;
        return n <= max;
}

static Json *ws_term_args(const HttpTarget *target, Arena *arena, Str name, bool only_looks) {
        Json *args = json_new(arena, JSON_OBJECT);
        uint64_t cols = 0, rows = 0;
        int r;

        (void)ws_term_number(target, "cols", UINT16_MAX, &cols);
        (void)ws_term_number(target, "rows", UINT16_MAX, &rows);
        r = args ? json_set(arena, args, STR("name"), json_new_str(arena, name)) : -ENOMEM;
        if (!r && !only_looks)
                r = json_set(arena, args, STR("cols"), json_new_int(arena, (int64_t)cols));
        if (!r && !only_looks)
                r = json_set(arena, args, STR("rows"), json_new_int(arena, (int64_t)rows));
        return r ? NULL : args;
}

static void ws_term_read_query(WsTerm *self, const HttpTarget *target) {
        Str process = STR_NULL, filter = STR_NULL;

        self->has_after = ws_term_number(target, "after", INT64_MAX, &self->after);
        (void)http_target_find(target, STR("process"), &process);
        snprintf(self->after_process, sizeof(self->after_process), STR_FMT, STR_ARG(process));
        (void)http_target_find(target, STR("filter"), &filter);
        self->is_filtered = !str_is(filter, "false");
}

static bool ws_term_only_looks(Client *client, const HttpTarget *target) {
        Str mode = STR_NULL;

        (void)http_target_find(target, STR("mode"), &mode);
        return str_is(mode, "watch") ||
               !right_is_in(principal_rights(client, principal_of(client)), RIGHT_TYPE);
}

/* NULL: no memory. args are in the daemon's arena, and hold no part of the target. */
static WsTerm *ws_term_new(Client *client, const HttpTarget *target, bool only_looks, Json **ret_args) {
        WsTerm *self = calloc(1, sizeof(*self));
        Str name = STR_NULL;

        (void)http_target_find(target, STR("id"), &name);
        *ret_args = ws_term_args(target, &client->daemon->envelope, name, only_looks);
        if (!self || !*ret_args) {
                free(self);
                return NULL;
        }
        ws_term_read_query(self, target);
        self->stream.client = client;
        timer_init(&self->look, client->daemon->loop, ws_term_on_look);
        return self;
}

static void ws_term_run(Client *client, const Json *args, bool only_looks) {
        client_run(client, op_find(&native_ops, only_looks ? STR("term.follow") : STR("fleet.attach")), args,
                   STR("1"), false, NULL);
}

int ws_term_begin(Client *client, const HttpTarget *target) {
        bool only_looks = ws_term_only_looks(client, target);
        Json *args = NULL;
        WsTerm *self = ws_term_new(client, target, only_looks, &args);

        if (!self)
                return -ENOMEM;
        client_switch(client, &ws_term_dialect, client->endpoint, STR_NULL);
        client->state = self;
        ws_term_run(client, args, only_looks);
        return 0;
}

/* The request's own arena goes with the upgrade. */
void ws_term_open(HttpRequest *request, _unused_ Str body) {
        Client *client = request->client;
        bool only_looks = ws_term_only_looks(client, &request->target);
        Json *args = NULL;
        WsTerm *self = ws_term_new(client, &request->target, only_looks, &args);

        if (!self) {
                http_answer_status(request, 500);
                return;
        }
        if (!ws_upgrade(request, &ws_term_dialect)) {
                free(self);
                return;
        }
        client->state = self;
        ws_term_run(client, args, only_looks);
}
