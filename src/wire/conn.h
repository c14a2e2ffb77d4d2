#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Conn: one byte-stream connection (Unix, TCP or a pair of stdio descriptors) with framing and bounded
 * queues.
 *
 * Input is cut into frames and handed to the handler, at most CONN_TURN_FRAMES per turn so that a flooding
 * peer shares the loop. Output is collected and sent once per turn. Bounds and their consequences:
 *
 *   input    one frame of at most framing.n_max bytes      over it, or no frame at all: handler->oversize
 *   output   high water                                    input is not read until it is below low water
 *   both     quota of the peer's account                   closed, reason "quota of the peer used up"
 *   linger   CONN_LINGER_MS, CONN_LINGER_BYTES             closed, what the peer still sends is lost
 *   output   hard limit                                    the connection is closed, reason "slow reader"
 *   time     handshake_ms until the first whole frame      closed, reason "handshake timeout"
 *   time     CONN_DRAIN_MS to take the last bytes          closed, the rest is lost
 *   time     a long line, or a peer over its share         waits in line (wire/turns.h)
 *   time     idle_ms without a byte in either direction    closed, reason "idle"
 *
 * A Conn knows no envelope and no operation. Closing is deferred: handler->closed is the last call, made
 * from the loop, and the Conn is freed after it. Owned by the Listener's user (a Client).
 */
#include "base/loop/loop.h"
#include "wire/account.h"
#include "wire/address.h"
#include "wire/framing.h"
#include "wire/outq.h"
#include "wire/turns.h"

typedef struct Conn Conn;

enum {
        CONN_READ_MAX = 64 * 1024,    /* bytes taken from the kernel per turn */
        CONN_GIVE_MIN = 16 * 1024,    /* less is copied by conn_give() */
        CONN_TURN_FRAMES = 64,        /* frames handled per turn */
        CONN_TURN_BYTES = 256 * 1024, /* bytes of frames handled per turn */
        CONN_DRAIN_MS = 10000,        /* how long a finished connection may take to send what is queued */
        CONN_LINGER_MS = 2000, /* how long bytes of a peer that is still sending are read and dropped */
        CONN_LINGER_BYTES = 64 * 1024 * 1024,
};

typedef struct ConnLimits {
        size_t high_water, low_water, hard_limit; /* bytes of output */
        int64_t handshake_ms, idle_ms;            /* 0: none */
} ConnLimits;

typedef struct ConnPeer {
        bool is_remote;     /* TCP */
        pid_t pid;          /* Unix: of the process that connected; 0 otherwise */
        uid_t uid;          /* also of a TCP connection within this machine */
        bool is_local_tcp;  /* such a one */
        uint32_t address;   /* TCP: address_number() … */
        struct in6_addr ip; /* … of this (wire/address.h) */
} ConnPeer;

typedef struct ConnHandler {
        void (*frame)(void *user, Str frame);
        void (*eof)(void *user, Str rest); /* the peer ended its side; rest: bytes of an unfinished frame */
        void (*oversize)(void *user);      /* or what is no frame: conn_fault() */
        void (*drained)(void *user);       /* asked for with conn_want_drained(); may be NULL */
        void (*closed)(void *user, const char *reason);
} ConnHandler;

/* Per-daemon parts that connections share. */
typedef struct ConnShared {
        Loop *loop;
        char *read_buffer; /* CONN_READ_MAX bytes */
        uint64_t n_accepted, n_closed;
        size_t n_open;
        Turns *turns;                 /* NULL: nobody waits in line */
        void (*fd_freed)(void *user); /* a descriptor came back: listeners may go on */
        void *user;
} ConnShared;

/*
 * ConnFilter: what stands between the socket of a Conn and its bytes, TLS (wire/tls.h). Whoever makes one embeds it. A Conn without one does not
 * know that there are any.
 */
typedef struct ConnFilter ConnFilter;
struct ConnFilter {
        int (*attach)(ConnFilter *filter, int fd); /* the socket stays the Conn's */
        /* As recv(2): bytes; 0: the end; -EAGAIN; another negative number: it is broken. */
        ssize_t (*receive)(ConnFilter *filter, char *to, size_t n);
        ssize_t (*send)(void *filter, const struct iovec *vectors,
                        size_t n);       /* the same: bytes that were taken */
        void (*end)(ConnFilter *filter); /* nothing more will be sent */
        ConnFilter *(*free)(ConnFilter *filter);
        size_t n_bytes;   /* of memory that it takes: counts towards the quota of the peer */
        bool has_more;    /* bytes that can be had without the socket having any */
        bool wants_room;  /* receive() goes on when the socket can be written to */
        bool wants_input; /* send() goes on when something has come */
};

