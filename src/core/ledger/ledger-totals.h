#pragma once
/* SPDX-License-Identifier: MIT */
/* LedgerTotals: what all ledgers of a daemon have kept since it began, also those that are closed. Owned by the Daemon, loop only. */
#include <stdint.h>

typedef struct LedgerTotals {
        uint64_t n_commits, n_lines, n_syncs;
} LedgerTotals;
