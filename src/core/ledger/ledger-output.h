#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Output: a file that is written from one end to the other in large pieces, then synced. For workers and the
 * offline tools. Owned by whoever embeds it.
 */
#include "base/buf.h"

#include <stdint.h>

typedef struct LedgerOutput {
        int fd; /* -1: none */
        uint64_t at;
        Buf bytes;
} LedgerOutput;

/* Opens `.<name>.<random>` beside path, with the mode of `like`; *ret_path is malloc'd. */
int ledger_output_temp(LedgerOutput *output, const char *path, int like, char **ret_path);
int ledger_output_put(LedgerOutput *output, Str piece);
int ledger_output_finish(LedgerOutput *output); /* the rest, and fsync */
void ledger_output_deinit(LedgerOutput *output);
