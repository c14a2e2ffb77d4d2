/* SPDX-License-Identifier: MIT */
/*
 * muster hook: becomes the program muster-hook (src/hook), which lies beside this one or where `make install` puts it. It fails open,
 * as that does: whatever is wrong, nothing is said.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/place.h"
#include "cli/cli.h"

int cmd_hook(const Options *options) {
        static const char *const places[] = {"%s/muster-hook", "%s/../libexec/muster/muster-hook"};
        _cleanup_(freep) char *socket = options->socket ? strdup(options->socket) : place_socket(NULL);
        char self[PATH_MAX], program[PATH_MAX + 64];
        ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

        if (n <= 0 || !socket)
                return CLI_OK;
        self[n] = '\0';
        *strrchr(self, '/') = '\0';
        for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
                snprintf(program, sizeof(program), places[i], self);
                execl(program, "muster-hook", socket, options->operands[0],
                      options->n_operands > 1 ? options->operands[1] : (char *)NULL, (char *)NULL);
        }
        return CLI_OK;
}
