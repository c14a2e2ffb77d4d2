/* SPDX-License-Identifier: MIT */
#include "cli/link/busy.h"

#include <stdio.h>

#include "base/macro.h"
#include "cli/link/exchange.h"
#include "cli/print/progress.h"

enum { BUSY_EVERY_MS = 500, BUSY_ASK_MS = 300 };

/* Asked on a connection of its own: the other one waits for its reply. */
static void busy_tell(const Link *link, Progress *progress) {
        const Request request = {.dialect = "native", .op = "daemon.info"};
        _cleanup_(link_deinit) Link other = LINK_NULL;
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Reply reply = {0};
        const Json *work;
        int64_t done = 0, all = 0;
        char what[200];

        if (link_open(&other, link->path, clock_ms() + BUSY_ASK_MS) ||
            exchange(&other, &request, &arena, &reply) || reply.is_error)
                return;
        work = json_first(json_get(reply.result, "busy"));
        if (!work)
                return;
        (void)json_int64(json_get(work, "done"), &done);
        (void)json_int64(json_get(work, "all"), &all);
        snprintf(what, sizeof(what), "the daemon reads " STR_FMT, STR_ARG(json_str(json_get(work, "what"))));
        progress->what = what;
        progress_tell(progress, (uint64_t)MAX(done, (int64_t)0), (uint64_t)MAX(all, (int64_t)1));
}

int busy_peek(Link *link, char *ret) {
        Progress progress = progress_begin("");
        int64_t deadline_ms = link->deadline_ms;
        int r;

        if (!progress.out)
                return link_peek(link, ret);
        for (;;) {
                link->deadline_ms = MIN(deadline_ms, clock_ms() + BUSY_EVERY_MS);
                r = link_peek(link, ret);
                if (r != LINK_E_TIMEOUT || clock_ms() >= deadline_ms)
                        break;
                busy_tell(link, &progress);
        }
        link->deadline_ms = deadline_ms;
        progress_end(&progress);
        return r;
}
