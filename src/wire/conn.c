/* SPDX-License-Identifier: MIT */
#include "wire/conn.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "wire/conn-internal.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* of Linux 6.5; the headers may be older than the kernel */
#endif

/* ---- life ------------------------------------------------------------------------------------ */

static void conn_on_work(Deferred *deferred) {
        Conn *conn = container_of(deferred, Conn, work);

        conn_enter(conn);
        if (conn->has_backlog || conn->is_unpollable || conn->saw_eof ||
            (conn->filter && conn->filter->has_more))
                conn_input(conn);
        conn_leave(conn);
}

static void on_deadline(Timer *timer) {
        Conn *conn = container_of(timer, Conn, deadline);
        int64_t left;

        if (conn->is_finishing) {
                conn_abort(conn, conn->reason);
                return;
        }
        if (!conn->has_frame && conn->limits.handshake_ms) {
                conn_abort(conn, "handshake timeout");
                return;
        }
        if (!conn->limits.idle_ms)
                return; /* the limits have changed */
        left = conn->active_ms + conn->limits.idle_ms - loop_now_ms(conn->shared->loop);
        if (left <= 0)
                conn_abort(conn, "idle");
        else if (timer_set(timer, left))
                conn_abort(conn, "out of memory");
}

void conn_await_silence(Conn *conn) {
        if (!conn->limits.idle_ms)
                timer_clear(&conn->deadline);
        else if (timer_set(&conn->deadline, conn->limits.idle_ms))
                conn_abort(conn, "out of memory");
}

int conn_new(Conn **ret, ConnShared *shared, int fd_in, int fd_out, const ConnPeer *peer, Account *account) {
        uint32_t process = peer->is_remote ? peer->address : (uint32_t)peer->pid;
        Conn *conn = calloc(1, sizeof(*conn));

        if (!conn)
                return error_origin(-ENOMEM);
        conn->share = share_open(account, process);
        if (!conn->share) {
                free(conn);
                return error_origin(-ENOMEM);
        }
        conn->shared = shared;
        conn->fd_in = fd_in;
        conn->fd_out = fd_out;
        conn->peer = *peer;
        conn->account = account;
        conn->account_next = account->conns;
        conn->account_link = &account->conns;
        if (conn->account_next)
                conn->account_next->account_link = &conn->account_next;
        account->conns = conn;
        conn->turn = (Turn){.peer = process, .run = conn_on_turn};
        timer_init(&conn->deadline, shared->loop, on_deadline);
        deferred_init(&conn->work, shared->loop, conn_on_work);
        shared->n_accepted++;
        shared->n_open++;
        *ret = conn;
        return 0;
}

int conn_set_filter(Conn *conn, ConnFilter *filter) {
        int r = conn->fd_in == conn->fd_out ? filter->attach(filter, conn->fd_in) : error_origin(-ENOTSOCK);

        if (r) {
                filter->free(filter);
                return error_trace(r);
        }
        conn->filter = filter;
        return 0;
}

int conn_peer_pidfd(const Conn *conn) {
        socklen_t n = sizeof(int);
        int fd;

        return getsockopt(conn->fd_in, SOL_SOCKET, SO_PEERPIDFD, &fd, &n) ? -errno : fd;
}

static void close_descriptors(Conn *conn) {
        if (conn->filter)
                conn->filter = conn->filter->free(conn->filter);
        if (conn->watch_out != conn->watch_in)
                loop_fd_close(conn->watch_out);
        conn->watch_in = conn->watch_out = loop_fd_close(conn->watch_in);
        if (conn->fd_out != conn->fd_in)
                close_fd(conn->fd_out);
        conn->fd_in = conn->fd_out = close_fd(conn->fd_in);
}

static void conn_free(Conn *conn) {
        ConnShared *shared = conn->shared;

        if (conn->handler)
                conn->handler->closed(conn->user, conn->reason);
        timer_clear(&conn->deadline);
        deferred_cancel(&conn->work);
        if (shared->turns)
                turns_leave(shared->turns, &conn->turn);
        (conn->is_secret ? buf_wipe : buf_deinit)(&conn->in);
        outq_deinit(&conn->out);
        *conn->account_link = conn->account_next;
        if (conn->account_next)
                conn->account_next->account_link = conn->account_link;
        conn->account->n_bytes -= conn->n_charged;
        share_unref(conn->share);
        if (!conn->is_evicted)
                account_close(conn->account);
        free(conn);
        shared->n_open--;
        shared->n_closed++;
        if (shared->fd_freed)
                shared->fd_freed(shared->user);
}

void conn_keep_secret(Conn *conn) {
        conn->is_secret = conn->out.wipes = true;
}

