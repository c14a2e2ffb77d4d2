#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What the tests of hosting share: daemons that have one hosted process and store what it prints in two files,
 * `0` and `1` of the world's folder. Each is a process of its own, so that it can be killed at any time; the
 * test asks and learns through memory that both have. The length of a file is the position from which the next
 * daemon reads on.
 */
#include <stdatomic.h>

#include "base/test-cmocka.h"
#include "core/host/host.h"

enum { KEEP_RING = 256 << 10 }; /* bytes of each ring */

typedef enum KeepAsk {
        KEEP_ASK_NOTHING,
        KEEP_ASK_CLOSE_INPUT,
        KEEP_ASK_DISCARD,
        KEEP_ASK_FORGET,
        KEEP_ASK_FREE, /* all is stored from now on, at once */
        KEEP_ASK_STOP, /* see keep_stop() */
} KeepAsk;

/* Shared by the test and the daemon of the moment. */
typedef struct KeepBook {
        _Atomic int state; /* HostedState; -1: nothing was told yet */
        _Atomic int exit_code;
        _Atomic int error; /* of the start */
        _Atomic int ask, answer;
        _Atomic uint64_t n_most; /* bytes of stdout that were in the ring and not kept, at most */
        char text[400];          /* hosted_start_error() */
} KeepBook;

typedef struct KeepWorld {
        char home[64];
        char self[400]; /* this program */
        KeepBook *book;
        pid_t daemon; /* 0: none */
} KeepWorld;

/* What a daemon does. Zero: it adopts, and stores everything at once. */
typedef struct KeepPlan {
        const char *argv[6]; /* to be started; none: one is adopted */
        const char *stdin_path;
        bool has_input;
        size_t n_input;    /* written to it: bytes of stream 0 */
        size_t n_piece;    /* > 0: at most so much is stored in a millisecond */
        bool keeps_not[2]; /* nothing of this stream is stored before KEEP_ASK_FREE */
} KeepPlan;

int keep_setup(void **state);
int keep_teardown(void **state);
void keep_start(KeepWorld *w,
                const KeepPlan *plan);   /* the daemon; returns when it has its process, or failed */
void keep_kill(KeepWorld *w);            /* the daemon, with SIGKILL */
void keep_stop(KeepWorld *w);            /* the daemon, in an orderly way: the process runs on */
int keep_ask(KeepWorld *w, KeepAsk ask); /* returns its answer */
/* Fails the test when the daemon does not get there. */
void keep_wait_state(KeepWorld *w, HostedState state);
/* All that is in a file is what keep_print() makes; returns its length. */
size_t keep_check(const KeepWorld *w, int stream);
size_t keep_length(const KeepWorld *w, int stream);
/* Of the one folder of a process that there is; false: there is none. */
bool keep_folder(const KeepWorld *w, char *ret, size_t n);
ShimRecord keep_record(const KeepWorld *w);
uint64_t keep_ring_end(const KeepWorld *w, int stream);

/* Bytes of a stream from a position on: any of 256, the same each time. */
void keep_bytes(int stream, uint64_t position, char *ret, size_t n);
void keep_print(int stream, uint64_t n); /* in a program that is hosted */

/* Looks again until it is so; a minute and more for a loaded machine. */
#define KEEP_EVENTUALLY(condition)                                                                          \
        do {                                                                                                \
                int64_t limit_ = keep_now_ms() + 120000;                                                    \
                while (!(condition))                                                                        \
                        if (keep_now_ms() > limit_)                                                         \
                                fail_msg("never: %s", #condition);                                          \
                        else                                                                                \
                                keep_nap();                                                                 \
        } while (0)
int64_t keep_now_ms(void);
void keep_nap(void); /* two milliseconds */

#define keep_test(name) cmocka_unit_test_setup_teardown(name, keep_setup, keep_teardown)
