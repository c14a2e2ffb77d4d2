#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Relay: the one loop between a terminal and a connection in stream mode.
 *
 *   keyboard ──read──► to_daemon   ──write─► socket    With RELAY_BOUND bytes waiting it reads no more: a
 *   screen   ◄─write── to_terminal ◄──read── socket    paste waits in the terminal, output in the daemon.
 *
 * Nothing is reordered here, and nothing dropped but what Queries takes out. Ends with the keys that leave,
 * the end of stdin, the end of the process, of the connection or of the terminal, or a signal; the outcome
 * says which. SIGPIPE must be ignored. Puts nothing right at the end: that is for the owner of the Terminal.
 */
#include "cli/term/detach.h"
#include "cli/term/signals.h"
#include "cli/term/terminal.h"

enum { RELAY_BOUND = 256 * 1024 };

typedef struct RelaySpec {
        Terminal *terminal;     /* in raw mode */
        Signals *signals;       /* with RELAY_SIGNALS */
        int socket;             /* does not block */
        Str arrived;            /* what was read from it already */
        const DetachKeys *keys; /* that leave */
        const char *name;       /* of what muster kill ends, without controls; NULL: that is not told */
        bool is_read_only;
        bool is_raw;    /* every byte passes: also the clipboard's, and questions asked before */
        int64_t n_past; /* bytes at the beginning that were printed before; -1: the first frame */
} RelaySpec;

#define RELAY_SIGNALS                                                                                       \
        { SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT }

typedef enum RelayEnd {
        RELAY_DETACHED,
        RELAY_ABANDONED, /* detached, but without the daemon's word: what was typed last may be lost */
        RELAY_DISMISSED, /* the daemon let us go: it stops */
        RELAY_EXITED,    /* value: exit code */
        RELAY_LOST,      /* the connection broke */
        RELAY_SIGNAL,    /* value: its number */
        RELAY_FAILED,    /* value: errno; of the terminal, or memory */
} RelayEnd;

typedef struct RelayOutcome {
        RelayEnd end;
        int value;
} RelayOutcome;

RelayOutcome relay(const RelaySpec *spec);
