/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/link/find.h"
#include "cli/link/native.h"
#include "cli/print/report.h"

enum { TIMEOUT_MS = 10000 };

int cmd_status(const Options *options) {
        _cleanup_(link_deinit) Link link = LINK_NULL;
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(freep) char *path = find_socket();
        const Json *info;
        int r;

        if (!path)
                return complain(CLI_FAILED, "cannot tell where the daemon's socket is: is HOME set?");
        r = link_open(&link, path,
                      clock_ms() + (options->timeout_ms < 0 ? TIMEOUT_MS : options->timeout_ms));
        if (r)
                return link_complain(r, path);
        r = native_call(&link, path, "daemon.info", &arena, &info);
        if (r)
                return r;
        if (!info)
                return link_complain(LINK_E_CLOSED, path);
        info_tell_version(info);
        if (!options->json)
                info_print(stdout, info, path);
        else if (json_print(stdout, info, false))
                return complain(CLI_FAILED, "out of memory");
        return CLI_OK;
}
