/* SPDX-License-Identifier: MIT */
/*
 * task.list, task.get, task.stats: records of tasks under way come from memory, those of ended ones from the
 * history, byte for byte. A list that would be longer than LIST_BYTES_MAX ends early.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "core/daemon.h"
#include "gen/aiwg-ops.h"
#include "tasks/project.h"

enum {
        LIST_DEFAULT = 20,
        LIST_BYTES_MAX = 16 << 20,
        LIST_AT_ONCE = 128 << 10, /* a longer one is put together by a worker */
};

typedef struct Listing {
        Carry carry;
        Call *call;
        LedgerRead read;
        bool is_list, is_damaged;
        size_t n;        /* records */
        size_t n_read;   /* of them from the history */
        size_t n_bytes;  /* about */
        Str *texts;      /* empty: from the history, in order; or … */
        TaskView **live; /* … to be written; NULL: not */
        uint64_t *positions;
        Buf joined;
} Listing;

/* A record that somebody overwrote is left out of a list. */
static void write_records(Listing *listing, JsonWriter *w) {
        size_t next = 0;

        if (listing->is_list)
                jw_begin_array(w);
        for (size_t i = 0; i < listing->n; i++) {
                const TaskView *live = listing->live[i];
                bool is_stored = !listing->texts[i].n && !live;
                Str record = is_stored ? task_line_record(ledger_read_line(&listing->read, next++))
                                       : listing->texts[i];

                if (live)
                        task_view_write(live, w);
                else if (!is_stored || json_text_is_object(record))
                        jw_raw(w, record);
                else
                        listing->is_damaged = true;
        }
        if (listing->is_list)
                jw_end_array(w);
}

static int task_list_end(Listing *listing, int r) {
        ledger_read_deinit(&listing->read);
        buf_deinit(&listing->joined);
        if (!r && listing->is_damaged && !listing->is_list)
                return call_fail(listing->call, CALL_E_UNAVAILABLE, "The record of this task is damaged");
        return error_trace(r);
}

static void task_list_join(const Carry *carry) {
        Listing *listing = container_of(carry, Listing, carry);
        JsonWriter w = JSON_WRITER(&listing->joined);

        write_records(listing, &w);
        if (w.failed)
                buf_deinit(&listing->joined);
}

static int task_list_joined(Call *call, const Carry *carry) {
        Listing *listing = container_of(carry, Listing, carry);
        size_t n = listing->joined.n;

        if (n)
                call_give(call, &listing->joined);
        return task_list_end(listing, n || listing->is_damaged ? 0 : error_origin(-ENOMEM));
}

static int task_list_write(Listing *listing) {
        int r;

        if (listing->n_bytes <= LIST_AT_ONCE) {
                write_records(listing, call_result(listing->call));
                return task_list_end(listing, 0);
        }
        r = call_work(listing->call, task_list_join, task_list_joined, &listing->carry);
        return r == CALL_LATER ? r : task_list_end(listing, r);
}

static void task_list_on_read(LedgerRead *read, int r) {
        Listing *listing = container_of(read, Listing, read);
        Call *call = listing->call;

        r = r ? task_list_end(listing, r) : task_list_write(listing);
        if (r != CALL_LATER)
                call_finish(call, r);
}

static int task_list_finish(Listing *listing, Project *project) {
        int r = 0;

        listing->read = (LedgerRead){.done = task_list_on_read};
        if (listing->n_read)
                r = ledger_read(project->store.ledger, &listing->read, listing->positions, listing->n_read);
        if (r == LEDGER_LATER)
                return CALL_LATER;
        return r ? task_list_end(listing, r) : task_list_write(listing);
}

static int new_listing(Call *call, size_t n, Listing **ret) {
        Listing *listing = arena_alloc(&call->arena, sizeof(*listing));

        if (!listing)
                return error_origin(-ENOMEM);
        *listing = (Listing){.call = call};
        listing->texts = arena_alloc(&call->arena, n * sizeof(Str));
        listing->live = arena_alloc(&call->arena, n * sizeof(TaskView *));
        listing->positions = arena_alloc(&call->arena, n * sizeof(uint64_t));
        *ret = listing;
        if (!listing->texts || !listing->live || !listing->positions)
                return error_origin(-ENOMEM);
        memset(listing->live, 0, n * sizeof(TaskView *));
        return 0;
}

