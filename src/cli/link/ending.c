/* SPDX-License-Identifier: MIT */
#include "cli/link/ending.h"

#include <poll.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/link/native.h"
#include "cli/print/report.h"

/* A process has 5 seconds between SIGTERM and SIGKILL. */
enum { ENDING_LOOK_MS = 25, ENDING_TELL_MS = 1000, ENDING_MS = 30000 };

static bool ending_is_meant(const Json *row, const char *name, const char *workspace) {
        bool is_session = str_is(json_str(json_get(row, "owner")), "sessions");

        if (!str_is(json_str(json_get(row, "state")), "ending") || (!is_session && !name))
                return false;
        return (!name && !workspace) ||
               (name && (str_is(json_str(json_get(row, "object")), name) ||
                         str_is(json_str(json_get(row, "id")), name))) ||
               (workspace && str_is(json_str(json_get(row, "workspace")), workspace));
}

/* How many there are. */
static int ending_count(Coop *coop, const char *name, const char *workspace, int64_t deadline_ms, int *ret) {
        _cleanup_(link_deinit) Link link = LINK_NULL;
        const Request request = {.dialect = "native", .op = "ps"};
        Arena arena = ARENA_NULL;
        Reply reply = {0};
        int r = link_open(&link, coop->socket, deadline_ms);

        *ret = 0;
        if (!r)
                r = exchange(&link, &request, &arena, &reply);
        json_each (row, json_get(r ? NULL : reply.result, "processes"))
                *ret += ending_is_meant(row, name, workspace);
        arena_deinit(&arena);
        return r ? exchange_complain(r, coop->socket) : CLI_OK;
}

int ending_wait(Coop *coop, const char *name, const char *workspace) {
        int64_t began_ms = clock_ms(), deadline_ms = began_ms + ENDING_MS;
        bool is_told = !isatty(STDERR_FILENO);
        int n, r;

        while (!(r = ending_count(coop, name, workspace, deadline_ms, &n)) && n) {
                if (!is_told && clock_ms() - began_ms > ENDING_TELL_MS) {
                        advise("waiting for it to end; it is killed 5 seconds after it was told to");
                        is_told = true;
                }
                if (clock_ms() >= deadline_ms) {
                        complain(CLI_TIMEOUT, "it is still ending; look again with: muster ps");
                        return CLI_TIMEOUT;
                }
                poll(NULL, 0, ENDING_LOOK_MS);
        }
        return r;
}
