/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "tasks/store"

#include "tasks/queue/task-store.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "base/time.h"
#include "tasks/project.h"

enum { CATCH_UP_LINES = FOLLOWER_LINES_MAX, CATCH_UP_BYTES = 8 << 20 };

/* ---- lines ----------------------------------------------------------------------------------- */

static bool task_store_classify(Arena *arena, const Json *line, LedgerFacts *facts) {
        Str approval = json_text_of(line, "approval");

        if (!json_is(json_get(line, "task"), JSON_OBJECT))
                return false;
        facts->kind = json_str(json_get(line, "kind"));
        if (!time_parse(json_str(json_get(line, "ts")), &facts->ts_us))
                facts->ts_us = 0;
        if (approval.n)
                ledger_facts_tag(facts, arena, STR("approval:"), approval);
        return true;
}

static int64_t time_member_ms(const Json *record, const char *key) {
        int64_t us = 0;

        return time_parse(json_str(json_get(record, key)), &us) ? us / 1000 : 0;
}

static void purge(TaskStore *store, const Json *ids) {
        json_each (id, ids) {
                int64_t row = task_rows_find(&store->rows, json_str(id));
                if (row >= 0)
                        task_rows_set_state(&store->rows, (uint64_t)row, TASK_PURGED);
        }
        store->rows.header->n_stable = store->rows.header->stable_bytes = 0;
}

static void apply_record(TaskStore *store, const Json *record, uint64_t position) {
        Str id = json_str(json_get(record, "id"));
        bool is_whole = json_get(record, "prompt");
        int64_t row = task_rows_find(&store->rows, id);
        TaskState state = TASK_RUNNING;
        TaskRow *at;

        if (!id.n || (is_whole && !task_state_from_name(json_str(json_get(record, "state")), &state)) ||
            (row < 0 && (!is_whole || task_rows_reserve(&store->rows, 1))))
                return;
        if (row < 0)
                row = (int64_t)task_rows_add(&store->rows, id, state);
        at = &store->rows.rows[row];
        if (is_whole)
                at->position = position;
        at->since_ms = time_member_ms(record, task_state_is_final(state) ? "completedAt" : "startedAt");
        task_rows_set_state(&store->rows, (uint64_t)row, state);
}

void task_store_apply(TaskStore *store, Str line, uint64_t position) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        const Json *record, *purged;
        Json *json = NULL;

        if (json_parse(&arena, line.data, line.n, NULL, &json, NULL))
                return;
        record = json_get(json, "task");
        purged = json_get(record, "purged");
        if (purged)
                purge(store, purged);
        else
                apply_record(store, record, position);
}

static void cover(TaskStore *store, uint64_t n) {
        LedgerEntry last = n ? ledger_entry(store->ledger, n - 1) : (LedgerEntry){0};

        task_rows_cover(&store->rows, n, last.offset + last.n_bytes);
}

void task_store_note(TaskStore *store, uint64_t row, TaskState state, const LedgerChange *change) {
        store->rows.rows[row].position = change->first;
        task_rows_set_state(&store->rows, row, state);
        cover(store, change->first + change->n_lines);
}

void task_store_cover(TaskStore *store, const LedgerChange *change) {
        cover(store, change->first + change->n_lines);
}

bool task_store_has_approval(const TaskStore *store, const char *id) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Str word = arena_printf(&arena, "approval:%s", id);

        return word.data && store->ledger && !ledger_tag_is_none(ledger_tag(store->ledger, word));
}

uint64_t task_store_total(const TaskStore *store) {
        return task_rows_n(&store->rows) - store->rows.counts[TASK_PURGED];
}

bool task_store_is_there(const TaskStore *store) {
        struct stat st;

        return !store->dir ||
               (!stat(store->dir, &st) && st.st_dev == store->dir_dev && st.st_ino == store->dir_ino);
}

/* ---- opening --------------------------------------------------------------------------------- */

static void finish_open(TaskStore *store, int r) {
        store->is_ready = !r;
        if (!r)
                log_notice(&store->project->daemon->log, store->project->dir, "store open tasks=%llu",
                           (unsigned long long)task_store_total(store));
        store->opened(store->project, r);
        if (!r && (store->is_dirty ||
                   (!store->rows.was_clean &&
                    task_rows_n(&store->rows)))) /* after a crash the file may lack the last changes */
                task_store_changed(store, NULL);
}

static TaskStore *store_of(LedgerFollower *lines) {
        return container_of(lines, TaskStore, lines);
}

static void task_store_on_line(LedgerFollower *lines, LedgerLine *line) {
        task_store_apply(store_of(lines), line->text, line->position);
}

static void task_store_on_lines(LedgerFollower *lines) {
        cover(store_of(lines), lines->position);
}

static void task_store_caught_up(LedgerFollower *lines) {
        TaskStore *store = store_of(lines);

        follower_stop(lines);
        task_store_import(store, finish_open);
}

static bool task_store_on_unread(LedgerFollower *lines, int r) {
        TaskStore *store = store_of(lines);

        follower_stop(lines);
        finish_open(store, r);
        return false;
}

/* Somebody has cut or replaced the history while it was read: the rows do not fit it any more. */
static void task_store_on_rewritten(LedgerFollower *lines, _unused_ uint64_t n_gone) {
        (void)task_store_on_unread(lines, -ESTALE);
}

