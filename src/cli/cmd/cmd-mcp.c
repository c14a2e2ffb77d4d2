/* SPDX-License-Identifier: MIT */
/*
 * muster mcp: becomes the program muster-mcp (src/bridge), which lies beside this one or where `make install` puts it.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/nest.h"
#include "base/place.h"
#include "cli/cli.h"
#include "cli/print/report.h"

enum { MCP_WAIT_MS = 10000 };

/* Where a daemon left word of its place, unless a place was named by hand, which then is the only one. Malloc'd; NULL: none. */
static char *mcp_address(const Options *options) {
        _cleanup_(freep) char *home = place_home();

        if (options->socket || (place_socket_is_named() && !nest_is_marked()) || !home)
                return NULL;
        return place_address(home);
}

int cmd_mcp(const Options *options) {
        static const char *const places[] = {"%s/muster-mcp", "%s/../libexec/muster/muster-mcp"};
        _cleanup_(freep) char *socket = options->socket ? strdup(options->socket) : place_socket(NULL);
        _cleanup_(freep) char *address = mcp_address(options);
        char self[PATH_MAX], program[PATH_MAX + 64], wait_ms[32], *slash;
        bool may_start = !options->socket && !nest_is_hosted();
        ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
        int r = output_check();

        if (r)
                return r;
        if (n <= 0 || !socket)
                return complain(CLI_FAILED, "cannot tell where this program or the daemon's socket is");
        self[n] = '\0';
        snprintf(wait_ms, sizeof(wait_ms), "%lld",
                 (long long)(options->wait_ms < 0 ? MCP_WAIT_MS : options->wait_ms));
        for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
                char folder[PATH_MAX];

                memcpy(folder, self, (size_t)n + 1);
                slash = strrchr(folder, '/');
                *slash = '\0';
                snprintf(program, sizeof(program), places[i], folder);
                execl(program, "muster-mcp", socket, address ? address : "", wait_ms,
                      options->verbose ? "1" : "", may_start ? self : "", (char *)NULL);
        }
        return complain(CLI_FAILED, "cannot run muster-mcp, which belongs to %s: %s", self, strerror(errno));
}
