#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Compaction: old events of a group's ledger that everybody has read go to an archive file.
 *
 * Asked for by ledger_compact, and by the daemon itself every minute for groups that are meant to run. What
 * may go: lines before the last keep_tail_lines whose time is not later than the smallest read cursor. The
 * ledger does the moving (ledger_rewrite()); this decides, and leaves compaction.json and a snapshot behind.
 */
#include "collab/parts.h"

enum { COMPACTION_EVERY_MS = 60000 };

/* Runs inside collab_read(). Returns what a handler returns; call may be NULL. */
int compaction_start(Call *call, Group *group, Str reason, bool is_forced);

extern const CollabPart compaction_part; /* the minute's look */
