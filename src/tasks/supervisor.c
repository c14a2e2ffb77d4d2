/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "tasks/supervisor"

#include "tasks/supervisor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "tasks/project.h"

/* ---- lists ----------------------------------------------------------------------------------- */

static void unlink_task(Task *task) {
        if (!task->link)
                return;
        *task->link = task->next;
        if (task->next)
                task->next->link = task->link;
        task->link = NULL;
}

static void link_at(Task *task, Task **at) {
        task->next = *at;
        task->link = at;
        if (task->next)
                task->next->link = &task->next;
        *at = task;
}

void supervisor_add(Task *task) {
        Task **bucket = &task->project->supervisor.buckets[task->row % TASK_BUCKETS];

        task->has_row = true;
        task->next_in_bucket = *bucket;
        *bucket = task;
}

static void remove_task(Task *task) {
        Task **at = &task->project->supervisor.buckets[task->row % TASK_BUCKETS];

        while (task->has_row && *at != task)
                at = &(*at)->next_in_bucket;
        if (task->has_row)
                *at = task->next_in_bucket;
        task->has_row = false;
}

Task *supervisor_find_row(const Project *project, uint64_t row) {
        Task *task = project->supervisor.buckets[row % TASK_BUCKETS];

        while (task && task->row != row)
                task = task->next_in_bucket;
        return task;
}

TaskState supervisor_state_of(const Project *project, uint64_t row) {
        const Task *task = supervisor_find_row(project, row);

        return task ? task->state : (TaskState)project->store.rows.rows[row].state;
}

/* Rows say what is kept; what clients see of a task under way can be a step behind or before that. */
void supervisor_count(const Project *project, uint64_t counts[TASK_N_STATES]) {
        const TaskRows *rows = &project->store.rows;

        memset(counts, 0, TASK_N_STATES * sizeof(counts[0]));
        if (!project->store.is_ready)
                return;
        memcpy(counts, rows->counts, TASK_N_STATES * sizeof(counts[0]));
        for (const Task *task = project->supervisor.active; task; task = task->next)
                if (task->has_row) {
                        counts[rows->rows[task->row].state]--;
                        counts[task->state]++;
                }
}

/* Higher priorities first, equal ones in order of submission. */
void supervisor_enqueue(Task *task) {
        Supervisor *s = &task->project->supervisor;
        Task **at = s->queue_last ? &s->queue_last->next : &s->queue;

        if (s->queue_last && s->queue_last->priority < task->priority)
                for (at = &s->queue; *at && (*at)->priority >= task->priority;)
                        at = &(*at)->next;
        link_at(task, at);
        if (!task->next)
                s->queue_last = task;
        s->n_queue++;
}

static void dequeue(Task *task) {
        Supervisor *s = &task->project->supervisor;

        if (s->queue_last == task)
                s->queue_last = task->link == &s->queue ? NULL : container_of(task->link, Task, next);
        unlink_task(task);
        s->n_queue--;
}

void supervisor_activate(Task *task) {
        Supervisor *s = &task->project->supervisor;

        link_at(task, &s->active);
        task->is_reserved = true;
        s->n_slots++;
}

static void release_slot(Task *task) {
        task->project->supervisor.n_slots -= task->is_reserved;
        task->is_reserved = false;
}

/* ---- submitting ------------------------------------------------------------------------------ */

void supervisor_answer_submit(Task *task) {
        Call *call = steal(&task->submit);
        JsonWriter *w;

        if (!call)
                return;
        w = call_result(call);
        jw_begin_object(w);
        jw_field_cstr(w, "taskId", task->id);
        if (task->says_state)
                jw_field_cstr(w, "state", task_state_name(task->state));
        jw_end_object(w);
        call_finish(call, 0);
}

size_t task_short_prompt(Str prompt) {
        size_t n = 0;

        for (int i = 0; i < 80 && n < prompt.n; i++) /* characters, not bytes */
                do
                        n++;
                while (n < prompt.n && (prompt.data[n] & 0xc0) == 0x80);
        return n;
}

