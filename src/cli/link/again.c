/* SPDX-License-Identifier: MIT */
#include "cli/link/again.h"

#include <poll.h>

#include "cli/link/exchange.h"
#include "cli/print/report.h"

/* A daemon that stops may still answer for a moment; one that goes on has only dropped this connection. */
enum { AGAIN_LOOK_MS = 100, AGAIN_ANSWER_MS = 5000, AGAIN_SAME_MS = 3000 };

void again_init(Again *again, const char *socket, const Link *link, bool is_off) {
        *again = (Again){.socket = socket, .pid = link_peer_pid(link), .is_off = is_off};
}

/* The pid of the daemon that answers; 0: none does. */
static pid_t again_ask(const Again *again) {
        _cleanup_(link_deinit) Link link = LINK_NULL;
        const Request request = {.dialect = "native", .op = "daemon.info"};
        Arena arena = ARENA_NULL;
        Reply reply = {0};
        pid_t pid = 0;

        if (!link_open(&link, again->socket, clock_ms() + AGAIN_ANSWER_MS) &&
            !exchange(&link, &request, &arena, &reply) && !reply.is_error)
                pid = link_peer_pid(&link);
        arena_deinit(&arena);
        return pid;
}

AgainOutcome again_wait(Again *again, int fd_signals) {
        struct pollfd pfd = {.fd = fd_signals, .events = POLLIN};
        int64_t since_ms = clock_ms();

        if (again->is_off) {
                complain(CLI_NO_DAEMON, "the daemon has gone");
                return AGAIN_REFUSED;
        }
        advise("[the daemon has gone; waiting for the next one]");
        for (;;) {
                pid_t pid = again_ask(again);

                if (pid && (pid != again->pid || clock_ms() - since_ms >= AGAIN_SAME_MS)) {
                        again->pid = pid;
                        advise("[the daemon is back]");
                        return AGAIN_BACK;
                }
                if (poll(&pfd, 1, AGAIN_LOOK_MS) > 0)
                        return AGAIN_SIGNAL;
        }
}
