/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "company/index"

#include "company/index/worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "company/index/index-internal.h"
#include "company/index/turn.h"
#include "core/client.h"

typedef struct WorkerItem { /* one workspace that was named */
        IndexTurn turn;
        IndexWorker *worker;
        struct WorkerItem *next;
        IndexReport report;
        int r;
} WorkerItem;

typedef struct WorkerWait {
        Call *call;
        struct WorkerWait *next;
} WorkerWait;

struct IndexWorker {
        Company *company;
        Timer timer;
        WorkerItem *first, **last; /* not begun yet */
        size_t n_pending;
        bool is_running;
        WorkerWait *waits;
        int64_t notified_ms, ran_ms, began_ms, ended_ms, failed_ms; /* wall clock; 0: never */
        int64_t began_at_ms;                                        /* of the loop's clock */
        uint64_t n_notified, n_batches, n_tried, n_failed;
        char *notified, *failed; /* workspaces */
        char why[200];
};

static int64_t worker_wall_ms(const IndexWorker *worker) {
        return loop_wall_us(worker->company->daemon->loop) / 1000;
}

static void worker_copy(char **to, const char *text) {
        char *copy = strdup(text);

        if (!copy)
                return;
        free(*to);
        *to = copy;
}

/* ---- a batch --------------------------------------------------------------------------------- */

static void worker_next(IndexWorker *worker);

static void worker_sync(void *user) {
        WorkerItem *item = user;

        item->r = index_sync(item->turn.workspace->index, &item->report);
}

static void worker_finish(WorkerItem *item) {
        IndexWorker *worker = item->worker;
        Workspace *workspace = item->turn.workspace;

        if (item->r && item->r != -ECANCELED) {
                const char *why = item->r < 0 ? strerror(-item->r) : index_why(workspace->index);

                worker->n_failed++;
                worker->failed_ms = worker_wall_ms(worker);
                worker_copy(&worker->failed, workspace->path);
                snprintf(worker->why, sizeof(worker->why), "%s", why);
                log_warning(&worker->company->daemon->log, workspace->path, "cannot sync the index: %s",
                            why);
        }
        worker->n_tried++;
        workspace_unref(workspace);
        free(item);
        worker_next(worker);
}

static void worker_synced(void *user) {
        WorkerItem *item = user;

        index_turn_over(item->turn.workspace);
        worker_finish(item);
}

static void worker_start_item(IndexTurn *turn) {
        WorkerItem *item = container_of(turn, WorkerItem, turn);

        if (loop_work(item->worker->company->daemon->loop, worker_sync, worker_synced, item)) {
                item->r = -ENOMEM;
                worker_synced(item);
        }
}

static void worker_answer(IndexWorker *worker) {
        while (worker->waits) {
                WorkerWait *wait = worker->waits;

                worker->waits = wait->next;
                index_worker_write(worker->company, call_result(wait->call));
                call_finish(wait->call, 0);
        }
}

static void worker_plan(IndexWorker *worker) {
        const int64_t since_ms = loop_now_ms(worker->company->daemon->loop) - worker->began_at_ms;
        const int64_t rest_ms = worker->n_batches ? INDEX_INTERVAL_MS - since_ms : 0;

        if (!worker->is_running && worker->first && !timer_is_set(&worker->timer))
                (void)timer_set(&worker->timer, MAX((int64_t)INDEX_DEBOUNCE_MS, rest_ms));
}

static void worker_next(IndexWorker *worker) {
        WorkerItem *item = worker->first;

        if (item) {
                worker->first = item->next;
                worker->n_pending--;
                item->turn.workspace->index->is_pending = false;
                item->r = index_turn(&item->turn);
                if (item->r)
                        worker_finish(item);
                return;
        }
        worker->is_running = false;
        worker->ended_ms = worker->ran_ms = worker_wall_ms(worker);
        worker_answer(worker);
}

static void worker_begin(IndexWorker *worker) {
        timer_clear(&worker->timer);
        worker->is_running = true;
        worker->n_batches++;
        worker->began_ms = worker_wall_ms(worker);
        worker->began_at_ms = loop_now_ms(worker->company->daemon->loop);
        worker_next(worker);
}

static void worker_on_timer(Timer *timer) {
        IndexWorker *worker = container_of(timer, IndexWorker, timer);

        if (!worker->is_running && worker->first && !worker->company->is_stopping)
                worker_begin(worker);
}