static void tell_queued(const Task *task) {
        _cleanup_(buf_deinit) Buf params = BUF_NULL;
        JsonWriter w = JSON_WRITER(&params);

        jw_begin_object(&w);
        jw_field_cstr(&w, "taskId", task->id);
        jw_field_str(&w, "prompt", (Str){task->prompt.data, task_short_prompt(task->prompt)});
        jw_field_uint(&w, "queueSize", task->project->supervisor.n_queue);
        jw_end_object(&w);
        if (!w.failed)
                task_tell(task->project, "event.taskQueued", buf_str(&params));
        task_announce(task, "queued");
}

static void submit_failed(Task *task, int r) {
        Call *call = steal(&task->submit);

        log_err(&task->project->daemon->log, task->id, "not kept error=%d", -r);
        release_slot(task);
        unlink_task(task);
        if (call)
                call_finish(call, r);
        task_free(task);
}

static void on_submitted(LedgerChange *change, int r) {
        Task *task = container_of(change, Task, change);
        Project *project = task->project;
        Supervisor *s = &project->supervisor;

        task->is_keeping = false;
        s->n_submitting--;
        s->n_entering -= !task->is_reserved;
        if (r) {
                project_task_kept(task, r);
                submit_failed(task, r);
                supervisor_pump(project);
                return;
        }
        task->row = task_rows_add(&project->store.rows, str_from(task->id), task->state,
                                  task->created_us / 1000);
        project->store.rows.rows[task->row].started_ms = task->started_us / 1000;
        task_store_note(&project->store, task->row, task->state, change);
        supervisor_add(task);
        project_task_kept(task, 0);
        task_store_changed(&project->store, NULL);
        if (task->is_reserved) {
                supervisor_start(task);
                return;
        }
        supervisor_enqueue(task);
        supervisor_answer_submit(task);
        tell_queued(task);
        supervisor_pump(project);
}

static int keep(Task *task, Str line, void (*done)(LedgerChange *change, int r)) {
        int r;

        ledger_change_init(&task->change, task->project->store.ledger, done);
        r = ledger_change_line(&task->change, line);
        if (!r)
                r = ledger_change_commit(&task->change);
        if (r)
                ledger_change_deinit(&task->change);
        task->is_keeping = !r;
        return error_trace(r);
}

static int keep_submitted(Task *task) {
        _cleanup_(buf_deinit) Buf line = BUF_NULL;
        JsonWriter w = JSON_WRITER(&line);

        task_line_begin(&w, task->is_reserved ? "task.running" : "task.queued", task->created_us);
        task_write(task, &w);
        task_line_end(&w);
        return w.failed ? error_origin(-ENOMEM) : keep(task, buf_str(&line), on_submitted);
}

static bool has_slot(const Project *project) {
        const Supervisor *s = &project->supervisor;

        return s->n_slots < (size_t)project->max_parallel && !s->queue && !s->n_entering;
}

static int make_task(Project *project, const TaskSpec *spec, Task **ret) {
        TaskRowsHeader *header = project->store.rows.header;
        char id[32];
        int n = snprintf(id, sizeof(id), "task-%04" PRIu64, header->next_number);
        int r = task_rows_reserve(&project->store.rows, project->supervisor.n_submitting + 1);

        if (!r)
                r = task_new(ret, project, (Str){id, (size_t)n}, spec);
        if (r)
                return error_trace(r);
        supervisor_watch(*ret);
        project->store.rows.header->next_number++; /* not header: it may have moved */
        return 0;
}

int supervisor_submit(Project *project, const TaskSpec *spec, Call *call, bool says_state,
                      const char **ret_id) {
        Supervisor *s = &project->supervisor;
        bool is_free = has_slot(project);
        Task *task = NULL;
        int r;

        if (s->is_stopping || !project->store.is_ready)
                return SUPERVISOR_E_UNAVAILABLE;
        if (!is_free && project->max_queue && s->n_queue + s->n_entering >= project->max_queue)
                return SUPERVISOR_E_FULL;
        r = make_task(project, spec, &task);
        if (r)
                return error_trace(r);
        task->submit = call;
        task->says_state = says_state;
        if (is_free) {
                task->state = TASK_RUNNING;
                task->started_us = task->created_us;
                supervisor_activate(task);
        }
        r = keep_submitted(task);
        if (r) {
                task->submit = NULL;
                submit_failed(task, r);
                return error_trace(r);
        }
        s->n_submitting++;
        s->n_entering += !is_free;
        if (ret_id)
                *ret_id = task->id;
        return 0;
}

