#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Progress: how far something is that takes seconds, as one line on stderr that is written over and taken
 * away at the end. Only on a terminal, and not in the first second: what is quick says nothing.
 */
#include <stdint.h>
#include <stdio.h>

typedef struct Progress {
        FILE *out; /* NULL: nobody looks */
        const char *what;
        int64_t begin_ms, told_ms; /* on clock_ms(); told_ms 0: nothing yet */
} Progress;

Progress progress_begin(const char *what);
/* user: the Progress. For LedgerProgress. */
void progress_tell(void *user, uint64_t n_done, uint64_t n_all);
void progress_end(Progress *progress);
