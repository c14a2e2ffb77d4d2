/* SPDX-License-Identifier: MIT */
#include "sessions/pty-stream.h"

#include <string.h>

#include "core/daemon.h"
#include "core/principal/principal.h"

static PtyStream *pty_stream_of(PtyClient *shown) {
        return container_of(shown, PtyStream, shown);
}

static bool pty_stream_is_drawing(const PtyStream *stream) {
        return stream->screen.drawing;
}

static void pty_stream_fail(PtyStream *stream) {
        conn_abort(stream->client->conn, "out of memory");
}

/* ---- to the client --------------------------------------------------------------------------- */

void pty_stream_put(PtyStream *stream, PtyEvent event, int64_t value) {
        Conn *conn = stream->client->conn;
        bool is_later = pty_stream_is_drawing(stream);

        stream->kind->put_event(stream, is_later ? &stream->later : conn_out(conn), event, value);
        conn_flush_soon(conn);
}

static void pty_stream_put_chunk(PtyStream *stream, Chunk *chunk, size_t n_bytes) {
        if (!chunk || conn_write_chunk(stream->client->conn, chunk))
                pty_stream_fail(stream);
        else if (stream->kind->sent)
                stream->kind->sent(stream, n_bytes);
}

static void pty_stream_put_bytes(PtyStream *stream, Str bytes) {
        Chunk *chunk = bytes.n ? stream->kind->frame(bytes) : NULL;

        if (bytes.n)
                pty_stream_put_chunk(stream, chunk, bytes.n);
        chunk_unref(chunk);
}

static void pty_stream_end(PtyStream *stream) {
        if (pty_stream_is_drawing(stream))
                stream->is_ending = true;
        else
                stream->kind->end(stream);
}

/* ---- the screen ------------------------------------------------------------------------------ */

static void pty_stream_put_later(PtyStream *stream) {
        if (stream->later.n && conn_write(stream->client->conn, buf_str(&stream->later)))
                pty_stream_fail(stream);
        buf_deinit(&stream->later);
        if (stream->is_ending)
                pty_stream_end(stream);
}

/* It will not be shown; what was to follow it is said. */
static void pty_stream_stop_drawing(PtyStream *stream) {
        screen_wait_leave(&stream->screen);
        pty_stream_put_later(stream);
}

static void pty_stream_tell_lag(PtyStream *stream, uint64_t n) {
        pty_stream_put(stream, PTY_EVENT_LAG, (int64_t)n);
        stream->n_dropped -= n;
}

/* Where there is nothing to draw, or no memory for it, only what is lost is said. */
static void pty_stream_draw(PtyStream *stream) {
        Conn *conn = stream->client->conn;

        if (!pty_stream_is_drawing(stream))
                stream->n_before = stream->n_dropped;
        screen_wait_leave(&stream->screen);
        if (!pty_client_draw(&stream->shown, &stream->screen, conn_turn_peer(conn)))
                return;
        if (stream->n_dropped)
                pty_stream_tell_lag(stream, stream->n_dropped);
        pty_stream_put_later(stream);
}

/* What was printed since it was drawn; all of it is there, or it counts as dropped. */
static void pty_stream_put_missed(PtyStream *stream, const Hosted *hosted, size_t n) {
        Str missed = hosted_scrollback(hosted, n);

        if (n > PTY_STREAM_MISSED_MAX || missed.n != n) {
                conn_want_drained(stream->client->conn); /* the next screen */
                return;
        }
        pty_stream_put_bytes(stream, missed);
        stream->n_dropped = 0;
}

