/* SPDX-License-Identifier: MIT */
/*
 * daemon.task_retention_days: tasks that ended longer ago are no longer listed. A line of the history says
 * so; their records stay in it. Looked at once an hour, some per commit.
 */
#define LOG_MODULE "tasks/store"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "tasks/project.h"
#include "tasks/queue/task-store.h"

enum { RETENTION_EVERY_MS = 3600 * 1000, RETENTION_AT_ONCE = 1000, DAY_MS = 86400 * 1000 };

typedef struct Purge {
        TaskStore *store;
        LedgerChange change;
        uint64_t rows[RETENTION_AT_ONCE];
        size_t n;
} Purge;

static void task_retention_on_kept(LedgerChange *change, int r) {
        Purge *purge = container_of(change, Purge, change);
        TaskStore *store = purge->store;

        for (size_t i = 0; !r && i < purge->n; i++)
                task_rows_set_state(&store->rows, purge->rows[i], TASK_PURGED);
        if (!r) {
                store->rows.header->n_stable = store->rows.header->stable_bytes = 0;
                task_store_cover(store, change);
                task_store_changed(store, NULL);
                if (purge->n == RETENTION_AT_ONCE && !store->is_last)
                        (void)timer_set(&store->retention, 0);
                log_notice(&store->project->daemon->log, store->project->dir, "old tasks purged count=%zu",
                           purge->n);
        }
        free(purge);
}

/* Only ids that we could have given ourselves: the row has no more than the number. */
static bool task_retention_is_due(const TaskStore *store, uint64_t row, int64_t before_ms, char id[32]) {
        const TaskRow *at = &store->rows.rows[row];
        int n;

        if (at->state < TASK_COMPLETED || at->state >= TASK_PURGED || !at->since_ms ||
            at->since_ms >= before_ms || supervisor_find_row(store->project, row))
                return false;
        n = snprintf(id, 32, "task-%04" PRIu64, at->number);
        return task_rows_find(&store->rows, (Str){id, (size_t)n}) == (int64_t)row;
}

static int task_retention_collect(Purge *purge, int64_t before_ms) {
        _cleanup_(buf_deinit) Buf line = BUF_NULL;
        TaskStore *store = purge->store;
        JsonWriter w = JSON_WRITER(&line);
        char id[32];

        task_line_begin(&w, "task.purged", loop_wall_us(store->project->daemon->loop));
        jw_begin_object(&w);
        jw_key(&w, "purged");
        jw_begin_array(&w);
        for (uint64_t i = 0; i < task_rows_n(&store->rows) && purge->n < RETENTION_AT_ONCE; i++)
                if (task_retention_is_due(store, i, before_ms, id)) {
                        jw_cstr(&w, id);
                        purge->rows[purge->n++] = i;
                }
        jw_end_array(&w);
        jw_end_object(&w);
        task_line_end(&w);
        return w.failed ? error_origin(-ENOMEM) : ledger_change_line(&purge->change, buf_str(&line));
}

void task_store_retain(TaskStore *store) {
        int64_t now_ms = loop_wall_us(store->project->daemon->loop) / 1000;
        int64_t days = store->project->retention_days;
        Purge *purge = days > 0 && store->is_ready && !store->is_last ? calloc(1, sizeof(*purge)) : NULL;
        int r;

        (void)timer_set(&store->retention, RETENTION_EVERY_MS);
        if (!purge)
                return;
        purge->store = store;
        ledger_change_init(&purge->change, store->ledger, task_retention_on_kept);
        r = task_retention_collect(purge, now_ms - days * DAY_MS);
        if (!r && purge->n)
                r = ledger_change_commit(&purge->change);
        if (r || !purge->n) {
                ledger_change_deinit(&purge->change);
                free(purge);
        }
}