/* ---- from the queue into a slot -------------------------------------------------------------- */

/* The line that says so is not waited for: until it is kept the agent's own folder tells a later daemon that
 * it was started. */
static void on_running_kept(LedgerChange *change, int r) {
        Task *task = container_of(change, Task, change);
        Project *project = task->project;

        task->is_keeping = false;
        if (r)
                log_warning(&project->daemon->log, task->id, "start not kept error=%d", -r);
        else {
                project->store.rows.rows[task->row].started_ms = task->started_us / 1000;
                task_rows_set_state(&project->store.rows, task->row, TASK_RUNNING);
                task_store_cover(&project->store, change); /* the row goes on to point to the whole record */
                task_store_changed(&project->store, NULL);
        }
        if (task->is_ending)
                supervisor_keep_end(task); /* it was faster than the disk */
}

static int keep_running(Task *task) {
        _cleanup_(buf_deinit) Buf line = BUF_NULL;
        JsonWriter w = JSON_WRITER(&line);

        task_line_begin(&w, "task.started", task->started_us);
        jw_begin_object(&w);
        jw_field_cstr(&w, "id", task->id);
        task_field_time(&w, "startedAt", task->started_us);
        jw_end_object(&w);
        task_line_end(&w);
        return w.failed ? error_origin(-ENOMEM) : keep(task, buf_str(&line), on_running_kept);
}

void supervisor_run(Task *task) {
        supervisor_activate(task);
        task->state = TASK_RUNNING;
        if (keep_running(task))
                log_warning(&task->project->daemon->log, task->id, "start not kept: no memory");
}

void supervisor_pump(Project *project) {
        Supervisor *s = &project->supervisor;

        while (s->queue && !s->is_stopping && s->n_slots < (size_t)project->max_parallel) {
                Task *task = s->queue;
                dequeue(task);
                task->started_us = loop_wall_us(project->daemon->loop);
                supervisor_run(task);
                supervisor_start(task);
        }
}

/* ---- the end --------------------------------------------------------------------------------- */

static void check_drained(Project *project) {
        Supervisor *s = &project->supervisor;

        if (s->is_stopping && s->drained && !s->active && !s->queue && !s->n_submitting) {
                void (*drained)(Project *) = steal(&s->drained);
                timer_clear(&s->drain);
                drained(project);
        }
}

static void answer_cancel(Task *task) {
        Call *call = steal(&task->cancel);
        JsonWriter *w;

        if (!call)
                return;
        w = call_result(call);
        jw_begin_object(w);
        jw_field_bool(w, "cancelled", true);
        jw_end_object(w);
        call_finish(call, 0);
}

/* It is kept: from now on the store answers for it. */
static void publish(TaskStoreWait *wait) {
        Task *task = container_of(wait, Task, wait);
        Project *project = task->project;

        task->state = task->final_state;
        remove_task(task);
        unlink_task(task);
        answer_cancel(task);
        task_tell(project, task->farewell_name, buf_str(&task->farewell));
        task_announce(task, task_state_name(task->state));
        project_task_ended(task);
        if (task->hosted) {
                viewer_detach(&task->viewer);
                host_forget(task->hosted);
        }
        task_free(task);
        check_drained(project);
}

static void on_end_kept(LedgerChange *change, int r) {
        Task *task = container_of(change, Task, change);

        task->is_keeping = false;
        if (r) { /* a full disk: clients see the end, and we try again until it is kept */
                log_err(&task->project->daemon->log, task->id, "end not kept, trying again error=%d", -r);
                task->state = task->final_state;
                answer_cancel(task);
                (void)timer_set(&task->limit, TASK_KEEP_AGAIN_MS);
                return;
        }
        task->project->store.rows.rows[task->row].completed_ms =
                loop_wall_us(task->project->daemon->loop) / 1000;
        task_store_note(&task->project->store, task->row, task->final_state, change);
        task->wait.done = publish;
        task_store_changed(&task->project->store, &task->wait);
}

