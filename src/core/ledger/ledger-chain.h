#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Chain: a hash per line of a ledger, each made of the one before and the line, in a side file. It shows
 * that lines were changed, taken out or put in after they were written; it does not stop anybody who can
 * rewrite both files. For workers and the offline tools, under the lock.
 */
#include "base/sha256.h"
#include "core/ledger/ledger-scan.h"

enum { CHAIN_RECORD = 16 + 1 + SHA256_HEX_MAX }; /* end, blank, hash and newline */

typedef struct ChainReport {
        bool is_present, is_broken;
        uint64_t n_records; /* that were compared */
        uint64_t n_behind;  /* lines at the end that have none yet */
        uint64_t broken_at; /* offset of the first line that does not fit */
} ChainReport;

/* Adds a record for every line up to `end`. is_new: from the first line on. */
int chain_extend(const char *path, int ledger_fd, uint64_t end, bool is_new);
int chain_verify(const char *path, int ledger_fd, uint64_t end, ChainReport *report);
