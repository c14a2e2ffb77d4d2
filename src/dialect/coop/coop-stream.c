/* SPDX-License-Identifier: MIT */
/*
 * Stream mode: after attach, shell or logs a connection carries one terminal in tagged frames: 4 bytes of
 * length, a tag (0: bytes of the terminal, 1: JSON), the payload. A client that does not keep up loses
 * output, is told how much, and gets the screen as it is now; it never holds up the agent or anybody else.
 */
#include <errno.h>
#include <stdlib.h>

#include "core/daemon.h"
#include "dialect/coop/coop.h"
#include "sessions/sessions.h"

enum {
        TAG_DATA = 0,
        TAG_CONTROL = 1,
        STREAM_HEAD = 5,                  /* length and tag */
        STREAM_FRAME_MAX = (1 << 20) - 1, /* bytes of output or of a screen in one frame */
        STREAM_CONTROL_VALUES = 256,      /* in a control message */
        STREAM_QUEUE_MAX = 4 << 20,       /* bytes queued for one client: above it output is dropped */
        STREAM_BACKLOG_MAX =
                4 << 20, /* input of one client that waits for the process: above it the client is held */
        STREAM_MISSED_MAX = 256 << 10, /* output while a screen is drawn that is sent behind it; more: it is
                                          drawn again */
        STREAM_LEAVE_MAX = 16 << 20, /* all input that waits: what a client that leaves has not brought in by
                                        then is lost */
};

typedef struct CoopStream {
        Client *client;
        PtyClient shown;
        Buf backlog;        /* its input that waits; meanwhile it can still resize and detach */
        bool is_held;       /* too much of it: nothing is read */
        uint64_t n_dropped; /* > 0: it has fallen behind */
        ScreenWait screen;  /* being drawn: output is dropped, and shown from the ring behind it */
        uint64_t n_before;  /* dropped before that */
        Buf later;          /* events that follow it */
        bool is_ending;     /* … and the end of the connection */
} CoopStream;

static const Dialect coop_stream_dialect;

static CoopStream *stream_of(PtyClient *shown) {
        return container_of(shown, CoopStream, shown);
}

/* ---- to the client --------------------------------------------------------------------------- */

static void coop_stream_put_frame(Conn *conn, char tag, Str payload) {
        char head[5];

        framing_put_length(head, payload.n + 1);
        head[4] = tag;
        if (conn_write(conn, (Str){head, sizeof(head)}) || conn_write(conn, payload))
                conn_abort(conn, "out of memory");
}

/* Output or a screen for all streams at once; a large screen in many colours is more than one frame. */
static Chunk *coop_stream_frame(Str bytes) {
        size_t n_frames = (bytes.n + STREAM_FRAME_MAX - 1) / STREAM_FRAME_MAX;
        Chunk *chunk = malloc(sizeof(*chunk) + n_frames * STREAM_HEAD + bytes.n);
        char *at;

        if (!chunk)
                return NULL;
        chunk->n_refs = 1;
        chunk->n = n_frames * STREAM_HEAD + bytes.n;
        at = chunk->data;
        while (bytes.n) {
                size_t n = MIN(bytes.n, (size_t)STREAM_FRAME_MAX);

                framing_put_length(at, n + 1);
                at[STREAM_HEAD - 1] = TAG_DATA;
                memcpy(at + STREAM_HEAD, bytes.data, n);
                at += STREAM_HEAD + n;
                bytes = (Str){bytes.data + n, bytes.n - n};
        }
        return chunk;
}

static bool coop_stream_is_drawing(const CoopStream *stream) {
        return stream->screen.drawing;
}

/* Behind the screen that is being drawn, if there is one. */
static void coop_stream_put_control(CoopStream *stream, Str text) {
        char head[5];

        if (!coop_stream_is_drawing(stream)) {
                coop_stream_put_frame(stream->client->conn, TAG_CONTROL, text);
                return;
        }
        framing_put_length(head, text.n + 1);
        head[4] = TAG_CONTROL;
        if (buf_append(&stream->later, head, sizeof(head)) || buf_append_str(&stream->later, text))
                conn_abort(stream->client->conn, "out of memory");
}

