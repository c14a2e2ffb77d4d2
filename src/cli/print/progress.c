/* SPDX-License-Identifier: MIT */
#include "cli/print/progress.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/link/connect.h"
#include "cli/print/report.h"

enum { PROGRESS_AFTER_MS = 1000, PROGRESS_EVERY_MS = 100 };

Progress progress_begin(const char *what) {
        const char *term = getenv("TERM");
        bool is_seen = isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;

        return (Progress){.out = is_seen ? stderr : NULL, .what = what, .begin_ms = clock_ms()};
}

void progress_tell(void *user, uint64_t n_done, uint64_t n_all) {
        Progress *progress = user;
        int64_t now_ms = clock_ms();

        if (!progress->out || now_ms - progress->begin_ms < PROGRESS_AFTER_MS ||
            now_ms - progress->told_ms < PROGRESS_EVERY_MS)
                return;
        fputs("\r\x1b[K", progress->out);
        text_put(progress->out, str_from(progress->what));
        fprintf(progress->out, ": %d %%", n_all ? (int)((double)n_done / (double)n_all * 100) : 100);
        fflush(progress->out);
        progress->told_ms = now_ms;
}

void progress_end(Progress *progress) {
        if (progress->told_ms)
                fputs("\r\x1b[K", progress->out);
        progress->told_ms = 0;
}
