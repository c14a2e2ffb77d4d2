#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Replay: the events of a run as they stand in a file, and what is wrong with them. For workers; it reads, and writes
 * nothing but text. However long the file is, what it holds in memory is bounded: events go to the spool as they are
 * read, so of a file with a tail the last part is read twice.
 */
#include "core/spool.h"

enum {
        REPLAY_ISSUES_MAX = 100000
}; /* verification issues that are told of one file; the rest is left out */

/* Writes the members events, parse_issues, verification_issues and deterministic_ok. Only the last `tail` events and
 * what is wrong with those, 0: all; lines that do not parse are all told. */
int replay_write(Spool *out, int fd, bool is_verified, uint64_t tail);
