#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Follow: the output of a hosted terminal for who only reads: what was printed before, then what comes.
 *
 * The daemon sends the past twice (in its answer and again as the stream's first bytes) and, after a reader
 * fell behind, the screen as it is; here each byte that was printed comes once, and what is lost is counted.
 * That holds over the end of the daemon as well: the next one is waited for and asked from where we were.
 * The past of a process that was started in the place of another begins with the other's: what is new is
 * found by the last bytes that were given out. Owned by the command, together with the Coop that it reads
 * from.
 */
#include "cli/link/again.h"
#include "cli/link/coop.h"
#include "cli/term/signals.h"
#include "cli/term/stream.h"

enum { FOLLOW_SHOWN = 4096 };

typedef struct Follow {
        Coop *coop;
        Signals signals; /* those that end it */
        int idle_ms;     /* how long to wait for something to happen; -1: as long as it takes */
        Again again;
        int64_t pty;
        bool is_over;      /* the process has ended, and nothing was said about another one */
        bool is_gone;      /* the daemon lets us go */
        char process[20];  /* whose output it is; empty: not known */
        uint64_t position; /* in its output */
        Buf past;
        Buf shown;         /* the last bytes that were given out, at most FOLLOW_SHOWN */
        Str pending;       /* of the last frame */
        Arena arena;       /* of the last event */
        uint64_t n_skip;   /* bytes of output that are known already */
        uint64_t n_missed; /* > 0: so much is lost, and the next frame is the screen */
} Follow;

#define FOLLOW_NULL                                                                                         \
        { .signals = SIGNALS_NULL, .idle_ms = -1 }

typedef enum FollowKind {
        FOLLOW_OUTPUT,
        FOLLOW_LOST,   /* bytes are missing here */
        FOLLOW_EVENT,  /* exited, restarting */
        FOLLOW_IDLE,   /* nothing came */
        FOLLOW_SIGNAL, /* TERM, HUP, INT or QUIT */
        FOLLOW_END,    /* of the process */
        FOLLOW_FAILED, /* number: exit status; why is said */
} FollowKind;

typedef struct FollowItem {
        FollowKind kind;
        Str bytes;         /* FOLLOW_OUTPUT; until the next call */
        uint64_t n_lost;   /* FOLLOW_LOST */
        StreamEvent event; /* FOLLOW_EVENT */
        int number;        /* FOLLOW_SIGNAL, FOLLOW_FAILED */
} FollowItem;

/* Asks for the chosen session. Returns an exit status; unless it is CLI_OK, stderr says why. */
int follow_open(Follow *follow, Coop *coop, const Options *options);
void follow_deinit(Follow *follow);
/* Fails as the Link does. */
int follow_next(Follow *follow, FollowItem *ret);
/* log_data of the last answer. Returns an exit status. */
int follow_past(Coop *coop, Buf *out);
/* The last n lines; a last line without its end counts. */
Str last_lines(Str text, int64_t n);
