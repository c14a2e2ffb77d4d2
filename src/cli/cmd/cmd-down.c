/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/link/find.h"
#include "cli/link/native.h"
#include "cli/print/report.h"

enum { WAIT_MS = 15000, RETRY_MS = 10 };

/*
 * A handle on the daemon's process, or -1. Only when the kernel and the daemon name the same one: behind a
 * socket that was passed on, or in another PID namespace, they do not.
 */
static int process_open(const Link *link, int64_t pid) {
        return pid > 0 && pid == link_peer_pid(link) ? (int)syscall(SYS_pidfd_open, (pid_t)pid, 0) : -1;
}

static bool await_exit(int pidfd, int64_t deadline_ms) {
        struct pollfd pfd = {.fd = pidfd, .events = POLLIN};
        int n;

        do
                n = poll(&pfd, 1, deadline_left_ms(deadline_ms));
        while (n < 0 && errno == EINTR);
        return n == 1;
}

/* Without a handle: the connection ends, and nobody listens any more. */
static bool await_silence(Link *link, const char *path, int64_t deadline_ms) {
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

/* The handle is opened while the daemon is known to live, and the same connection then carries the request
 * to stop. */
static Json *arguments(Arena *arena, bool stop_agents) {
        Json *args = json_new(arena, JSON_OBJECT), *truth = json_new_bool(arena, true);

        if (!stop_agents)
                return args;
        return args && truth && !json_set(arena, args, STR("stop_agents"), truth) ? args : NULL;
}

/* Of what it answered nothing outlives the arena. */
static int stop(Link *link, const char *path, bool stop_agents, Arena *arena, int64_t *ret_pid,
                const Json **ret_tasks) {
        _cleanup_(closep) int pidfd = -1;
        const Json *answer, *args = arguments(arena, stop_agents);
        bool is_gone;
        int r = native_call(link, path, "daemon.info", arena, &answer);

        if (!args)
                return complain(CLI_FAILED, "out of memory");

        *ret_pid = answer ? info_pid(answer) : link_peer_pid(link);
        if (answer) {
                pidfd = process_open(link, *ret_pid);
                r = native_call_with(link, path, "daemon.shutdown", args, arena, &answer);
        }
        if (r)
                return r;
        *ret_tasks = json_get(answer, "tasks");
        is_gone = pidfd >= 0 ? await_exit(pidfd, link->deadline_ms)
                             : await_silence(link, path, link->deadline_ms);
        if (!is_gone)
                return complain(CLI_TIMEOUT, "musterd (pid %lld) is still stopping", (long long)*ret_pid);
        return CLI_OK;
}

/* What it hosted may run on: that cannot be ended without it. */
static void tell_absent(void) {
        size_t n = find_running();

        printf("no daemon is running, nothing to stop\n");
        if (n)
                printf("%zu hosted %s on without it; to end them: muster up, then muster down "
                       "--stop-agents\n",
                       n, n == 1 ? "process runs" : "processes run");
}

static void tell(const Options *options, bool was_running, int64_t pid, const Json *tasks) {
        if (options->json) {
                printf("{\"stopped\":%s,\"pid\":%lld", was_running ? "true" : "false", (long long)pid);
                if (tasks)
                        printf(",\"tasks\":" STR_FMT, STR_ARG(json_raw(tasks)));
                printf("}\n");
        } else if (was_running) {
                printf("musterd stopped, pid %lld\n", (long long)pid);
                tasks_print(stdout, tasks);
        } else
                tell_absent();
}

int cmd_down(const Options *options) {
        _cleanup_(link_deinit) Link link = LINK_NULL;
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(freep) char *path = find_socket();
        const Json *tasks = NULL;
        int64_t pid = 0, wait_ms = options->wait_ms < 0 ? WAIT_MS : options->wait_ms;
        int r;

        if (!path)
                return complain(CLI_FAILED, "cannot tell where the daemon's socket is: is HOME set?");
        r = link_open(&link, path, clock_ms() + wait_ms);
        if (r && r != LINK_E_ABSENT)
                return link_complain(r, path);
        if (!r) {
                int status = stop(&link, path, options->stop_agents, &arena, &pid, &tasks);

                if (status)
                        return status;
        }
        tell(options, r == 0, pid, tasks);
        return CLI_OK;
}
