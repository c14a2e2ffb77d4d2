/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/json/json.h"
#include "cli/cli.h"
#include "cli/link/find.h"
#include "cli/link/native.h"
#include "cli/link/stop.h"
#include "cli/print/report.h"

enum { WAIT_MS = 15000 };

/* What it hosted may run on: that cannot be ended without it. */
static void tell_absent(void) {
        size_t n = find_running();

        print("no daemon is running, nothing to stop\n");
        if (n)
                print("%zu hosted %s on without it; to end them: muster up, then muster down "
                      "--stop-agents\n",
                      n, n == 1 ? "process runs" : "processes run");
}

static void down_tell_processes(const Json *processes) {
        bool are_ended = false;
        int64_t n = 0;

        (void)json_int64(json_get(processes, "running"), &n);
        (void)json_bool(json_get(processes, "ended"), &are_ended);
        if (n)
                print("agents and shells %s: %lld\n",
                      are_ended ? "ended" : "that run on for the next daemon", (long long)n);
}

static void down_tell(const Options *options, bool was_running, int64_t pid, const Json *answer) {
        const Json *tasks = json_get(answer, "tasks"), *processes = json_get(answer, "processes");

        if (options->json) {
                print("{\"stopped\":%s,\"pid\":%lld", was_running ? "true" : "false", (long long)pid);
                if (processes) /* an older daemon does not say */
                        print(",\"processes\":" STR_FMT, STR_ARG(json_raw(processes)));
                if (tasks)
                        print(",\"tasks\":" STR_FMT, STR_ARG(json_raw(tasks)));
                print("}\n");
        } else if (was_running) {
                print("musterd stopped, pid %lld\n", (long long)pid);
                down_tell_processes(processes);
                tasks_print(stdout, tasks);
        } else
                tell_absent();
}

int cmd_down(const Options *options) {
        _cleanup_(link_deinit) Link link = LINK_NULL;
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(freep) char *path = find_socket();
        const Json *answer = NULL;
        bool is_passed_on = false;
        int64_t pid = 0, wait_ms = options->wait_ms < 0 ? WAIT_MS : options->wait_ms;
        int r;

        if (!path)
                return complain(CLI_FAILED, "cannot tell where the daemon's socket is: is HOME set?");
        r = link_open(&link, path, clock_ms() + wait_ms);
        if (r && r != LINK_E_ABSENT)
                return link_complain(r, path);
        if (!r) {
                int status = stop_daemon(&link, path, options->stop_agents ? STOP_AGENTS : STOP_PLAIN,
                                         &arena, &pid, &answer, &is_passed_on);

                if (status)
                        return status;
        }
        down_tell(options, r == 0, pid, answer);
        if (is_passed_on) {
                advise("its sockets are the service manager's: the next command starts it again, unless:");
                advise("  systemctl --user stop musterd.socket musterd-cccc.socket musterd-coop.socket");
        }
        return CLI_OK;
}