/* What a task that waits was kept as is what it still is; a long one is not made again. */
static const Task *task_list_live(const Project *project, uint64_t row) {
        const Task *task = supervisor_find_row(project, row);

        bool is_as_kept = task && task->state == TASK_QUEUED && task->prompt.n > TASK_DRAFT_MIN &&
                          project->store.rows.rows[row].state == TASK_QUEUED;

        return is_as_kept ? NULL : task;
}

/* About how much it will be. */
static int64_t task_list_size(const Project *project, uint64_t row) {
        const Task *task = task_list_live(project, row);

        return task ? (int64_t)(task->prompt.n + task_output(task).n)
                    : ledger_entry(project->store.ledger, project->store.rows.rows[row].position).n_bytes;
}

static int task_list_add_live(Listing *listing, const Task *task, int64_t size) {
        Arena *arena = &listing->call->arena;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        listing->texts[listing->n] = STR_NULL;
        if (size > TASK_DRAFT_MIN) {
                listing->live[listing->n] = task_view_new(arena, task);
                listing->n_bytes = LIST_AT_ONCE + 1;
                return listing->live[listing->n] ? 0 : error_origin(-ENOMEM);
        }
        task_write(task, &w);
        listing->texts[listing->n] = arena_str(arena, buf_str(&text));
        return w.failed || !listing->texts[listing->n].data ? error_origin(-ENOMEM) : 0;
}

/* Adds one; returns its size. */
static int64_t task_list_add(Listing *listing, const Project *project, uint64_t row) {
        const Task *task = task_list_live(project, row);
        int64_t size = task_list_size(project, row);
        int r = 0;

        if (task)
                r = task_list_add_live(listing, task, size);
        else {
                listing->texts[listing->n] = STR_NULL;
                listing->positions[listing->n_read++] = project->store.rows.rows[row].position;
        }
        if (r)
                return error_trace(r);
        listing->n++;
        listing->n_bytes += (size_t)size;
        return size;
}

static int task_list_unavailable(Call *call) {
        return call_fail(call, CALL_E_UNAVAILABLE, "Task store is not available");
}

/* ---- task.list ------------------------------------------------------------------------------- */

int op_aiwg_task_list(Call *call, Project *project, const AiwgTaskListArgs *args) {
        const TaskRows *rows = &project->store.rows;
        TaskState wanted = TASK_QUEUED;
        bool is_known = !args->state.n || task_state_from_name(args->state, &wanted);
        Listing *listing;
        int64_t n_bytes = 0;
        size_t limit;
        int r;

        if (!project->store.is_ready)
                return task_list_unavailable(call);
        limit = (size_t)MIN((uint64_t)(args->limit ? args->limit : LIST_DEFAULT), task_rows_n(rows));
        r = new_listing(call, limit, &listing);
        if (r)
                return error_trace(r);
        listing->is_list = true;
        for (uint64_t row = task_rows_n(rows); is_known && row-- > 0 && listing->n < limit;) {
                TaskState state = supervisor_state_of(project, row);
                int64_t n = 0;

                if (state == TASK_PURGED || (args->state.n && state != wanted))
                        continue;
                if (listing->n && n_bytes + task_list_size(project, row) > LIST_BYTES_MAX)
                        break;
                n = task_list_add(listing, project, row);
                if (n < 0)
                        return (int)n;
                n_bytes += n;
        }
        return task_list_finish(listing, project);
}

/* ---- task.get -------------------------------------------------------------------------------- */

int op_aiwg_task_get(Call *call, Project *project, const AiwgTaskGetArgs *args) {
        Str id = args->taskId;
        int64_t row = project->store.is_ready ? task_rows_find(&project->store.rows, id) : -1;
        Listing *listing;
        int r;

        if (!project->store.is_ready)
                return task_list_unavailable(call);
        if (row < 0 || project->store.rows.rows[row].state == TASK_PURGED)
                return call_fail(call, CALL_E_TASK_NOT_FOUND, "Task not found: " STR_FMT, STR_ARG(id));
        r = new_listing(call, 1, &listing);
        if (!r && task_list_add(listing, project, (uint64_t)row) < 0)
                r = -ENOMEM;
        return r ? error_trace(r) : task_list_finish(listing, project);
}

/* ---- task.stats ------------------------------------------------------------------------------ */

int op_aiwg_task_stats(Call *call, Project *project, _unused_ const AiwgTaskStatsArgs *args) {
        if (!project->store.is_ready)
                return task_list_unavailable(call);
        supervisor_write_stats(project, call_result(call));
        return 0;
}
