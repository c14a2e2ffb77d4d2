/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "collab/compaction"

#include "collab/group/compaction.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/time.h"
#include "collab/collab.h"
#include "collab/group/group-work.h"

typedef struct Compaction {
        Carry carry;
        Call *call; /* NULL: the minute's look */
        Group *group;
        char *reason, *snapshot_reason;
        bool is_forced;
        int64_t now_us;
        int64_t last_us; /* of the compaction before; 0: none */
        int r;           /* of the worker */
        char safe_ts[TIME_TEXT_MAX];
        uint64_t n_archived, n_kept;
        uint64_t *positions;
        char *archive_path;
        Buf result; /* compaction.json */
        Snapshot snapshot;
} Compaction;

static void free_compaction(Compaction *self) {
        group_unref(self->group);
        free(self->reason);
        free(self->snapshot_reason);
        free(self->positions);
        free(self->archive_path);
        buf_deinit(&self->result);
        snapshot_deinit(&self->snapshot);
        free(self);
}

/* ---- the end --------------------------------------------------------------------------------- */

static int compaction_failure(Call *call, int r) {
        return call ? call_fail(call, CALL_E_LEDGER_COMPACT_FAILED, "cannot compact the ledger: %s",
                                strerror(-r))
                    : r;
}

static void compaction_finish(Compaction *self, int r) {
        Call *call = self->call;
        Group *group = self->group;

        if (r)
                log_err(&group->collab->daemon->log, group->id, "compaction failed: %s", strerror(-r));
        else
                log_notice(&group->collab->daemon->log, group->id, "compacted archived=%llu kept=%llu",
                           (unsigned long long)self->n_archived, (unsigned long long)self->n_kept);
        if (call && !r) {
                JsonWriter *w = call_result(call);
                jw_begin_object(w);
                jw_field_bool(w, "ok", true);
                jw_field_bool(w, "skipped", false);
                jw_key(w, "result");
                jw_raw(w, buf_str(&self->result));
                jw_key(w, "snapshot");
                snapshot_write(&self->snapshot, w);
                jw_end_object(w);
        }
        if (call)
                call_finish(call, r ? compaction_failure(call, r) : 0);
        free_compaction(self);
}

/* key: a number or text that goes with the reason; NULL: none. */
static int skip(Compaction *self, const char *reason, const char *key, const char *text, uint64_t number) {
        JsonWriter *w = self->call ? call_result(self->call) : NULL;

        if (w) {
                jw_begin_object(w);
                jw_field_bool(w, "ok", true);
                jw_field_bool(w, "skipped", true);
                jw_field_cstr(w, "reason", reason);
                if (key && text)
                        jw_field_cstr(w, key, text);
                else if (key)
                        jw_field_uint(w, key, number);
                jw_end_object(w);
        }
        free_compaction(self);
        return 0;
}

/* ---- after the move -------------------------------------------------------------------------- */

static void on_snapshot(Snapshot *snapshot, int r) {
        compaction_finish(container_of(snapshot, Compaction, snapshot), r);
}

static int write_result(Compaction *self) {
        JsonWriter w = JSON_WRITER(&self->result);
        char ts[TIME_TEXT_MAX];

        time_format_us(self->now_us, ts);
        jw_begin_object(&w);
        jw_field_int(&w, "v", 1);
        jw_field_cstr(&w, "last_compacted_at", ts);
        jw_field_cstr(&w, "reason", self->reason);
        jw_field_cstr(&w, "safe_ts", self->safe_ts);
        jw_field_uint(&w, "archived_lines", self->n_archived);
        jw_field_uint(&w, "kept_lines", self->n_kept);
        jw_field_cstr(&w, "archive_path", self->archive_path);
        jw_end_object(&w);
        return w.failed ? error_origin(-ENOMEM) : 0;
}

static void on_moved(void *user, int r) {
        Compaction *self = user;

        self->n_kept = ledger_n_committed(self->group->ledger);
        if (!r)
                r = write_result(self);
        if (r) {
                compaction_finish(self, r);
                return;
        }
        self->snapshot.group = self->group;
        self->snapshot.reason = str_from(self->snapshot_reason);
        self->snapshot.extra = buf_str(&self->result);
        self->snapshot.done = on_snapshot;
        snapshot_take(&self->snapshot);
}

static int compaction_move(Compaction *self, uint64_t n) {
        char stamp[TIME_TEXT_MAX];

        time_format_stamp(self->now_us, stamp);
        self->n_archived = n;
        self->positions = malloc((size_t)n * sizeof(*self->positions));
        if (asprintf(&self->archive_path, "%s/archive/ledger.%s.jsonl", self->group->state_path, stamp) < 0)
                self->archive_path = NULL;
        if (!self->positions || !self->archive_path)
                return error_origin(-ENOMEM);
        for (uint64_t i = 0; i < n; i++)
                self->positions[i] = i;
        return error_trace(ledger_rewrite(self->group->ledger, self->positions, (size_t)n,
                                          self->archive_path, on_moved, self));
}

