/* SPDX-License-Identifier: MIT */
/* ledger_snapshot and ledger_compact. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collab/compaction.h"
#include "collab/group-work.h"
#include "collab/permissions.h"
#include "collab/snapshot.h"
#include "gen/cccc-ops.h"

typedef struct Taking { /* in the call's arena */
        Call *call;
        int r;
        const CcccLedgerSnapshotArgs *args;
        Snapshot snapshot;
} Taking;

static int ledger_failure(Call *call, int r) {
        return call_fail(call, CALL_E_LEDGER_SNAPSHOT_FAILED, "cannot take a snapshot: %s", strerror(-r));
}

static void on_taken(Snapshot *snapshot, int r) {
        Taking *self = container_of(snapshot, Taking, snapshot);
        Call *call = self->call;
        Group *group = snapshot->group;

        if (!r) {
                JsonWriter *w = call_result(call);
                jw_begin_object(w);
                jw_key(w, "snapshot");
                snapshot_write(snapshot, w);
                jw_end_object(w);
        }
        snapshot_deinit(snapshot);
        call_finish(call, r ? ledger_failure(call, r) : 0);
        group_unref(group);
}

static int ledger_take(Call *call, Group *group, const void *user) {
        Taking *self = (Taking *)user;

        if (self->r)
                return ledger_failure(call, self->r);
        self->snapshot =
                (Snapshot){.group = group_ref(group), .reason = self->args->reason, .done = on_taken};
        snapshot_take(&self->snapshot);
        return CALL_LATER;
}

static int ledger_make_folder(const Group *group, void *user) {
        ((Taking *)user)->r = snapshot_make_folder(group);
        return 0;
}

static int snapshot_group(Call *call, Group *group, const void *user) {
        const CcccLedgerSnapshotArgs *args = user;
        Taking *self;
        int r = group_require(call, group->doc, args->by, RIGHT_FOREMAN, STR_NULL, "group.update",
                              CALL_E_LEDGER_SNAPSHOT_FAILED);

        if (r)
                return r;
        self = arena_alloc(&call->arena, sizeof(*self));
        if (!self)
                return error_origin(-ENOMEM);
        *self = (Taking){.call = call, .args = args};
        return group_work(call, group, ledger_make_folder, ledger_take, self);
}

int op_cccc_ledger_snapshot(Call *call, const CcccLedgerSnapshotArgs *args) {
        return collab_read(call, args->group_id, snapshot_group, args);
}

static int compact(Call *call, Group *group, const void *user) {
        const CcccLedgerCompactArgs *args = user;
        int r = group_require(call, group->doc, args->by, RIGHT_FOREMAN, STR_NULL, "group.update",
                              CALL_E_LEDGER_COMPACT_FAILED);

        return r ? r : compaction_start(call, group, args->reason, args->force);
}

int op_cccc_ledger_compact(Call *call, const CcccLedgerCompactArgs *args) {
        return collab_read(call, args->group_id, compact, args);
}