/* Takes both descriptors (the same one twice for sockets) and the account. */
int conn_new(Conn **ret, ConnShared *shared, int fd_in, int fd_out, const ConnPeer *peer, Account *account);
/* Begins: reads what is there already, then waits. The handler may be called from inside. */
void conn_start(Conn *conn, const Framing *framing, const ConnLimits *limits, const ConnHandler *handler,
                void *user);

/* Before it is started, of a socket. Takes the filter, also when it fails. */
int conn_set_filter(Conn *conn, ConnFilter *filter);

const ConnPeer *conn_peer(const Conn *conn);
/* A pidfd of the process that connected, the caller's to close: unlike its number it cannot become another
 * process's. -ENOPROTOOPT: this kernel has none (before 6.5); other errors: the process is gone. */
int conn_peer_pidfd(const Conn *conn);
/* Inside handler->oversize: FRAMING_E_TOO_LARGE, or FRAMING_E_WRONG for bytes that the framing cannot have. */
int conn_fault(const Conn *conn);
void conn_set_framing(Conn *conn, const Framing *framing); /* from the next frame on */
/* Hands the frame being handled out once more, cut by this framing (only from inside handler->frame). */
void conn_reframe(Conn *conn, const Framing *framing);
void conn_set_limits(Conn *conn, const ConnLimits *limits);

/* The buffer that replies are written into; follow with conn_flush_soon() (not needed inside
 * handler->frame). */
Buf *conn_out(Conn *conn);
int conn_write(Conn *conn, Str bytes);
int conn_give(Conn *conn, Buf *bytes); /* the same, but the buffer may be taken instead of copied */
int conn_write_chunk(Conn *conn, Chunk *chunk);
void conn_flush_soon(Conn *conn);
/* handler->drained is told once, when no more than low_water bytes are queued. */
void conn_want_drained(Conn *conn);
size_t conn_pending(const Conn *conn); /* bytes not sent yet */
/* How much its user holds back for it in memory of its own: that counts as if it were queued here, towards
 * the hard limit and the quota of the peer. False: it was too much, and the connection is closed. */
bool conn_set_held(Conn *conn, size_t n_bytes);

/* From inside handler->frame or eof: takes the bytes of the frame being handled over, with the memory that
 * they are in; the caller pauses. -EINVAL: the frame is not kept here (a short one). */
int conn_take_frame(Conn *conn, Str frame, Buf *ret);
/* How much is held because of frames that were taken: counts towards the quota of the peer only. */
void conn_set_lent(Conn *conn, size_t n_bytes);
/* The same of a call that waits. It goes on when the connection is closed, and is not charged any more then:
 * it ends by itself. */
void conn_set_waiting(Conn *conn, size_t n_bytes);
uint32_t conn_turn_peer(const Conn *conn); /* for turns.h */

/* No frame is handed out between pause and resume; input stays bounded meanwhile. */
void conn_pause(Conn *conn);
void conn_resume(Conn *conn);
/* For a terminal, which may pause for as long as its program does not read: when the peer is gone meanwhile the
 * connection is closed at once. Otherwise what the peer said before it went is handled first. */
void conn_end_with_peer(Conn *conn);
/* For an answer that has no end: a peer that has ended its sending has gone. */
void conn_end_with_input(Conn *conn);
/* What was answered in a turn of the loop leaves at its end, with the answers of the other connections that want that: a
 * peer that serves many of them is woken once, not once for each. For answers that cost more than a wake-up. */
void conn_send_late(Conn *conn, bool is_late);
/* What comes and goes may be secret: from now on none of it stays in memory of the connection once it was handed out or
 * sent, nor in the buffer that all of them read into. Replies that grow have to be reserved at once (conn_out()). */
void conn_keep_secret(Conn *conn);
/* Sends what is queued, then closes; reads and drops what the peer is still sending, within bounds. */
void conn_finish(Conn *conn, const char *reason);
/* The same for a peer that may be about to send something and has to get the last bytes all the same: its end is
 * awaited, for at most CONN_LINGER_MS. */
void conn_finish_gently(Conn *conn, const char *reason);
/* Closes as soon as the current callback has returned; queued output is lost. */
void conn_abort(Conn *conn, const char *reason);
/* Makes room for a process in a full account: the oldest connection of the one that has most goes, unless a
 * call of it is under way. False: it has most itself, or there is none. */
bool conn_evict(Account *account, uint32_t peer);
bool conn_is_closing(const Conn *conn);
/* The peer takes nothing any more; what it has said is still being handled. */
bool conn_is_deaf(const Conn *conn);
