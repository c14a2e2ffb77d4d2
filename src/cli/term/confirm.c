/* SPDX-License-Identifier: MIT */
#include "cli/term/confirm.h"

#include <stdio.h>
#include <strings.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/cli.h"
#include "cli/print/report.h"

int confirm(const char *command, bool is_forced) {
        char answer[64];
        Str said;

        if (is_forced)
                return CLI_OK;
        if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
                complain(CLI_USAGE,
                         "%s: nothing is done without a question, and there is no terminal to ask at",
                         command);
                advise("if you are sure: muster %s --force", command);
                return CLI_USAGE;
        }
        fputs("Go on? [y/N] ", stderr);
        fflush(stderr);
        said = fgets(answer, sizeof(answer), stdin) ? str_trim(str_from(answer)) : STR("");
        if ((said.n == 1 && !strncasecmp(said.data, "y", 1)) ||
            (said.n == 3 && !strncasecmp(said.data, "yes", 3)))
                return CLI_OK;
        return complain(CLI_FAILED, "%s: nothing was done", command);
}
