/* SPDX-License-Identifier: MIT */
#include "cli/link/stop.h"

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/link/native.h"
#include "cli/print/report.h"

enum { RETRY_MS = 10 };

/*
 * A handle on the daemon's process, or -1. Only when the kernel and the daemon name the same one: behind a
 * socket that was passed on, or in another PID namespace, they do not.
 */
static int stop_open_process(const Link *link, int64_t pid) {
        return pid > 0 && pid == link_peer_pid(link) ? (int)syscall(SYS_pidfd_open, (pid_t)pid, 0) : -1;
}

static bool stop_await_exit(int pidfd, int64_t deadline_ms) {
        struct pollfd pfd = {.fd = pidfd, .events = POLLIN};
        int n;

        do
                n = poll(&pfd, 1, deadline_left_ms(deadline_ms));
        while (n < 0 && errno == EINTR);
        return n == 1;
}

/* Without a handle: the connection ends, and nobody listens any more. */
static bool stop_await_silence(Link *link, const char *path, int64_t deadline_ms) {
        Str rest;

        while (!link_receive(link, FRAMING_RAW, &rest))
                ;
        for (;;) {
                _cleanup_(link_deinit) Link probe = LINK_NULL;

                if (link_open(&probe, path, deadline_ms) == LINK_E_ABSENT)
                        return true;
                if (deadline_left_ms(deadline_ms) == 0)
                        return false;
                poll(NULL, 0, RETRY_MS);
        }
}

static Json *stop_arguments(Arena *arena, bool stop_agents) {
        Json *args = json_new(arena, JSON_OBJECT), *truth = json_new_bool(arena, true);

        if (!stop_agents)
                return args;
        return args && truth && !json_set(arena, args, STR("stop_agents"), truth) ? args : NULL;
}

/* The handle is opened while the daemon is known to live, and the same connection then carries the request
 * to stop. */
int stop_daemon(Link *link, const char *path, bool stop_agents, Arena *arena, int64_t *ret_pid,
                const Json **ret_tasks) {
        _cleanup_(closep) int pidfd = -1;
        const Json *answer, *args = stop_arguments(arena, stop_agents);
        bool is_gone;
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
        *ret_tasks = json_get(answer, "tasks");
        is_gone = pidfd >= 0 ? stop_await_exit(pidfd, link->deadline_ms)
                             : stop_await_silence(link, path, link->deadline_ms);
        if (!is_gone)
                return complain(CLI_TIMEOUT, "musterd (pid %lld) is still stopping", (long long)*ret_pid);
        return CLI_OK;
}
