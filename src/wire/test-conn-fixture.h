#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What the tests of connections share: a bench that stands for the daemon, links that are connections with a
 * peer and a record of what their handler was told, and a few hooks for that handler.
 */
#include "base/test-cmocka.h"
#include "base/loop/loop.h"
#include "wire/conn.h"

/* What a daemon would own, with the clock stopped. */
typedef struct Bench {
        Loop *loop;
        Accounts accounts;
        ConnShared shared;
        int n_freed; /* calls of fd_freed */
        size_t n_fds;
} Bench;

/* One connection, what its handler was told, and its peer. */
typedef struct Link Link;
struct Link {
        Bench *bench;
        Conn *conn;
        Account *account;
        int peer_out, peer_in; /* the same for sockets */
        void (*on_frame)(Link *link, Str frame);
        void (*on_eof)(Link *link);
        void (*on_oversize)(Link *link);
        void (*on_drained)(Link *link);
        Link *other; /* for the hooks */
        Framing next_framing;
        size_t n_answer; /* bytes written for each frame by answer() */

        Buf frames; /* each with a '|' behind it */
        int n_frames, n_eof, n_oversize, n_drained, n_closed;
        Buf rest;
        const char *reason;
        Buf heard; /* by the peer */
        bool heard_end;
        int hear_error;
};

extern const Framing lines, short_lines, lengths, raw; /* up to 1 MiB, 100 bytes, 1 MiB, anything */
extern const ConnLimits plain;

/* Of every test. The second fails it when a connection, a charge or a descriptor is left. */
int make_bench(void **state);
int check_bench(void **state);

void turns(Bench *bench, int n);
void turn_after(Bench *bench, int64_t ms);
void assert_sleeps(Bench *bench); /* left alone for a while, the loop waits: nothing keeps it busy */

/* A connection over a socket pair, over two pipes as stdin and stdout are, or over what is given. */
void link_open(Link *link, Bench *bench);
void link_open_pipes(Link *link, Bench *bench);
void link_new(Link *link, Bench *bench, int fd_in, int fd_out);
void link_start(Link *link, const Framing *framing, const ConnLimits *limits);
void link_begin(Link *link, Bench *bench); /* open and start, with lines and plain limits */
void link_end(Link *link);                 /* closes it if need be; its handler was told exactly once */

/* What the peer does. Saying lets the connection have its turns while the kernel's queue is full. */
void peer_says(Link *link, const char *data, size_t n);
void peer_says_text(Link *link, const char *text);
void peer_hears(Link *link); /* reads what is there */
void hear_until(Link *link, size_t n);
void peer_ends(Link *link); /* its side only */
void peer_goes(Link *link);

void assert_frames(Link *link, const char *frames);
void assert_closed(const Link *link, const char *reason);

/* Hooks. */
void answer(Link *link, Str frame); /* writes n_answer bytes */
void pause_here(Link *link, Str frame);
void choose_framing(Link *link, Str frame); /* by the first byte of the first frame */

#define conn_test(name) cmocka_unit_test_setup_teardown(name, make_bench, check_bench)