void conn_abort(Conn *conn, const char *reason) {
        if (conn->is_closed)
                return;
        conn->is_closed = true;
        conn->share->n_conns--;
        conn->share->n_bytes -= conn->n_charged;
        conn->reason = reason;
        close_descriptors(conn);
        if (!conn->depth)
                deferred_schedule(&conn->work);
}

/* ---- turns ----------------------------------------------------------------------------------- */

void conn_enter(Conn *conn) {
        conn->depth++;
}

static void begin_linger(Conn *conn) {
        bool peer_may_send = !conn->saw_eof && (conn->fault || conn->n_lingered || conn->is_gentle);

        if (conn->filter)
                conn->filter->end(conn->filter);
        if (!peer_may_send || shutdown(conn->fd_out, SHUT_WR) ||
            timer_set(&conn->deadline, CONN_LINGER_MS)) {
                conn_abort(conn, conn->reason);
                return;
        }
        conn->is_lingering = true;
}

/* Nobody will handle what is left of the input. */
static void drop_input(Conn *conn) {
        conn->n_lingered += conn->in.n;
        conn->has_backlog = false;
        (conn->is_secret ? buf_wipe : buf_deinit)(&conn->in);
}

/* A peer that does not take its last bytes is given up after a while. */
static void begin_drain(Conn *conn) {
        if (!conn->is_draining && timer_set(&conn->deadline, CONN_DRAIN_MS))
                conn_abort(conn, conn->reason);
        conn->is_draining = true;
}

/* Whether something that the peer has said is not handled yet: it is being read or answered in parts, or
 * waits here or in the kernel. A call that only waits is none: it goes on without its connection. */