void supervisor_keep_end(Task *task) {
        int r = task->is_keeping ? 0 : keep(task, buf_str(&task->line), on_end_kept);

        if (r)
                on_end_kept(&task->change, r);
}

void supervisor_end(Task *task, const TaskEnd *end) {
        Project *project = task->project;

        if (task->is_ending || !task_may_become(task->state, end->state))
                return;
        supervisor_answer_submit(task); /* it was announced as running, whatever became of it */
        if (task->state == TASK_QUEUED) {
                dequeue(task);
                link_at(task, &project->supervisor.active);
        }
        timer_clear(&task->limit);
        release_slot(task);
        task->is_ending = true;
        task->final_state = end->state;
        if (task_make_end(task, end)) {
                log_err(&project->daemon->log, task->id, "no memory for its end");
                task->is_ending = false;
                (void)timer_set(&task->limit, TASK_KEEP_AGAIN_MS);
                return;
        }
        log_info(&project->daemon->log, task->id, "%s", task_state_name(end->state));
        supervisor_keep_end(task);
        supervisor_pump(project);
}

/* ---- cancel, stop ---------------------------------------------------------------------------- */

int supervisor_cancel(Project *project, Str id, Call *call, bool *ret_is_later) {
        static const TaskEnd cancelled = {
                .state = TASK_CANCELLED, .exit_code = -1, .reason = "cancelled while queued"};
        int64_t row = project->store.is_ready ? task_rows_find(&project->store.rows, id) : -1;
        Task *task = row < 0 ? NULL : supervisor_find_row(project, (uint64_t)row);

        *ret_is_later = false;
        if (!project->store.is_ready)
                return SUPERVISOR_E_UNAVAILABLE;
        if (row < 0 || project->store.rows.rows[row].state == TASK_PURGED)
                return SUPERVISOR_E_UNKNOWN;
        if (!task || task->is_ending)
                return SUPERVISOR_E_ENDED;
        if (task->state == TASK_QUEUED) {
                *ret_is_later = true;
                task->cancel = call;
                supervisor_end(task, &cancelled);
        } else if (task->hosted)
                host_kill(task->hosted, TASK_KILL_MS);
        else
                task->is_cancelled = true; /* before there is an agent */
        return 0;
}

static void kill_all(Project *project) {
        static const TaskEnd killed = {
                .state = TASK_FAILED, .error = "Killed during shutdown", .exit_code = -1};

        for (Task *task = project->supervisor.active, *next; task; task = next) {
                next = task->next;
                if (!task->is_ending && task->has_row) {
                        supervisor_end(task, &killed);
                        supervisor_stop_agent(task, 0);
                }
        }
}

static void on_drain(Timer *timer) {
        Project *project = container_of(timer, Project, supervisor.drain);

        kill_all(project);
        (void)timer_set(timer, 100); /* those that were just being started */
        check_drained(project);
}

void supervisor_drain(Project *project, bool is_forced, void (*drained)(Project *project)) {
        static const TaskEnd cancelled = {.state = TASK_CANCELLED, .exit_code = -1, .reason = "shutdown"};
        Supervisor *s = &project->supervisor;

        s->is_stopping = true;
        s->is_forced = is_forced;
        s->drained = drained;
        if (s->is_loading)
                return; /* supervisor_load() comes back here */
        while (s->queue)
                supervisor_end(s->queue, &cancelled);
        (void)timer_set(&s->drain, is_forced ? 0 : SUPERVISOR_DRAIN_MS);
        check_drained(project);
}

void supervisor_init(Project *project) {
        Supervisor *s = &project->supervisor;

        *s = (Supervisor){.is_loading = true};
        timer_init(&s->drain, project->daemon->loop, on_drain);
}

void supervisor_deinit(Project *project) {
        Supervisor *s = &project->supervisor;

        if (s->drain.loop)
                timer_clear(&s->drain);
        for (Task **list = &s->queue;; list = &s->active) {
                while (*list) {
                        Task *task = *list;
                        unlink_task(task);
                        task_free(task);
                }
                if (list == &s->active)
                        break;
        }
        task_followers_free(project);
}