/* ---- what is asked of it --------------------------------------------------------------------- */

static IndexWorker *worker_of(Company *company) {
        IndexWorker *worker = company->index_worker;

        if (worker)
                return worker;
        worker = calloc(1, sizeof(*worker));
        if (!worker)
                return NULL;
        worker->company = company;
        worker->last = &worker->first;
        timer_init(&worker->timer, company->daemon->loop, worker_on_timer);
        company->index_worker = worker;
        return worker;
}

static int worker_push(IndexWorker *worker, Workspace *workspace) {
        WorkerItem *item;

        if (index_attach(workspace))
                return error_origin(-ENOMEM);
        if (workspace->index->is_pending)
                return 0;
        item = calloc(1, sizeof(*item));
        if (!item)
                return error_origin(-ENOMEM);
        item->worker = worker;
        item->turn = (IndexTurn){.workspace = workspace_ref(workspace), .start = worker_start_item};
        if (!worker->first)
                worker->last = &worker->first;
        *worker->last = item;
        worker->last = &item->next;
        worker->n_pending++;
        workspace->index->is_pending = true;
        return 0;
}

/* Without memory the next snapshot finds the events itself. */
void index_notify(Workspace *workspace) {
        IndexWorker *worker = worker_of(workspace->company);

        if (!worker || workspace->company->daemon->is_stopping)
                return;
        worker->n_notified++;
        worker->notified_ms = worker_wall_ms(worker);
        if (!worker->notified || strcmp(worker->notified, workspace->path) != 0)
                worker_copy(&worker->notified, workspace->path);
        if (!worker_push(worker, workspace))
                worker_plan(worker);
}

int index_worker_flush(Call *call) {
        IndexWorker *worker = call->daemon->company->index_worker;
        WorkerWait *wait;

        if (!worker || (!worker->is_running && !worker->first)) {
                index_worker_write(call->daemon->company, call_result(call));
                return 0;
        }
        wait = arena_alloc(&call->arena, sizeof(*wait));
        if (!wait)
                return error_origin(-ENOMEM);
        *wait = (WorkerWait){.call = call, .next = worker->waits};
        worker->waits = wait;
        if (!worker->is_running)
                worker_begin(worker);
        return CALL_LATER;
}

static void worker_write_ms(JsonWriter *w, const char *key, int64_t ms) {
        if (ms)
                jw_field_int(w, key, ms);
        else
                jw_field_null(w, key);
}

void index_worker_write(const Company *company, JsonWriter *w) {
        static const IndexWorker none;
        const IndexWorker *worker = company->index_worker ? company->index_worker : &none;

        jw_begin_object(w);
        jw_field_bool(w, "enabled", true);
        jw_field_bool(w, "running", worker->is_running);
        jw_field_bool(w, "closed", false);
        jw_field_uint(w, "pending_workspaces", worker->n_pending);
        jw_field_int(w, "debounce_ms", INDEX_DEBOUNCE_MS);
        jw_field_int(w, "min_interval_ms", INDEX_INTERVAL_MS);
        worker_write_ms(w, "last_run_at_ms", worker->ran_ms);
        worker_write_ms(w, "last_notify_at_ms", worker->notified_ms);
        jw_field_cstr(w, "last_notified_workspace", worker->notified);
        worker_write_ms(w, "last_batch_started_at_ms", worker->began_ms);
        worker_write_ms(w, "last_batch_completed_at_ms", worker->ended_ms);
        jw_field_uint(w, "total_notify_calls", worker->n_notified);
        jw_field_uint(w, "total_batches", worker->n_batches);
        jw_field_uint(w, "total_workspace_sync_attempts", worker->n_tried);
        jw_field_uint(w, "total_workspace_sync_errors", worker->n_failed);
        jw_field_cstr(w, "last_error_message", worker->n_failed ? worker->why : NULL);
        jw_field_cstr(w, "last_error_workspace", worker->failed);
        worker_write_ms(w, "last_error_at_ms", worker->failed_ms);
        jw_end_object(w);
}

IndexWorker *index_worker_free(IndexWorker *worker) {
        if (!worker)
                return NULL;
        timer_clear(&worker->timer);
        while (worker->first) {
                WorkerItem *item = worker->first;

                worker->first = item->next;
                workspace_unref(item->turn.workspace);
                free(item);
        }
        free(worker->notified);
        free(worker->failed);
        free(worker);
        return NULL;
}