static bool has_unheard(const Conn *conn) {
        char byte;

        if (!conn->is_paused || conn->n_lent || conn->n_held || conn->in.n)
                return true;
        return !conn->saw_eof && recv(conn->fd_in, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* Nobody takes what is written. What the peer said before it went is still to be handled: a notification
 * needs nobody who waits for it. It is read up to its end, which closes the connection. */
static void lose_output(Conn *conn) {
        bool wants_drained = conn->wants_drained;

        conn->is_deaf = true;
        conn->is_throttled = conn->wants_drained = false;
        outq_deinit(&conn->out);
        if (conn->is_finishing || conn->told_eof || conn->fd_in != conn->fd_out || !has_unheard(conn))
                conn_abort(conn, "peer is gone");
        else if (wants_drained)
                conn->handler->drained(conn->user); /* nothing is queued any more */
}

static int conn_send(Conn *conn) {
        if (conn->filter)
                return outq_send_by(&conn->out, conn->filter->send, conn->filter);
        return outq_send(&conn->out, conn->fd_out);
}

static void conn_flush(Conn *conn) {
        size_t before = outq_pending(&conn->out), pending;

        if (conn->is_deaf || (before && conn_send(conn))) {
                lose_output(conn);
                return;
        }
        pending = outq_pending(&conn->out);
        if (pending < before && conn->limits.idle_ms)
                conn->active_ms = loop_now_ms(conn->shared->loop);
        if (conn->limits.hard_limit && pending > conn->limits.hard_limit)
                conn_abort(conn, "slow reader");
        else if (conn->is_throttled && pending <= conn->limits.low_water)
                conn->is_throttled = false;
        if (conn->wants_drained && pending <= conn->limits.low_water && !conn->is_closed) {
                conn->wants_drained = false;
                conn->handler->drained(conn->user);
                deferred_schedule(&conn->work); /* what it wrote is sent in the next turn */
        }
        if (conn->is_finishing && !conn->is_lingering && !conn->is_closed) {
                drop_input(conn);
                outq_pending(&conn->out) ? begin_drain(conn) : begin_linger(conn);
        }
}

/* The largest connection of the process that holds most. */
static Conn *greediest(Account *account) {
        Share *worst = share_largest(account, true);
        Conn *found = NULL;

        for (Conn *c = account->conns; c; c = c->account_next)
                if (!c->is_closed && c->share == worst && (!found || c->n_charged > found->n_charged))
                        found = c;
        return found;
}

bool conn_evict(Account *account, uint32_t peer) {
        Share *worst = share_largest(account, false);
        Conn *oldest = NULL;

        if (!worst || worst->peer == peer)
                return false;
        for (Conn *c = account->conns; c; c = c->account_next) /* the newest first */
                if (!c->is_closed && !c->is_paused && c->share == worst)
                        oldest = c;
        if (!oldest)
                return false;
        oldest->is_evicted = true;
        account_close(account);
        conn_abort(oldest, "quota of the peer used up");
        return true;
}

static void charge(Conn *conn) {
        size_t held =
                conn->in.cap + outq_pending(&conn->out) + conn->n_held + conn->n_lent + conn->n_waiting;

        held += conn->filter ? conn->filter->n_bytes : 0;
        conn->account->n_bytes += held - conn->n_charged;
        conn->share->n_bytes += conn->is_closed ? 0 : held - conn->n_charged;
        conn->n_charged = held;
        while (!account_has_room(conn->account)) {
                Conn *victim = greediest(conn->account);

                if (!victim)
                        return;
                conn_abort(victim, "quota of the peer used up");
                conn->account->n_bytes -= victim->n_charged; /* it is given back in this turn */
                victim->n_charged = 0;
        }
}

bool conn_set_held(Conn *conn, size_t n_bytes) {
        size_t pending = outq_pending(&conn->out) + n_bytes;

        conn->n_held = n_bytes;
        if (conn->limits.hard_limit && pending > conn->limits.hard_limit)
                conn_abort(conn, "its answers are too long");
        charge(conn);
        return !conn->is_closed;
}

void conn_set_lent(Conn *conn, size_t n_bytes) {
        conn->n_lent = n_bytes;
        conn_flush_soon(conn); /* charged when it is left */
}

void conn_set_waiting(Conn *conn, size_t n_bytes) {
        conn->n_waiting = n_bytes;
        conn_flush_soon(conn);
}

uint32_t conn_turn_peer(const Conn *conn) {
        return conn->turn.peer;
}

/* While paused nothing is read, so a peer that has gone would not be noticed. One that only ended its own
 * sending is waited for, and so is what it said before it went: those frames are still to be handled. */
static void note_hangup(Conn *conn) {
        struct pollfd pfd = {.fd = conn->fd_in};

        if (!conn->is_paused)
                return;
        conn->is_half_closed = true;
        if (conn->ends_with_input) {
                conn_abort(conn, "peer is gone");
                return;
        }
        if (poll(&pfd, 1, 0) != 1 || !(pfd.revents & (POLLHUP | POLLERR)))
                return;
        if (conn->ends_with_peer)
                conn_abort(conn, "peer is gone");
        else
                lose_output(conn);
}

/* conn_on_work() leaves it then. */
static void conn_leave_late(Conn *conn) {
        if (conn->depth > 1 || conn->is_closed || conn->is_finishing || !outq_pending(&conn->out)) {
                conn_leave(conn);
                return;
        }
        conn->depth--;
        deferred_schedule(&conn->work);
}

static void conn_on_ready(void *user, unsigned events) {
        Conn *conn = user;

        conn_enter(conn);
        if (events & LOOP_HANGUP)
                note_hangup(conn);
        if ((events & LOOP_READ) && conn->is_paused && !conn->is_finishing)
                conn->is_ahead = true;
        else if ((events & LOOP_READ) || (conn->filter && conn->filter->wants_room))
                conn_input(conn);
        if (conn->sends_late)
                conn_leave_late(conn);
        else
                conn_leave(conn);
}

static int conn_open_watch(Conn *conn, int fd, LoopFd **ret) {
        int r = loop_fd_open(conn->shared->loop, fd, conn_on_ready, conn, ret);

        if (r == -EPERM) { /* a regular file */
                conn->is_unpollable = true;
                return 0;
        }
        return r;
}

/* A peer that waits for its answer seldom says more meanwhile: only when it does the kernel is told that nobody
 * listens, which saves two calls of it for each answer. A frame that has come whole is handled, also when nobody
 * waits for the answer. */
static unsigned conn_wanted_input(const Conn *conn) {
        const bool takes_frames = !conn->has_backlog && !conn->is_throttled;
        const unsigned hangup = conn->fd_in != conn->fd_out ? 0 : LOOP_HANGUP;

        if (conn->saw_eof)
                return 0;
        if (conn->is_finishing)
                return conn->is_unpollable ? 0 : LOOP_READ;
        if (!conn->is_paused)
                return takes_frames ? LOOP_READ | hangup : 0;
        if (conn->n_lent || conn->is_half_closed || !hangup)
                return 0;
        return takes_frames && !conn->is_ahead ? LOOP_READ | hangup : hangup;
}

/* A filter may have to hear something before it can send, or to send something before it can hear. */
static unsigned conn_wanted_room(const Conn *conn) {
        const ConnFilter *filter = conn->filter;

        if (filter && filter->wants_room && !conn->saw_eof)
                return LOOP_WRITE;
        return outq_pending(&conn->out) && !(filter && filter->wants_input) ? LOOP_WRITE : 0;
}

static void conn_watch(Conn *conn) {
        bool is_pair = conn->fd_in != conn->fd_out;
        unsigned in = conn_wanted_input(conn);
        unsigned out = conn_wanted_room(conn);

        if (!conn->watch_in && (in || out) && !conn->is_unpollable &&
            conn_open_watch(conn, conn->fd_in, &conn->watch_in))
                goto failed;
        if (is_pair && !conn->watch_out && out && conn_open_watch(conn, conn->fd_out, &conn->watch_out))
                goto failed;
        if (conn->watch_in)
                loop_fd_watch(conn->watch_in, is_pair ? in : in | out);
        if (is_pair && conn->watch_out)
                loop_fd_watch(conn->watch_out, out);
        if ((conn->is_unpollable && (in & LOOP_READ)) ||
            (conn->filter && conn->filter->has_more && (in & LOOP_READ) && !conn->is_paused) ||
            (conn->has_backlog && !conn->is_paused && !conn->is_throttled && !conn->turn.is_waiting))
                deferred_schedule(&conn->work);
        return;
failed:
        conn_abort(conn, "cannot be watched");
}

void conn_leave(Conn *conn) {
        if (conn->depth > 1) {
                conn->depth--;
                return;
        }
        if (!conn->is_closed)
                conn_flush(conn);
        if (!conn->is_closed)
                charge(conn);
        if (!conn->is_closed)
                conn_watch(conn);
        conn->depth--;
        if (conn->is_closed)
                conn_free(conn);
}

void conn_start(Conn *conn, const Framing *framing, const ConnLimits *limits, const ConnHandler *handler,
                void *user) {
        int64_t ms = limits->handshake_ms ? limits->handshake_ms : limits->idle_ms;

        conn->framing = *framing;
        conn->limits = *limits;
        conn->handler = handler;
        conn->user = user;
        conn->active_ms = loop_now_ms(conn->shared->loop);
        conn_enter(conn);
        conn_input(conn); /* the request is usually there already */
        if (!conn->is_closed && !conn->is_finishing && !conn->has_frame && ms &&
            timer_set(&conn->deadline, ms))
                conn_abort(conn, "out of memory");
        conn_leave(conn);
}

/* ---- use ------------------------------------------------------------------------------------- */

const ConnPeer *conn_peer(const Conn *conn) {
        return &conn->peer;
}

void conn_set_framing(Conn *conn, const Framing *framing) {
        conn->framing = *framing;
        conn->n_scanned = 0;
}

int conn_fault(const Conn *conn) {
        return conn->fault;
}

void conn_reframe(Conn *conn, const Framing *framing) {
        conn_set_framing(conn, framing);
        conn->is_reframed = true;
}

void conn_set_limits(Conn *conn, const ConnLimits *limits) {
        conn->limits = *limits;
        conn->active_ms = loop_now_ms(conn->shared->loop);
        if (conn->has_frame && !conn->is_finishing && !conn->is_closed)
                conn_await_silence(conn);
}

Buf *conn_out(Conn *conn) {
        return &conn->out.tail;
}

int conn_write(Conn *conn, Str bytes) {
        if (conn->is_closed)
                return 0;
        conn_flush_soon(conn);
        return error_trace(buf_append(&conn->out.tail, bytes.data, bytes.n));
}

int conn_give(Conn *conn, Buf *bytes) {
        if (conn->is_closed || bytes->n < CONN_GIVE_MIN)
                return conn_write(conn, buf_str(bytes));
        conn_flush_soon(conn);
        return error_trace(outq_push_buf(&conn->out, bytes));
}

int conn_write_chunk(Conn *conn, Chunk *chunk) {
        if (conn->is_closed)
                return 0;
        conn_flush_soon(conn);
        return error_trace(outq_push_chunk(&conn->out, chunk));
}

void conn_flush_soon(Conn *conn) {
        if (!conn->depth)
                deferred_schedule(&conn->work);
}

void conn_want_drained(Conn *conn) {
        conn->wants_drained = true;
        conn_flush_soon(conn);
}

size_t conn_pending(const Conn *conn) {
        return outq_pending(&conn->out);
}

void conn_pause(Conn *conn) {
        conn->is_paused = true;
}

void conn_end_with_peer(Conn *conn) {
        conn->ends_with_peer = true;
}

void conn_end_with_input(Conn *conn) {
        conn->ends_with_input = true;
}

void conn_send_late(Conn *conn, bool is_late) {
        conn->sends_late = is_late;
}

void conn_resume(Conn *conn) {
        if (!conn->is_paused)
                return;
        conn->is_paused = conn->is_ahead = false;
        if (conn->in.n)
                conn->has_backlog = true;
        if (!conn->depth)
                deferred_schedule(&conn->work);
}

void conn_finish(Conn *conn, const char *reason) {
        if (conn->is_finishing || conn->is_closed)
                return;
        conn->is_finishing = true;
        conn->reason = reason;
        conn_flush_soon(conn);
}

void conn_finish_gently(Conn *conn, const char *reason) {
        conn->is_gentle |= !conn->is_finishing;
        conn_finish(conn, reason);
}

bool conn_is_deaf(const Conn *conn) {
        return conn->is_deaf;
}

bool conn_is_closing(const Conn *conn) {
        return conn->is_closed || conn->is_finishing;
}
