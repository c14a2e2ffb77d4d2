/* SPDX-License-Identifier: MIT */
#include "cli/link/stop.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process.h"
#include "cli/cli.h"
#include "cli/link/native.h"
#include "cli/print/report.h"

enum { RETRY_MS = 10 };

/* The socket is a service manager's, who has passed it on: who connects to it starts the next daemon. */
static bool stop_is_passed_on(const Link *link, int64_t pid) {
        pid_t peer = link_peer_pid(link); /* 0: of another PID namespace */

        return peer > 0 && peer != pid;
}

/*
 * A handle on the daemon's process, or -1. Only when the kernel and the daemon name the same one, or, behind
 * a socket that was passed on, when that number is a musterd's: in another PID namespace it is not.
 */
static int stop_open_process(const Link *link, int64_t pid) {
        char name[PROCESS_NAME_MAX];

        if (pid <= 0)
                return -1;
        if (pid != link_peer_pid(link)) {
                process_name((pid_t)pid, name);
                if (strcmp(name, "musterd") != 0)
                        return -1;
        }
        return (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
}

static bool stop_await_exit(int pidfd, int64_t deadline_ms) {
        struct pollfd pfd = {.fd = pidfd, .events = POLLIN};
        int n;

        do
                n = poll(&pfd, 1, deadline_left_ms(deadline_ms));
        while (n < 0 && errno == EINTR);
        return n == 1;
}

/* Without a handle: the connection ends, and nobody listens any more, if that can be looked at. */
static bool stop_await_silence(Link *link, const char *path, bool is_passed_on, int64_t deadline_ms) {
        Str rest;

        while (!link_receive(link, FRAMING_RAW, &rest))
                ;
        for (;;) {
                _cleanup_(link_deinit) Link probe = LINK_NULL;

                if (is_passed_on || link_open(&probe, path, deadline_ms) == LINK_E_ABSENT)
                        return true;
                if (deadline_left_ms(deadline_ms) == 0)
                        return false;
                poll(NULL, 0, RETRY_MS);
        }
}

static Json *stop_arguments(Arena *arena, StopHow how) {
        Json *args = json_new(arena, JSON_OBJECT), *truth = json_new_bool(arena, true);
        Str name = how == STOP_AGENTS ? STR("stop_agents") : STR("keep_web");

        if (how == STOP_PLAIN)
                return args;
        return args && truth && !json_set(arena, args, name, truth) ? args : NULL;
}

/* The handle is opened while the daemon is known to live, and the same connection then carries the request
 * to stop. */
int stop_daemon(Link *link, const char *path, StopHow how, Arena *arena, int64_t *ret_pid,
                const Json **ret_answer, bool *ret_is_passed_on) {
        _cleanup_(closep) int pidfd = -1;
        const Json *answer, *args = stop_arguments(arena, how);
        bool is_gone, is_passed_on;
        int r = native_call(link, path, "daemon.info", arena, &answer);

        if (!args)
                return complain(CLI_FAILED, "out of memory");

        *ret_pid = answer ? info_pid(answer) : link_peer_pid(link);
        if (answer) {
                pidfd = stop_open_process(link, *ret_pid);
                r = native_call_with(link, path, "daemon.shutdown", args, arena, &answer);
        }
        if (r)
                return r;
        is_passed_on = stop_is_passed_on(link, *ret_pid);
        *ret_answer = answer;
        is_gone = pidfd >= 0 ? stop_await_exit(pidfd, link->deadline_ms)
                             : stop_await_silence(link, path, is_passed_on, link->deadline_ms);
        if (!is_gone)
                return complain(CLI_TIMEOUT, "musterd (pid %lld) is still stopping", (long long)*ret_pid);
        if (ret_is_passed_on)
                *ret_is_passed_on = is_passed_on;
        return CLI_OK;
}
