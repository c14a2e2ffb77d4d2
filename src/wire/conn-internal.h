#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The inside of a Conn, shared by conn.c (life, output, deadlines) and conn-input.c (reading, cutting into
 * frames).
 */
#include "wire/conn.h"

struct Conn {
        ConnShared *shared;
        int fd_in, fd_out; /* the same for sockets */
        LoopFd *watch_in, *watch_out;
        ConnFilter *filter; /* NULL: none */
        ConnPeer peer;
        Account *account;
        Conn *account_next, **account_link;
        Share *share;    /* of its process */
        bool is_evicted; /* its place in the account is somebody else's */
        size_t n_charged;
        size_t n_held;    /* bytes that others hold for it */
        size_t n_waiting; /* … and a call of it that waits */
        size_t n_lent;    /* bytes of a frame that was taken out, and what was made of them */

        Framing framing;
        ConnLimits limits;
        const ConnHandler *handler;
        void *user;

        Buf in;           /* bytes of frames that are not whole yet, or not handled yet */
        size_t n_scanned; /* of those, known to hold no frame end */
        size_t n_frame;   /* bytes of `in` that are being handled … */
        size_t n_taken;   /* … and were taken out of it meanwhile */
        OutQ out;

        Turn turn;      /* in line: no frame is handed out until it is our turn */
        bool has_turn;  /* … which it is: for one frame */
        bool is_secret; /* conn_keep_secret() */
        bool is_paused;
        bool is_ahead;        /* … and the peer has said more meanwhile */
        bool ends_with_peer;  /* conn_end_with_peer() */
        bool ends_with_input; /* conn_end_with_input() */
        bool sends_late;      /* conn_send_late() */
        bool is_reframed;     /* the frame being handled is to be cut again */
        bool has_backlog;     /* whole frames may wait in `in`: handle them before reading more */
        bool is_throttled;    /* output above high water, not yet below low water */
        bool is_unpollable;   /* a regular file: always readable, never watched */
        bool has_frame;       /* the first whole frame has come */
        bool saw_eof, told_eof;
        bool is_half_closed; /* the peer ended its sending while we were paused; the end is not read yet */
        bool is_deaf;        /* the peer takes nothing any more */
        bool wants_drained;
        int fault;         /* the framing gave up on the input: FRAMING_E_TOO_LARGE or _WRONG */
        bool is_finishing; /* send what is queued, then close */
        bool is_gentle;    /* … and the peer's end is awaited before that */
        bool is_draining;  /* … which takes long: there is a deadline on it */
        bool is_lingering; /* everything sent; dropping what the peer still sends */
        bool is_closed;    /* the descriptors are gone; only `closed` is left to be told */
        unsigned depth;    /* > 0: one of our own functions is on the stack and will tidy up */
        size_t n_lingered; /* bytes of input that were dropped because it is finishing */
        int64_t active_ms;
        const char *reason;

        Timer deadline;
        Deferred work; /* go on with the backlog, flush, or tidy up */
};

void conn_on_turn(Turn *turn);
/* Handles what is in `in`, then reads once and handles that. */
void conn_input(Conn *conn);
/* The first frame has come: from now on only the idle deadline counts, if there is one. */
void conn_await_silence(Conn *conn);
void conn_enter(Conn *conn);
/* Flushes, watches what is wanted, and frees the connection when it is closed: conn may be gone afterwards.
 */
void conn_leave(Conn *conn);
