#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Again: what a command that follows something does when the daemon goes away (killed, stopped, upgraded):
 * it says so, waits for the next one, and goes on where it was. It never starts one. With --no-reconnect it
 * ends instead, with CLI_NO_DAEMON. Whether standard output is a terminal makes no difference. Embedded in
 * the command, which knows where it was.
 */
#include "cli/cli.h"
#include "cli/link/connect.h"

typedef struct Again {
        const char *socket;
        pid_t pid; /* of the daemon that was there; 0: not known */
        bool is_off;
} Again;

typedef enum AgainOutcome {
        AGAIN_BACK,
        AGAIN_SIGNAL,  /* one waits at the descriptor */
        AGAIN_REFUSED, /* --no-reconnect; that is said */
} AgainOutcome;

/* link: the one that is followed, with which the daemon's pid is found out. */
void again_init(Again *again, const char *socket, const Link *link, bool is_off);
/* After the end of the connection. fd_signals: readable when there is one; -1: signals end us as they do. */
AgainOutcome again_wait(Again *again, int fd_signals);
