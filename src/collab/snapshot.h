#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Snapshot: a note about the state of a group's ledger (size, last event) in state/ledger/snapshots and
 * snapshot.latest.json. It holds no events. Embedded in an object of the caller, who keeps it until done().
 */
#include "collab/group.h"

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
