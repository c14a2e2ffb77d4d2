#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Compaction: old events of a group's ledger that everybody has read go to an archive file.
 *
 * Asked for by ledger_compact, and by the daemon itself every minute for groups that are meant to run. What
 * may go: lines before the last keep_tail_lines whose time is not later than the smallest read cursor. The
 * ledger does the moving (ledger_rewrite()); this decides, and leaves compaction.json and a snapshot behind.
 */
#include <stdint.h>

#include "collab/group/group.h"
#include "collab/parts.h"

enum { COMPACTION_EVERY_MS = 60000 };

/* Runs inside collab_read(). Returns what a handler returns; call may be NULL. */
int compaction_start(Call *call, Group *group, Str reason, bool is_forced);

extern const CollabPart compaction_part; /* the minute's look */

/*
 * Snapshot: a note about the state of a group's ledger (size, last event) in state/ledger/snapshots and
 * snapshot.latest.json. It holds no events. Embedded in an object of the caller, who keeps it until done().
 */

typedef struct Snapshot Snapshot;
struct Snapshot {
        Group *group;
        Str reason;                              /* must live until done() */
        Str extra;                               /* for compaction.json; data NULL: that is not written */
        void (*done)(Snapshot *snapshot, int r); /* 0: kept; negative: nothing was */

        uint64_t size_bytes; /* in done(0): what the result tells */
        char *path;
        Buf last_event; /* {"id":…,"ts":…,"kind":…,"by":…}, {} without events */

        LedgerRead read; /* private */
        LedgerChange change;
};

/* Worker: the folder for snapshots. */
int snapshot_make_folder(const Group *group);
/* Needs that folder. done() follows in a later turn, or now. snapshot_deinit() in the end. */
void snapshot_take(Snapshot *snapshot);
void snapshot_write(const Snapshot *snapshot, JsonWriter *w); /* the result's object */
void snapshot_deinit(Snapshot *snapshot);