static void coop_stream_put_event(CoopStream *stream, const char *event, const char *key, int64_t value) {
        Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        jw_begin_object(&w);
        jw_field_cstr(&w, "event", event);
        if (key)
                jw_field_int(&w, key, value);
        jw_end_object(&w);
        coop_stream_put_control(stream, buf_str(&text));
        buf_deinit(&text);
}

static void coop_stream_end(CoopStream *stream) {
        if (coop_stream_is_drawing(stream))
                stream->is_ending = true;
        else
                conn_finish(stream->client->conn, "the terminal has ended");
}

/* ---- the screen ------------------------------------------------------------------------------ */

static void coop_stream_put_later(CoopStream *stream) {
        if (stream->later.n && conn_write(stream->client->conn, buf_str(&stream->later)))
                conn_abort(stream->client->conn, "out of memory");
        buf_deinit(&stream->later);
        if (stream->is_ending)
                coop_stream_end(stream);
}

/* It will not be shown; what was to follow it is said. */
static void coop_stream_stop_drawing(CoopStream *stream) {
        screen_wait_leave(&stream->screen);
        coop_stream_put_later(stream);
}

static void coop_stream_tell_lag(CoopStream *stream, uint64_t n) {
        coop_stream_put_event(stream, "lag", "dropped", (int64_t)n);
        stream->n_dropped -= n;
}

/* Where there is nothing to draw, or no memory for it, only what is lost is said. */
static void coop_stream_draw(CoopStream *stream) {
        Conn *conn = stream->client->conn;

        if (!coop_stream_is_drawing(stream))
                stream->n_before = stream->n_dropped;
        screen_wait_leave(&stream->screen);
        if (!pty_client_draw(&stream->shown, &stream->screen, conn_turn_peer(conn)))
                return;
        if (stream->n_dropped)
                coop_stream_tell_lag(stream, stream->n_dropped);
        coop_stream_put_later(stream);
}

/* What was printed since it was drawn; all of it is there, or it counts as dropped. */
static void coop_stream_put_missed(CoopStream *stream, const Hosted *hosted, size_t n) {
        Str missed = hosted_scrollback(hosted, n);

        if (n > STREAM_MISSED_MAX || missed.n != n) {
                conn_want_drained(stream->client->conn); /* the next screen */
                return;
        }
        if (n)
                coop_stream_put_frame(stream->client->conn, TAG_DATA, missed);
        stream->n_dropped = 0;
}

/* Who was not behind before has lost nothing: what came until it was drawn is on the screen. */
static void coop_stream_on_drawn(ScreenWait *wait, ScreenDrawn *drawn) {
        CoopStream *stream = container_of(wait, CoopStream, screen);
        const Hosted *hosted = pty_client_hosted(&stream->shown);
        bool is_same = hosted && !strcmp(hosted->id, drawn->id);
        bool has_missed = stream->n_dropped > stream->n_before;
        uint64_t n_missed = is_same ? MIN(hosted->shown_out - drawn->position, stream->n_dropped) : 0;
        Chunk *chunk = drawn->output.bytes.n ? output_framed(&drawn->output, coop_stream_frame) : NULL;

        if (stream->n_before)
                coop_stream_tell_lag(stream, stream->n_dropped - n_missed);
        stream->n_dropped = n_missed;
        if (chunk && conn_write_chunk(stream->client->conn, chunk))
                conn_abort(stream->client->conn, "out of memory");
        if (is_same)
                coop_stream_put_missed(stream, hosted, (size_t)n_missed);
        else if (hosted && has_missed) /* of another process, which has begun meanwhile */
                coop_stream_draw(stream);
        if (!coop_stream_is_drawing(stream))
                coop_stream_put_later(stream);
}

/* A client that fell behind: what it lost, and the screen as it is now to go on from. */
static void coop_stream_catch_up(CoopStream *stream) {
        if (stream->n_dropped && !coop_stream_is_drawing(stream))
                coop_stream_draw(stream);
}

/* ---- to the client --------------------------------------------------------------------------- */

static void coop_stream_on_output(PtyClient *shown, HostOutput *output) {
        CoopStream *stream = stream_of(shown);
        Conn *conn = stream->client->conn;
        Chunk *chunk;

        if (stream->n_dropped || coop_stream_is_drawing(stream) || conn_pending(conn) > STREAM_QUEUE_MAX) {
                if (!stream->n_dropped && !coop_stream_is_drawing(stream))
                        conn_want_drained(conn);
                stream->n_dropped += output->bytes.n;
                return;
        }
        chunk = output_framed(output, coop_stream_frame);
        if (!chunk || conn_write_chunk(conn, chunk))
                conn_abort(conn, "out of memory");
}

