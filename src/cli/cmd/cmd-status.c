/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/cmd/overview.h"
#include "cli/link/find.h"
#include "cli/link/native.h"
#include "cli/print/report.h"
#include "cli/term/terminal.h"

enum { TIMEOUT_MS = 10000 };

/* A daemon from before there was an overview still says what it is. */
static int status_ask(Link *link, const char *path, Arena *arena, const Json **ret) {
        const Request request = {.dialect = "native", .op = "overview"};
        Reply reply;
        int r = exchange(link, &request, arena, &reply);

        if (r)
                return exchange_complain(r, path);
        if (reply.is_error)
                return native_call(link, path, "daemon.info", arena, ret);
        *ret = reply.result;
        return CLI_OK;
}

int cmd_status(const Options *options) {
        _cleanup_(link_deinit) Link link = LINK_NULL;
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(freep) char *path = find_socket();
        const Json *overview = NULL;
        unsigned cols = 0, rows;
        int r;

        if (!path)
                return complain(CLI_FAILED, "cannot tell where the daemon's socket is: is HOME set?");
        r = link_open(&link, path,
                      clock_ms() + (options->timeout_ms < 0 ? TIMEOUT_MS : options->timeout_ms));
        if (r)
                return link_complain(r, path);
        r = status_ask(&link, path, &arena, &overview);
        if (r)
                return r;
        if (!overview)
                return link_complain(LINK_E_CLOSED, path);
        info_tell_version(overview);
        if (isatty(STDOUT_FILENO))
                (void)terminal_size(&cols, &rows);
        if (!options->json)
                overview_print(stdout, overview, cols);
        else if (json_print(stdout, overview, false))
                return complain(CLI_FAILED, "out of memory");
        return CLI_OK;
}