/* Who was not behind before has lost nothing: what came until it was drawn is on the screen. */
static void pty_stream_on_drawn(ScreenWait *wait, ScreenDrawn *drawn) {
        PtyStream *stream = container_of(wait, PtyStream, screen);
        const Hosted *hosted = pty_client_hosted(&stream->shown);
        bool is_same = hosted && !strcmp(hosted->id, drawn->id);
        bool has_missed = stream->n_dropped > stream->n_before;
        uint64_t n_missed = is_same ? MIN(hosted->shown_out - drawn->position, stream->n_dropped) : 0;
        Chunk *chunk = drawn->output.bytes.n ? output_framed(&drawn->output, stream->kind->frame) : NULL;

        if (stream->n_before)
                pty_stream_tell_lag(stream, stream->n_dropped - n_missed);
        stream->n_dropped = n_missed;
        if (chunk && is_same && stream->kind->next)
                stream->kind->next(stream, hosted, drawn->position, drawn->output.bytes.n);
        if (chunk)
                pty_stream_put_chunk(stream, chunk, drawn->output.bytes.n);
        if (is_same)
                pty_stream_put_missed(stream, hosted, (size_t)n_missed);
        else if (hosted && has_missed) /* of another process, which has begun meanwhile */
                pty_stream_draw(stream);
        if (!pty_stream_is_drawing(stream))
                pty_stream_put_later(stream);
}

void pty_stream_catch_up(PtyStream *stream) {
        if (stream->n_dropped && !pty_stream_is_drawing(stream))
                pty_stream_draw(stream);
}

/* ---- what the terminal says ------------------------------------------------------------------ */

bool pty_stream_is_behind(const PtyStream *stream) {
        return stream->n_dropped || pty_stream_is_drawing(stream);
}

static bool pty_stream_is_full(const PtyStream *stream) {
        return conn_pending(stream->client->conn) > PTY_STREAM_QUEUE_MAX ||
               (stream->kind->is_full && stream->kind->is_full(stream));
}

static void pty_stream_on_output(PtyClient *shown, HostOutput *output) {
        PtyStream *stream = pty_stream_of(shown);
        const Hosted *hosted = pty_client_hosted(shown);

        if (output->is_stderr && stream->kind->put_stderr) {
                stream->kind->put_stderr(stream, output->bytes,
                                         conn_pending(stream->client->conn) > PTY_STREAM_QUEUE_MAX);
                return;
        }
        if (pty_stream_is_behind(stream) || pty_stream_is_full(stream)) {
                if (!pty_stream_is_behind(stream))
                        conn_want_drained(stream->client->conn);
                stream->n_dropped += output->bytes.n;
                return;
        }
        if (stream->kind->next && hosted)
                stream->kind->next(stream, hosted, hosted->shown_out - output->bytes.n, 0);
        pty_stream_put_chunk(stream, output_framed(output, stream->kind->frame), output->bytes.n);
}

/* It is taken away before it is typed: host_write() may tell of room before it returns, and nothing is typed
 * twice. Without memory it stays, for the next time. */