/* It is taken away before it is typed: host_write() may tell of room before it returns, and nothing is typed
 * twice. Without memory it stays, for the next time. */
static int coop_stream_type_backlog(CoopStream *stream) {
        Buf backlog = stream->backlog;
        int r;

        stream->backlog = BUF_NULL;
        r = backlog.n ? pty_client_write(&stream->shown, buf_str(&backlog)) : 0;
        if (r < 0)
                stream->backlog = backlog;
        else
                buf_deinit(&backlog);
        return r;
}

static void coop_stream_on_room(PtyClient *shown) {
        CoopStream *stream = stream_of(shown);

        if (coop_stream_type_backlog(stream) < 0 || !stream->is_held)
                return;
        stream->is_held = false;
        client_release(stream->client);
}

/* What a client leaves behind when it goes is still typed, unless far too much waits already. */
static void leave_backlog(CoopStream *stream) {
        const Hosted *hosted = pty_client_hosted(&stream->shown);

        if (hosted && hosted->input.n + stream->backlog.n <= STREAM_LEAVE_MAX)
                (void)coop_stream_type_backlog(stream);
        buf_deinit(&stream->backlog);
}

static void on_exited(PtyClient *shown, int code) {
        CoopStream *stream = stream_of(shown);

        coop_stream_on_room(shown); /* nobody will take what it still wants to type */
        if (stream->n_dropped || coop_stream_is_drawing(stream))
                coop_stream_draw(stream); /* with its last words */
        coop_stream_put_event(stream, "pty_exited", "code", code);
}

static void on_restarting(PtyClient *shown, int64_t delay_ms) {
        coop_stream_put_event(stream_of(shown), "pty_restarting", "delay_ms", delay_ms);
}

static void coop_stream_on_ended(PtyClient *shown) {
        coop_stream_end(stream_of(shown));
}

static void coop_stream_on_promoted(PtyClient *shown) {
        coop_stream_put_event(stream_of(shown), "writer", NULL, 0);
}

static const PtyClientOps shown_ops = {.output = coop_stream_on_output,
                                       .room = coop_stream_on_room,
                                       .exited = on_exited,
                                       .restarting = on_restarting,
                                       .ended = coop_stream_on_ended,
                                       .promoted = coop_stream_on_promoted};

/* ---- from the client ------------------------------------------------------------------------- */

/* What is typed out of turn is dropped: nobody wants his keys to arrive when somebody else has left. */
static void coop_stream_type(CoopStream *stream, Str bytes) {
        const Hosted *hosted = pty_client_hosted(&stream->shown);

        if (!pty_client_may_type(&stream->shown))
                return;
        if (!stream->backlog.n && !(hosted && host_is_full(hosted))) {
                (void)pty_client_write(&stream->shown, bytes);
                return;
        }
        if (buf_append_str(&stream->backlog, bytes))
                conn_abort(stream->client->conn, "out of memory");
        else if (stream->backlog.n > STREAM_BACKLOG_MAX && !stream->is_held) {
                stream->is_held = true;
                client_hold(stream->client);
        }
}

/* As strict as in the command attach. */
static bool read_side(const Json *side, uint64_t *ret) {
        return json_is_integer(side) && json_uint64(side, ret) && *ret <= UINT16_MAX;
}

static void coop_stream_resize(CoopStream *stream, const Json *message) {
        uint64_t cols = 0, rows = 0;

        if (stream->shown.is_passive || !pty_client_hosted(&stream->shown) ||
            !read_side(json_get(message, "cols"), &cols) || !read_side(json_get(message, "rows"), &rows))
                return;
        pty_resize(&stream->shown, (unsigned)cols, (unsigned)rows);
}

/* Bad, unknown and misplaced messages are ignored, as the contract says; also those with more values than
 * any that is known has, which would take long to read. */
