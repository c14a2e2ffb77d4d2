#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Makes sure that a daemon answers on the native socket: finds the one that runs, or starts one and explains
 * what went wrong if it does not come up. Everything it says goes to stderr.
 */
#include "cli/link/exchange.h"

typedef struct Start {
        char *home, *socket, *log_path; /* by place.h */
        pid_t pid;                      /* of the daemon that was started; 0: one was running */
        const Json *info; /* what daemon.info answered; NULL: musterd's flags leave the native socket out */
        Link link;        /* that was asked through */
        Arena arena;
} Start;

#define START_NULL                                                                                          \
        {                                                                                                   \
                .link = {.fd = -1 }                                                                         \
        }

/* CLI_OK or another exit status. flags are musterd's. */
int start_daemon(Start *start, char **flags, int n_flags, int64_t wait_ms);
void start_deinit(Start *start);