static const LedgerFollowerType task_store_lines = {
        .n_lines = CATCH_UP_LINES,
        .n_bytes = CATCH_UP_BYTES,
        .take = task_store_on_line,
        .taken = task_store_on_lines,
        .caught_up = task_store_caught_up,
        .failed = task_store_on_unread,
        .rewritten = task_store_on_rewritten,
};

/* Whether the rows were made from this very history. */
static bool task_store_fits(const TaskStore *store) {
        const TaskRowsHeader *header = store->rows.header;
        LedgerEntry last;

        if (header->n_covered > ledger_n_committed(store->ledger))
                return false;
        if (!header->n_covered)
                return header->n_rows == 0;
        last = ledger_entry(store->ledger, header->n_covered - 1);
        return last.offset + last.n_bytes == header->covered_bytes;
}

static void task_store_on_opened(void *user, int r) {
        TaskStore *store = user;

        if (r) {
                finish_open(store, r);
                return;
        }
        if (!task_store_fits(store)) {
                log_notice(&store->project->daemon->log, store->project->dir,
                           "rows are made anew lines=%llu",
                           (unsigned long long)ledger_n_committed(store->ledger));
                task_rows_clear(&store->rows);
        }
        /* none after a clean stop, a few after a crash, all when the rows are new */
        follower_start(&store->lines, &task_store_lines, store->ledger, store->rows.header->n_covered);
        follower_go_on(&store->lines);
}

static void task_store_on_committed(_unused_ void *user, _unused_ uint64_t first, _unused_ uint64_t n) {}

static int task_store_make_paths(TaskStore *store) {
        store->dir = path_join(store->project->daemon_dir, "history");
        store->json_path = path_join(store->project->daemon_dir, "tasks.json");
        if (!store->dir || !store->json_path)
                return error_origin(-ENOMEM);
        store->ledger_path = path_join(store->dir, "ledger.jsonl");
        store->state_path = path_join(store->dir, "state");
        store->rows_path = path_join(store->dir, "rows");
        return store->ledger_path && store->state_path && store->rows_path ? 0 : error_origin(-ENOMEM);
}

static int make_dir(TaskStore *store) {
        struct stat st;
        int r = dir_make(store->dir, 0700);

        if (r)
                return error_trace(r);
        if (stat(store->dir, &st))
                return error_origin(-errno);
        store->dir_dev = st.st_dev;
        store->dir_ino = st.st_ino;
        return 0;
}

static void on_retention(Timer *timer) {
        task_store_retain(container_of(timer, TaskStore, retention));
}

static void on_write_timer(Timer *timer) {
        task_store_write(container_of(timer, TaskStore, write_timer));
}

int task_store_open(TaskStore *store, Project *project, void (*opened)(Project *project, int r)) {
        LedgerOptions options = {.loop = project->daemon->loop,
                                 .totals = &project->daemon->ledgers,
                                 .is_lines_only = true, /* agents may write there */
                                 .classify = task_store_classify,
                                 .committed = task_store_on_committed,
                                 .user = store};
        int r;

        ledger_options_apply(&options, &project->daemon->config);
        *store = (TaskStore){.project = project, .opened = opened, .rows = {.fd = -1}};
        timer_init(&store->retention, project->daemon->loop, on_retention);
        timer_init(&store->write_timer, project->daemon->loop, on_write_timer);
        lane_init(&store->writes, project->daemon->loop, &task_store_writes);
        r = task_store_make_paths(store);
        if (!r)
                r = make_dir(store);
        if (!r)
                r = task_rows_open(&store->rows, store->rows_path);
        if (r == TASK_ROWS_E_NEW)
                r = 0;
        options.path = store->ledger_path;
        options.state_path = store->state_path;
        if (!r)
                r = ledger_open(&store->ledger, &options, task_store_on_opened);
        return error_trace(r);
}

/* ---- closing --------------------------------------------------------------------------------- */

static void on_ledger_closed(void *user) {
        TaskStore *store = user;

        store->ledger = NULL;
        store->is_ready = false;
        task_rows_close(&store->rows, true);
        store->closed(store->project);
}

static void close_ledger(TaskStore *store) {
        follower_stop(&store->lines);
        if (store->ledger)
                ledger_close(store->ledger, on_ledger_closed, store);
        else
                on_ledger_closed(store);
}

static void last_written(TaskStoreWait *wait) {
        close_ledger(container_of(wait, TaskStore, last));
}

void task_store_close(TaskStore *store, void (*closed)(Project *project)) {
        store->closed = closed;
        if (store->retention.loop)
                timer_clear(&store->retention);
        store->last = (TaskStoreWait){.done = last_written};
        store->is_last = true;
        if (store->is_ready)
                task_store_changed(store, &store->last);
        else
                close_ledger(store);
}

void task_store_deinit(TaskStore *store) {
        lane_deinit(&store->writes);
        if (store->write_timer.loop)
                timer_clear(&store->write_timer);
        if (store->retention.loop)
                timer_clear(&store->retention);
        task_rows_close(&store->rows, false);
        free(store->dir);
        free(store->ledger_path);
        free(store->state_path);
        free(store->rows_path);
        free(store->json_path);
        *store = (TaskStore){.rows = {.fd = -1}};
}
