/* SPDX-License-Identifier: MIT */
/*
 * task.list, task.get, task.stats: records of tasks under way come from memory, those of ended ones from the
 * history, byte for byte. A list that would be longer than LIST_BYTES_MAX ends early.
 */
#include <errno.h>

#include "base/error.h"
#include "core/daemon.h"
#include "gen/aiwg-ops.h"
#include "tasks/project.h"

enum { LIST_DEFAULT = 20, LIST_BYTES_MAX = 24 << 20 };

typedef struct Listing {
        Call *call;
        LedgerRead read;
        bool is_list;
        size_t n;      /* records */
        size_t n_read; /* of them from the history */
        Str *texts;    /* empty: from the history, in order */
        uint64_t *positions;
} Listing;

/* A record that somebody overwrote is left out of a list. */
static int write_records(Listing *listing) {
        JsonWriter *w = call_result(listing->call);
        size_t next = 0;

        if (listing->is_list)
                jw_begin_array(w);
        for (size_t i = 0; i < listing->n; i++) {
                bool is_stored = !listing->texts[i].n;
                Str record = is_stored ? task_line_record(ledger_read_line(&listing->read, next++))
                                       : listing->texts[i];

                if (!is_stored || json_text_is_object(record))
                        jw_raw(w, record);
                else if (!listing->is_list)
                        return call_fail(listing->call, CALL_E_UNAVAILABLE,
                                         "The record of this task is damaged");
        }
        if (listing->is_list)
                jw_end_array(w);
        return 0;
}

static void task_list_on_read(LedgerRead *read, int r) {
        Listing *listing = container_of(read, Listing, read);
        Call *call = listing->call;

        if (!r)
                r = write_records(listing);
        ledger_read_deinit(read);
        call_finish(call, r);
}

static int task_list_finish(Listing *listing, Project *project) {
        int r = 0;

        listing->read = (LedgerRead){.done = task_list_on_read};
        if (listing->n_read)
                r = ledger_read(project->store.ledger, &listing->read, listing->positions, listing->n_read);
        if (r == LEDGER_LATER)
                return CALL_LATER;
        if (!r)
                r = write_records(listing);
        ledger_read_deinit(&listing->read);
        return error_trace(r);
}

static int new_listing(Call *call, size_t n, Listing **ret) {
        Listing *listing = arena_alloc(&call->arena, sizeof(*listing));

        if (!listing)
                return error_origin(-ENOMEM);
        *listing = (Listing){.call = call};
        listing->texts = arena_alloc(&call->arena, n * sizeof(Str));
        listing->positions = arena_alloc(&call->arena, n * sizeof(uint64_t));
        *ret = listing;
        return listing->texts && listing->positions ? 0 : error_origin(-ENOMEM);
}

/* Adds one; returns its size. */
static int64_t task_list_add(Listing *listing, const Project *project, uint64_t row) {
        const Task *task = supervisor_find_row(project, row);
        uint64_t position = project->store.rows.rows[row].position;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        if (!task) {
                listing->texts[listing->n++] = STR_NULL;
                listing->positions[listing->n_read++] = position;
                return ledger_entry(project->store.ledger, position).n_bytes;
        }
        task_write(task, &w);
        listing->texts[listing->n] = arena_str(&listing->call->arena, buf_str(&text));
        if (w.failed || !listing->texts[listing->n].data)
                return error_origin(-ENOMEM);
        listing->n++;
        return (int64_t)text.n;
}

static int task_list_unavailable(Call *call) {
        return call_fail(call, CALL_E_UNAVAILABLE, "Task store is not available");
}

/* ---- task.list ------------------------------------------------------------------------------- */

static int task_list_run_list(Call *call, const void *arguments) {
        const AiwgTaskListArgs *args = arguments;
        Project *project = call->client->endpoint->context;
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
        for (uint64_t row = task_rows_n(rows);
             is_known && row-- > 0 && listing->n < limit && n_bytes < LIST_BYTES_MAX;) {
                TaskState state = supervisor_state_of(project, row);
                int64_t n = 0;
                if (state != TASK_PURGED && (!args->state.n || state == wanted))
                        n = task_list_add(listing, project, row);
                if (n < 0)
                        return (int)n;
                n_bytes += n;
        }
        return task_list_finish(listing, project);
}

int op_aiwg_task_list(Call *call, const AiwgTaskListArgs *args) {
        int r;

        return supervisor_must_wait(call->client->endpoint->context, call, task_list_run_list, args, &r)
                       ? r
                       : task_list_run_list(call, args);
}

/* ---- task.get -------------------------------------------------------------------------------- */

static int task_list_run_get(Call *call, const void *args) {
        Project *project = call->client->endpoint->context;
        Str id = ((const AiwgTaskGetArgs *)args)->taskId;
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

int op_aiwg_task_get(Call *call, const AiwgTaskGetArgs *args) {
        int r;

        return supervisor_must_wait(call->client->endpoint->context, call, task_list_run_get, args, &r)
                       ? r
                       : task_list_run_get(call, args);
}

/* ---- task.stats ------------------------------------------------------------------------------ */

static int task_list_run_stats(Call *call, _unused_ const void *args) {
        Project *project = call->client->endpoint->context;

        if (!project->store.is_ready)
                return task_list_unavailable(call);
        supervisor_write_stats(project, call_result(call));
        return 0;
}

int op_aiwg_task_stats(Call *call, const AiwgTaskStatsArgs *args) {
        int r;

        return supervisor_must_wait(call->client->endpoint->context, call, task_list_run_stats, args, &r)
                       ? r
                       : task_list_run_stats(call, args);
}