static void coop_stream_control(CoopStream *stream, Str text) {
        Client *client = stream->client;
        Json *message = NULL;
        Str cmd;

        if (json_parse(&client->daemon->envelope, text.data, text.n,
                       &(JsonLimits){.n_values = STREAM_CONTROL_VALUES}, &message, NULL))
                return;
        cmd = json_str(json_get(message, "cmd"));
        if (str_is(cmd, "resize"))
                coop_stream_resize(stream, message);
        if (!str_is(cmd, "detach"))
                return;
        leave_backlog(stream);
        coop_stream_stop_drawing(stream);
        pty_detach(&stream->shown); /* its seat is free at once, whatever it still has to read */
        coop_stream_put_frame(client->conn, TAG_CONTROL, STR("{\"ok\":true,\"event\":\"detached\"}"));
        conn_finish(client->conn, "detached");
}

static void coop_stream_on_frame(Client *client, Str frame) {
        CoopStream *stream = client->state;

        if (!frame.n)
                return;
        if (frame.data[0] == TAG_DATA)
                coop_stream_type(stream, (Str){frame.data + 1, frame.n - 1});
        else if (frame.data[0] == TAG_CONTROL)
                coop_stream_control(stream, (Str){frame.data + 1, frame.n - 1});
}

static void coop_stream_on_eof(Client *client, _unused_ Str rest) {
        conn_finish(client->conn, "end of stream");
}

static void coop_stream_on_oversize(Client *client) {
        Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        jw_begin_object(&w);
        jw_field_bool(&w, "ok", false);
        jw_field_cstr(&w, "error", coop_error_code(CALL_E_TOO_LARGE));
        jw_field_cstr(&w, "message", "frame over 1048576 bytes");
        jw_end_object(&w);
        coop_stream_put_frame(client->conn, TAG_CONTROL, buf_str(&text));
        buf_deinit(&text);
        conn_finish(client->conn, "frame too large");
}

static void coop_stream_on_drained(Client *client) {
        coop_stream_catch_up(client->state);
}

static void on_leaving(Client *client) {
        coop_stream_stop_drawing(client->state);
        coop_stream_put_event(client->state, "detached", NULL, 0);
}

static void coop_stream_on_close(Client *client) {
        CoopStream *stream = client->state;

        leave_backlog(stream);
        screen_wait_leave(&stream->screen);
        buf_deinit(&stream->later);
        pty_detach(&stream->shown);
        free(stream);
        client->state = NULL;
}

static const Dialect coop_stream_dialect = {
        .name = "coop",
        .framing = {.kind = FRAMING_LENGTH, .n_max = COOP_MESSAGE_MAX},
        .frame = coop_stream_on_frame,
        .eof = coop_stream_on_eof,
        .oversize = coop_stream_on_oversize,
        .close = coop_stream_on_close,
        .drained = coop_stream_on_drained,
        .leaving = on_leaving,
};

/* ---- the change ------------------------------------------------------------------------------ */

/* Behind a scrollback that does not show what is there comes the screen; who follows a log wants bytes. */
static void put_right(CoopStream *stream, Str past) {
        const Hosted *hosted = pty_client_hosted(&stream->shown);

        if (!stream->shown.is_passive && hosted && hosted_needs_screen(hosted, past))
                coop_stream_draw(stream);
}

void coop_stream(Client *client, const StreamTarget *target) {
        CoopStream *stream = calloc(1, sizeof(*stream));
        const PtyTarget *asked = container_of(target, PtyTarget, stream);
        const Pty *pty = asked->pty;
        Str past = pty_target_scrollback(asked);

        if (!stream) {
                conn_abort(client->conn, "out of memory");
                return;
        }
        *stream = (CoopStream){.client = client,
                               .shown = {.ops = &shown_ops,
                                         .by = principal_name(principal_of(client)),
                                         .is_passive = target->is_read_only},
                               .screen = {.frame = coop_stream_frame, .drawn = coop_stream_on_drawn}};
        client->state = stream;
        client_switch(client, &coop_stream_dialect, client->endpoint, STR_NULL);
        conn_end_with_peer(client->conn);
        if (past.n)
                coop_stream_put_frame(client->conn, TAG_DATA, past);
        pty_client_attach(&stream->shown, asked);
        pty_resize(&stream->shown, target->cols, target->rows);
        put_right(stream, past);
        if (pty && pty_is_over(pty)) { /* it has ended already: say so, and that was it */
                on_exited(&stream->shown, pty_exit_code(pty->hosted));
                pty_detach(&stream->shown);
                coop_stream_end(stream);
        }
}
