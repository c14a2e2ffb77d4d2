#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Stops the daemon at the other end of a link and waits, within the link's deadline, until it has gone: its
 * process when the kernel tells which one it is, else until nobody listens at the path any more.
 */
#include "cli/link/exchange.h"

typedef enum StopHow {
        STOP_PLAIN,
        STOP_AGENTS,   /* with all that it hosts */
        STOP_KEEP_WEB, /* for the next daemon, which opens its web servers again */
} StopHow;

/* An exit status; unless it is CLI_OK, stderr says why. *ret_answer is that of daemon.shutdown, in the
 * arena; NULL: nothing. *ret_is_passed_on (may be NULL): a service manager has its socket, and starts the
 * next one when somebody connects. */
int stop_daemon(Link *link, const char *path, StopHow how, Arena *arena, int64_t *ret_pid,
                const Json **ret_answer, bool *ret_is_passed_on);