/* ---- the decision ---------------------------------------------------------------------------- */

/* The smallest of all cursors, also of actors that are gone. */
static bool find_safe(const Group *group, int64_t *ret_us) {
        bool has_one = false;

        json_each (entry, group->cursors->json) {
                int64_t us, marked_us = INT64_MAX;

                if (!time_parse(json_str(json_get(entry, "ts")), &us))
                        continue;
                (void)time_parse(json_str(json_get(entry, "updated_at")), &marked_us);
                us = group_past_us(group, us, marked_us);
                *ret_us = has_one ? MIN(*ret_us, us) : us;
                has_one = true;
        }
        return has_one;
}

/* 0: skipped. CALL_LATER: under way. */
static int decide(_unused_ Call *call, Group *group, const Carry *carry) {
        Compaction *self = container_of(carry, Compaction, carry);
        const GroupSettings *settings = &group->doc->settings;
        uint64_t n_bytes = ledger_n_bytes(group->ledger), n = ledger_n_committed(group->ledger), n_old;
        int64_t safe_us = 0;
        int r = self->r;

        if (r)
                goto failed;
        if (!self->is_forced && self->last_us &&
            (self->now_us - self->last_us) / 1000000 < settings->ledger_min_interval_s)
                return skip(self, "min_interval", NULL, NULL, 0);
        if (!self->is_forced && (int64_t)n_bytes < settings->ledger_max_active_bytes)
                return skip(self, "below_threshold", "size_bytes", NULL, n_bytes);
        if (!find_safe(group, &safe_us))
                return skip(self, "no_global_cursor", NULL, NULL, 0);
        if (n <= (uint64_t)MAX(settings->ledger_keep_tail_lines, 0))
                return skip(self, "nothing_to_archive", "total_lines", NULL, n);
        time_format_us(safe_us, self->safe_ts);
        n_old = MIN(n - (uint64_t)MAX(settings->ledger_keep_tail_lines, 0),
                    ledger_first_after_ts(group->ledger, safe_us));
        if (!n_old)
                return skip(self, "no_archivable_events", "safe_ts", self->safe_ts, 0);
        r = compaction_move(self, n_old);
        if (!r)
                return CALL_LATER;
failed:
        r = compaction_failure(self->call, r);
        free_compaction(self);
        return r;
}

static int compaction_prepare(const Group *group, const Carry *carry) {
        Compaction *self = container_of(carry, Compaction, carry);
        _cleanup_(freep) char *path = path_join(group->state_path, "compaction.json");
        _cleanup_(document_unrefp) Document *document = NULL;

        self->r = snapshot_make_folder(group);
        if (path && !document_read(&document, path, DOCUMENT_JSON) &&
            !time_parse(json_str(json_get(document->json, "last_compacted_at")), &self->last_us))
                self->last_us = 0;
        return 0;
}

int compaction_start(Call *call, Group *group, Str reason, bool is_forced) {
        Compaction *self = calloc(1, sizeof(*self));
        int r;

        if (!self)
                return error_origin(-ENOMEM);
        self->call = call;
        self->group = group_ref(group);
        self->is_forced = is_forced;
        self->now_us = loop_wall_us(group->collab->daemon->loop);
        self->reason = str_dup(reason);
        if (asprintf(&self->snapshot_reason, "compact:" STR_FMT, STR_ARG(reason)) < 0)
                self->snapshot_reason = NULL;
        r = self->reason && self->snapshot_reason
                    ? group_work(call, group, compaction_prepare, decide, &self->carry)
                    : error_origin(-ENOMEM);
        if (r != CALL_LATER)
                free_compaction(self);
        return r;
}

/* ---- the minute's look ----------------------------------------------------------------------- */

static void compaction_look(Group *group) {
        if (!group->ledger || !group->doc || group_is_loading(group) || group->is_deleting ||
            !group->doc->is_running)
                return;
        if ((int64_t)ledger_n_bytes(group->ledger) >= group->doc->settings.ledger_max_active_bytes)
                (void)compaction_start(NULL, group, STR("auto"), false);
}

static int compaction_started(Collab *collab) {
        return error_trace(
                group_look_start(&collab->compaction, collab, COMPACTION_EVERY_MS, compaction_look));
}

static int compaction_group_opened(Group *group) {
        return error_trace(group_look_wake(&group->collab->compaction));
}

static void compaction_stopping(Collab *collab) {
        group_look_stop(&collab->compaction);
}

const CollabPart compaction_part = {
        .name = "compaction",
        .started = compaction_started,
        .stopping = compaction_stopping,
        .closed = compaction_stopping,
        .group_opened = compaction_group_opened,
};
