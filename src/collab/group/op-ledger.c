/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/time.h"
#include "collab/collab.h"
#include "collab/group/compaction.h"
#include "collab/group/group-doc.h"
#include "collab/group/group-work.h"
#include "gen/cccc-ops.h"

int snapshot_make_folder(const Group *group) {
        _cleanup_(freep) char *path = path_join(group->state_path, "snapshots");

        return path ? error_trace(dir_make(path, 0700)) : error_origin(-ENOMEM);
}

void snapshot_deinit(Snapshot *snapshot) {
        ledger_read_deinit(&snapshot->read);
        buf_deinit(&snapshot->last_event);
        free(snapshot->path);
}

void snapshot_write(const Snapshot *snapshot, JsonWriter *w) {
        jw_begin_object(w);
        jw_field_cstr(w, "snapshot_path", snapshot->path);
        jw_field_uint(w, "size_bytes", snapshot->size_bytes);
        jw_key(w, "last_event");
        jw_raw(w, buf_str(&snapshot->last_event));
        jw_end_object(w);
}

/* ---- the files ------------------------------------------------------------------------------- */

static void snapshot_on_kept(LedgerChange *change, int r) {
        Snapshot *snapshot = container_of(change, Snapshot, change);

        snapshot->done(snapshot, r);
}

static int snapshot_write_text(const Snapshot *snapshot, int64_t now_us, Buf *out) {
        JsonWriter w = JSON_WRITER(out);
        char ts[TIME_TEXT_MAX];

        time_format_us(now_us, ts);
        jw_begin_object(&w);
        jw_field_int(&w, "v", 1);
        jw_field_cstr(&w, "kind", "ledger.snapshot");
        jw_field_cstr(&w, "group_id", snapshot->group->id);
        jw_field_cstr(&w, "created_at", ts);
        jw_field_str(&w, "reason", snapshot->reason);
        jw_key(&w, "active_ledger");
        jw_begin_object(&w);
        jw_field_cstr(&w, "path", "ledger.jsonl");
        jw_field_uint(&w, "size_bytes", snapshot->size_bytes);
        jw_end_object(&w);
        jw_key(&w, "last_event");
        jw_raw(&w, buf_str(&snapshot->last_event));
        jw_end_object(&w);
        return w.failed ? error_origin(-ENOMEM) : error_trace(buf_append_str(out, STR("\n")));
}

static int add_file(Snapshot *snapshot, const char *name, Str text) {
        _cleanup_(freep) char *path = path_join(snapshot->group->state_path, name);

        return path ? error_trace(ledger_change_file(&snapshot->change, path, text, NULL))
                    : error_origin(-ENOMEM);
}

static int snapshot_keep(Snapshot *snapshot, int64_t now_us) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        char stamp[TIME_TEXT_MAX];
        int r = snapshot_write_text(snapshot, now_us, &text);

        time_format_stamp(now_us, stamp);
        if (!r && asprintf(&snapshot->path, "%s/snapshots/snapshot.%s.json", snapshot->group->state_path,
                           stamp) < 0) {
                snapshot->path = NULL;
                r = error_origin(-ENOMEM);
        }
        if (!r)
                r = ledger_change_file(&snapshot->change, snapshot->path, buf_str(&text), NULL);
        if (!r)
                r = add_file(snapshot, "snapshot.latest.json", buf_str(&text));
        if (!r && snapshot->extra.data)
                r = add_file(snapshot, "compaction.json", snapshot->extra);
        if (!r)
                r = ledger_change_commit(&snapshot->change);
        return error_trace(r);
}

/* ---- the last event -------------------------------------------------------------------------- */

static int describe(Snapshot *snapshot, Str line) {
        static const char *const keys[] = {"id", "ts", "kind", "by"};
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        JsonWriter w = JSON_WRITER(&snapshot->last_event);
        Json *event = NULL;
        int r = line.n ? json_parse(&arena, line.data, line.n, NULL, &event, NULL) : 0;

        if (r < 0)
                return error_trace(r);
        jw_begin_object(&w);
        for (size_t i = 0; event && i < ARRAY_SIZE(keys); i++)
                jw_field_str(&w, keys[i], json_str(json_get(event, keys[i])));
        jw_end_object(&w);
        return w.failed ? error_origin(-ENOMEM) : 0;
}

static void snapshot_on_read(LedgerRead *read, int r) {
        Snapshot *snapshot = container_of(read, Snapshot, read);
        Str line = !r && read->n ? ledger_read_line(read, 0) : STR_NULL;

        if (!r)
                r = describe(snapshot, line);
        if (!r)
                r = snapshot_keep(snapshot, loop_wall_us(snapshot->group->collab->daemon->loop));
        if (!r)
                return;
        ledger_change_deinit(&snapshot->change);
        snapshot->done(snapshot, r);
}

void snapshot_take(Snapshot *snapshot) {
        Ledger *ledger = snapshot->group->ledger;
        uint64_t n = ledger_n_committed(ledger), last = n - 1;
        int r = 0;

        snapshot->size_bytes = ledger_n_bytes(ledger);
        snapshot->read.done = snapshot_on_read;
        ledger_change_init(&snapshot->change, ledger, snapshot_on_kept);
        if (n)
                r = ledger_read(ledger, &snapshot->read, &last, 1);
        if (r != LEDGER_LATER)
                snapshot_on_read(&snapshot->read, r);
}

/* ledger_snapshot and ledger_compact. */
typedef struct Taking { /* in the call's arena */
        Carry carry;
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

static int ledger_take(Call *call, Group *group, const Carry *carry) {
        Taking *self = container_of(carry, Taking, carry);

        if (self->r)
                return ledger_failure(call, self->r);
        self->snapshot =
                (Snapshot){.group = group_ref(group), .reason = self->args->reason, .done = on_taken};
        snapshot_take(&self->snapshot);
        return CALL_LATER;
}

static int ledger_make_folder(const Group *group, const Carry *carry) {
        container_of(carry, Taking, carry)->r = snapshot_make_folder(group);
        return 0;
}

int op_cccc_ledger_snapshot(Call *call, Group *group, const CcccLedgerSnapshotArgs *args) {
        Taking *self = arena_alloc(&call->arena, sizeof(*self));

        if (!self)
                return error_origin(-ENOMEM);
        *self = (Taking){.call = call, .args = args};
        return group_work(call, group, ledger_make_folder, ledger_take, &self->carry);
}

int op_cccc_ledger_compact(Call *call, Group *group, const CcccLedgerCompactArgs *args) {
        return compaction_start(call, group, args->reason, args->force);
}
