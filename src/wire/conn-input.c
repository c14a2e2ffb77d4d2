/* SPDX-License-Identifier: MIT */
/*
 * Input side of a connection: bytes from the kernel into the shared read buffer, frames out of it. Only what
 * is left of an unfinished frame is copied into the connection, so an idle connection holds no input memory.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "wire/conn-internal.h"

static bool may_hand_out(const Conn *conn) {
        return !conn->is_paused && !conn->is_finishing && !conn->is_closed && !conn->is_throttled &&
               !conn->turn.is_waiting;
}

/* ---- turns ----------------------------------------------------------------------------------- */

void conn_on_turn(Turn *turn) {
        Conn *conn = container_of(turn, Conn, turn);

        conn_enter(conn);
        conn->has_turn = true;
        conn_input(conn);
        conn->has_turn = false;
        conn_leave(conn);
}

/* True: it waits for its turn, and this frame with it. */
static bool waits_for_turn(Conn *conn, size_t n_bytes) {
        Turns *turns = conn->shared->turns;

        if (conn->has_turn || !turns || conn->framing.kind == FRAMING_RAW ||
            !turns_must_wait(turns, conn->turn.peer, n_bytes))
                return false;
        conn->turn.is_long = n_bytes > TURN_BYTES;
        conn->has_backlog = true;
        turns_wait(turns, &conn->turn);
        return true;
}

static void note_first_frame(Conn *conn) {
        if (conn->has_frame)
                return;
        conn->has_frame = true;
        conn_await_silence(conn);
}

/* Hands out frames from the front of input; returns how many bytes they took. */
static size_t hand_out_some(Conn *conn, Str input) {
        size_t at = 0, n_frames = 0;

        conn->has_backlog = false;
        while (at < input.n && may_hand_out(conn)) {
                Str frame;
                size_t n;
                int r;

                if (n_frames == CONN_TURN_FRAMES || at >= CONN_TURN_BYTES) {
                        conn->has_backlog = true;
                        break;
                }
                r = framing_next(&conn->framing, (Str){input.data + at, input.n - at}, &conn->n_scanned,
                                 &frame, &n);
                if (r == FRAMING_E_PARTIAL)
                        break;
                if (r) {
                        note_first_frame(conn);
                        conn->fault = r;
                        conn->n_scanned = 0;
                        conn->handler->oversize(conn->user);
                        return input.n;
                }
                if (waits_for_turn(conn, n))
                        break;
                conn->n_frame = n;
                conn->handler->frame(conn->user, frame);
                conn->has_turn &= n <= TURN_BYTES; /* it was for one long line */
                if (conn->is_reframed) {
                        conn->is_reframed = false;
                        continue;
                }
                note_first_frame(conn);
                at += n;
                n_frames++;
                conn->account->n_requests++;
                if (outq_pending(&conn->out) > conn->limits.high_water)
                        conn->is_throttled = true;
        }
        if (at < input.n && !may_hand_out(conn))
                conn->has_backlog = true;
        return at;
}

/* The peer is charged with the time that they took together. */
static size_t hand_out(Conn *conn, Str input) {
        Turns *turns = conn->shared->turns;
        int64_t since_us = turns ? loop_real_us() : 0;
        size_t n = hand_out_some(conn, input);

        if (turns)
                turns_charge(turns, conn->turn.peer, since_us);
        return n;
}

int conn_take_frame(Conn *conn, Str frame, Buf *ret) {
        Buf rest = BUF_NULL;
        int r;

        if (frame.data < conn->in.data || frame.data + frame.n > conn->in.data + conn->n_frame)
                return error_origin(-EINVAL);
        r = buf_append(&rest, conn->in.data + conn->n_frame, conn->in.n - conn->n_frame);
        if (r)
                return error_trace(r);
        *ret = conn->in;
        ret->n = conn->n_frame;
        conn->in = rest;
        conn->n_taken = conn->n_frame;
        return 0;
}

static void hand_out_kept(Conn *conn) {
        size_t n = hand_out(conn, buf_str(&conn->in)), n_before = conn->in.n;

        buf_consume(&conn->in, n - conn->n_taken);
        conn->n_taken = 0;
        if (conn->is_secret &&
            conn->in.n < n_before) /* what was moved to the front is still behind it, too */
                explicit_bzero(conn->in.data + conn->in.n, n_before - conn->in.n);
        if (!conn->in.n)
                buf_deinit(&conn->in);
}

static void got_bytes(Conn *conn, Str bytes) {
        conn->active_ms = conn->limits.idle_ms ? loop_now_ms(conn->shared->loop) : 0;
        if (conn->is_lingering || conn->is_finishing) {
                conn->n_lingered += bytes.n;
                if (conn->n_lingered > CONN_LINGER_BYTES)
                        conn_abort(conn, conn->reason);
                return;
        }
        if (!conn->in.n) {
                size_t used = hand_out(conn, bytes);
                bytes = (Str){bytes.data + used, bytes.n - used};
                if (!bytes.n)
                        return;
        }
        if ((conn->is_secret && buf_reserve_wiping(&conn->in, bytes.n)) ||
            buf_append(&conn->in, bytes.data, bytes.n)) {
                conn_abort(conn, "out of memory");
                return;
        }
        if (!conn->has_backlog && conn->in.n > bytes.n)
                hand_out_kept(conn);
}

static void tell_eof(Conn *conn) {
        if (!conn->saw_eof || conn->told_eof || conn->is_closed)
                return;
        if (!conn->is_finishing && (conn->has_backlog || conn->is_paused))
                return;
        if (!conn->is_finishing && !conn->is_lingering && waits_for_turn(conn, conn->in.n))
                return; /* what is left may be a line */
        conn->told_eof = true;
        if (conn->is_lingering) {
                conn_abort(conn, conn->reason);
                return;
        }
        if (conn->is_finishing)
                return;
        conn->n_frame = conn->in.n;
        conn->handler->eof(conn->user, buf_str(&conn->in));
        conn->n_taken = 0;
}

static ssize_t conn_receive(Conn *conn) {
        ssize_t n;

        if (conn->filter) {
                n = conn->filter->receive(conn->filter, conn->shared->read_buffer, CONN_READ_MAX);
                errno = n < 0 ? (int)-n : 0;
                return n;
        }
        do {
                n = recv(conn->fd_in, conn->shared->read_buffer, CONN_READ_MAX, 0);
                if (n < 0 && errno == ENOTSOCK) /* stdio */
                        n = read(conn->fd_in, conn->shared->read_buffer, CONN_READ_MAX);
        } while (n < 0 && errno == EINTR);
        return n;
}

static void read_once(Conn *conn) {
        ssize_t n = conn_receive(conn);

        if (n > 0) {
                got_bytes(conn, (Str){conn->shared->read_buffer, (size_t)n});
                if (conn->is_secret)
                        explicit_bzero(conn->shared->read_buffer, (size_t)n);
        } else if (n == 0 ||
                   errno == ECONNRESET) /* of a peer that went with answers unread; all it sent came first */
                conn->saw_eof = true;
        else if (errno != EAGAIN)
                conn_abort(conn, "read error");
}

void conn_input(Conn *conn) {
        if (conn->has_backlog && may_hand_out(conn))
                hand_out_kept(conn);
        else if (!conn->has_backlog && !conn->saw_eof && !conn->is_closed)
                read_once(conn);
        tell_eof(conn);
}