static int pty_stream_type_backlog(PtyStream *stream) {
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

static void pty_stream_on_room(PtyClient *shown) {
        PtyStream *stream = pty_stream_of(shown);

        if (pty_stream_type_backlog(stream) < 0 || !stream->is_held)
                return;
        stream->is_held = false;
        client_release(stream->client);
}

static void pty_stream_on_exited(PtyClient *shown, int code) {
        PtyStream *stream = pty_stream_of(shown);

        pty_stream_on_room(shown); /* nobody will take what it still wants to type */
        if (pty_stream_is_behind(stream))
                pty_stream_draw(stream); /* with its last words */
        pty_stream_put(stream, PTY_EVENT_EXITED, code);
}

static void pty_stream_on_restarting(PtyClient *shown, int64_t delay_ms) {
        pty_stream_put(pty_stream_of(shown), PTY_EVENT_RESTARTING, delay_ms);
}

static void pty_stream_on_ended(PtyClient *shown) {
        pty_stream_end(pty_stream_of(shown));
}

static void pty_stream_on_promoted(PtyClient *shown) {
        pty_stream_put(pty_stream_of(shown), PTY_EVENT_WRITER, 0);
}

static void pty_stream_on_resized(PtyClient *shown) {
        PtyStream *stream = pty_stream_of(shown);

        if (stream->kind->shares_size)
                pty_stream_put(stream, PTY_EVENT_RESIZED, 0);
}

static void pty_stream_on_owned(PtyClient *shown) {
        pty_stream_put(pty_stream_of(shown), PTY_EVENT_OWNER, pty_owns(shown));
}

static const PtyClientOps pty_stream_ops = {.output = pty_stream_on_output,
                                            .room = pty_stream_on_room,
                                            .exited = pty_stream_on_exited,
                                            .restarting = pty_stream_on_restarting,
                                            .ended = pty_stream_on_ended,
                                            .resized = pty_stream_on_resized,
                                            .owned = pty_stream_on_owned,
                                            .promoted = pty_stream_on_promoted};

/* ---- from the client ------------------------------------------------------------------------- */

void pty_stream_type(PtyStream *stream, Str bytes) {
        const Hosted *hosted = pty_client_hosted(&stream->shown);

        if (!pty_client_may_type(&stream->shown))
                return;
        if (!stream->backlog.n && !(hosted && host_is_full(hosted))) {
                (void)pty_client_write(&stream->shown, bytes);
                return;
        }
        if (buf_append_str(&stream->backlog, bytes))
                pty_stream_fail(stream);
        else if (stream->backlog.n > PTY_STREAM_BACKLOG_MAX && !stream->is_held) {
                stream->is_held = true;
                client_hold(stream->client);
        }
}

void pty_stream_resize(PtyStream *stream, unsigned cols, unsigned rows) {
        if (!stream->shown.is_passive && pty_client_hosted(&stream->shown))
                pty_resize(&stream->shown, cols, rows);
}

/* What a client leaves behind when it goes is still typed, unless far too much waits already. */
static void pty_stream_leave_backlog(PtyStream *stream) {
        const Hosted *hosted = pty_client_hosted(&stream->shown);

        if (hosted && host_n_input(hosted) + stream->backlog.n <= PTY_STREAM_LEAVE_MAX)
                (void)pty_stream_type_backlog(stream);
        buf_deinit(&stream->backlog);
}

void pty_stream_leave(PtyStream *stream) {
        pty_stream_leave_backlog(stream);
        pty_stream_stop_drawing(stream);
        pty_detach(&stream->shown);
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Behind a past that does not show what is there comes the screen; who follows a log wants bytes. */
static void pty_stream_put_right(PtyStream *stream, Str past) {
        const Hosted *hosted = pty_client_hosted(&stream->shown);

        if ((!stream->shown.is_passive || stream->kind->shares_size) && hosted &&
            hosted_needs_screen(hosted, past))
                pty_stream_draw(stream);
}

void pty_stream_begin_at(PtyStream *stream, Client *client, const PtyStreamKind *kind,
                         const PtyTarget *target, Str past) {
        const Pty *pty = target->pty;

        *stream = (PtyStream){.client = client,
                              .kind = kind,
                              .shown = {.ops = &pty_stream_ops,
                                        .by = principal_name(principal_of(client)),
                                        .is_passive = target->stream.is_read_only,
                                        .is_web = kind->is_web,
                                        .shares_size = kind->shares_size},
                              .screen = {.frame = kind->frame, .drawn = pty_stream_on_drawn}};
        conn_end_with_peer(client->conn);
        pty_stream_put_bytes(stream, past);
        pty_client_attach(&stream->shown, target);
        pty_resize(&stream->shown, target->stream.cols, target->stream.rows);
        pty_stream_put_right(stream, past);
        if (pty && pty_is_over(pty)) { /* it has ended already: say so, and that was it */
                pty_stream_on_exited(&stream->shown, pty_exit_code(pty->hosted));
                pty_detach(&stream->shown);
                pty_stream_end(stream);
        }
}

void pty_stream_begin(PtyStream *stream, Client *client, const PtyStreamKind *kind,
                      const PtyTarget *target) {
        pty_stream_begin_at(stream, client, kind, target, pty_target_scrollback(target));
}

void pty_stream_leaving(PtyStream *stream) {
        pty_stream_stop_drawing(stream);
        pty_stream_put(stream, PTY_EVENT_DETACHED, 0);
}

void pty_stream_deinit(PtyStream *stream) {
        pty_stream_leave_backlog(stream);
        screen_wait_leave(&stream->screen);
        buf_deinit(&stream->later);
        pty_detach(&stream->shown);
}
