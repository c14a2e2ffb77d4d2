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
        STREAM_QUEUE_MAX = 4 << 20, /* bytes queued for one client: above it output is dropped */
        STREAM_BACKLOG_MAX =
                4 << 20, /* input of one client that waits for the process: above it the client is held */
        STREAM_LEAVE_MAX = 16 << 20, /* all input that waits: what a client that leaves has not brought in by
                                        then is lost */
};

typedef struct CoopStream {
        Client *client;
        PtyClient shown;
        Buf backlog;        /* its input that waits; meanwhile it can still resize and detach */
        bool is_held;       /* too much of it: nothing is read */
        uint64_t n_dropped; /* > 0: it has fallen behind */
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

static void coop_stream_put_event(Client *client, const char *event, const char *key, int64_t value) {
        Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        jw_begin_object(&w);
        jw_field_cstr(&w, "event", event);
        if (key)
                jw_field_int(&w, key, value);
        jw_end_object(&w);
        coop_stream_put_frame(client->conn, TAG_CONTROL, buf_str(&text));
        buf_deinit(&text);
}

static void put_screen(CoopStream *stream) {
        Buf screen = BUF_NULL;
        Str rest;

        if (pty_client_hosted(&stream->shown) && !pty_client_snapshot(&stream->shown, &screen))
                for (rest = buf_str(&screen);
                     rest.n;) { /* a large one in many colours is more than a frame */
                        size_t n = MIN(rest.n, COOP_MESSAGE_MAX - 1);
                        coop_stream_put_frame(stream->client->conn, TAG_DATA, (Str){rest.data, n});
                        rest = (Str){rest.data + n, rest.n - n};
                }
        buf_deinit(&screen);
}

/* A client that fell behind: what it lost, and the screen as it is now to go on from. */
static void coop_stream_catch_up(CoopStream *stream) {
        if (!stream->n_dropped)
                return;
        coop_stream_put_event(stream->client, "lag", "dropped", (int64_t)stream->n_dropped);
        stream->n_dropped = 0;
        put_screen(stream);
}

static void coop_stream_on_output(PtyClient *shown, HostOutput *output) {
        CoopStream *stream = stream_of(shown);
        Conn *conn = stream->client->conn;
        Chunk *chunk;

        if (stream->n_dropped || conn_pending(conn) > STREAM_QUEUE_MAX) {
                if (!stream->n_dropped)
                        conn_want_drained(conn);
                stream->n_dropped += output->bytes.n;
                return;
        }
        chunk = output_tagged(output);
        if (!chunk || conn_write_chunk(conn, chunk))
                conn_abort(conn, "out of memory");
}

static void coop_stream_on_room(PtyClient *shown) {
        CoopStream *stream = stream_of(shown);

        if (stream->backlog.n && pty_client_write(shown, buf_str(&stream->backlog)) < 0)
                return; /* no memory: it waits for the next time */
        buf_deinit(&stream->backlog);
        if (!stream->is_held)
                return;
        stream->is_held = false;
        client_release(stream->client);
}

/* What a client leaves behind when it goes is still typed, unless far too much waits already. */
static void leave_backlog(CoopStream *stream) {
        const Hosted *hosted = pty_client_hosted(&stream->shown);

        if (stream->backlog.n && hosted && hosted->input.n + stream->backlog.n <= STREAM_LEAVE_MAX)
                (void)pty_client_write(&stream->shown, buf_str(&stream->backlog));
        buf_deinit(&stream->backlog);
}

static void on_exited(PtyClient *shown, int code) {
        CoopStream *stream = stream_of(shown);

        coop_stream_on_room(shown); /* nobody will take what it still wants to type */
        coop_stream_catch_up(stream);
        coop_stream_put_event(stream->client, "pty_exited", "code", code);
}

static void on_restarting(PtyClient *shown, int64_t delay_ms) {
        coop_stream_put_event(stream_of(shown)->client, "pty_restarting", "delay_ms", delay_ms);
}

static void coop_stream_on_ended(PtyClient *shown) {
        conn_finish(stream_of(shown)->client->conn, "the terminal has ended");
}

static void coop_stream_on_promoted(PtyClient *shown) {
        coop_stream_put_event(stream_of(shown)->client, "writer", NULL, 0);
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

/* Bad, unknown and misplaced messages are ignored, as the contract says. */
static void coop_stream_control(CoopStream *stream, Str text) {
        Client *client = stream->client;
        Json *message = NULL;
        Str cmd;

        if (json_parse(&client->daemon->envelope, text.data, text.n, &message_limits, &message, NULL))
                return;
        cmd = json_str(json_get(message, "cmd"));
        if (str_is(cmd, "resize"))
                coop_stream_resize(stream, message);
        if (!str_is(cmd, "detach"))
                return;
        leave_backlog(stream);
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
        coop_stream_put_event(client, "detached", NULL, 0);
}

static void coop_stream_on_close(Client *client) {
        CoopStream *stream = client->state;

        leave_backlog(stream);
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
                put_screen(stream);
}

void coop_stream(Client *client, void *target, bool is_read_only) {
        CoopStream *stream = calloc(1, sizeof(*stream));
        const PtyTarget *asked = target;
        const Pty *pty = asked->pty;
        Str past = pty_target_scrollback(asked);

        if (!stream) {
                conn_abort(client->conn, "out of memory");
                return;
        }
        *stream = (CoopStream){.client = client, .shown = {.ops = &shown_ops, .is_passive = is_read_only}};
        client->state = stream;
        client_switch(client, &coop_stream_dialect, client->endpoint, STR_NULL);
        if (past.n)
                coop_stream_put_frame(client->conn, TAG_DATA, past);
        pty_client_attach(&stream->shown, asked);
        pty_resize(&stream->shown, asked->cols, asked->rows);
        put_right(stream, past);
        if (pty && pty_is_over(pty)) { /* it has ended already: say so, and that was it */
                on_exited(&stream->shown, pty_exit_code(pty->hosted));
                pty_detach(&stream->shown);
                conn_finish(client->conn, "the terminal has ended");
        }
}
