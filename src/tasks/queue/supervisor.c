/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "tasks/supervisor"

#include "tasks/queue/supervisor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "core/runtimes.h"
#include "core/usage/agent-account.h"
#include "core/usage/hold.h"
#include "tasks/project.h"

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
                project->store.rows.rows[task->row].since_ms = task->started_us / 1000;
                task_rows_set_state(&project->store.rows, task->row, TASK_RUNNING);
                task_store_cover(&project->store, change); /* the row goes on to point to the whole record */
                task_store_changed(&project->store, NULL);
        }
        if (task->is_ending)
                supervisor_keep_end(task); /* it was faster than the disk */
        supervisor_check_drained(project);
}

static int keep_running(Task *task) {
        _cleanup_(buf_deinit) Buf line = BUF_NULL;
        JsonWriter w = JSON_WRITER(&line);

        task_line_begin(&w, "task.started", task->started_us);
        jw_begin_object(&w);
        jw_field_cstr(&w, "id", task->id);
        jw_field_time_ms(&w, "startedAt", task->started_us);
        jw_end_object(&w);
        task_line_end(&w);
        return w.failed ? error_origin(-ENOMEM) : supervisor_keep(task, buf_str(&line), on_running_kept);
}

void supervisor_run(Task *task) {
        supervisor_activate(task);
        (void)task_become(task, TASK_RUNNING); /* it was in the queue */
        if (keep_running(task))
                log_warning(&task->project->daemon->log, task->id, "start not kept: no memory");
}

/* What an agent with this environment would pay with; NULL: not known. */
static char *supervisor_account(const Project *project, const StrVec *caller) {
        _cleanup_(strvec_deinit) StrVec env = {0};
        Str runtime = str_from(project->runtime->name);

        if (!account_is_known(runtime) || supervisor_env(project, caller, &env))
                return NULL;
        return account_of_list(runtime, &env);
}

bool supervisor_is_held(const Project *project, const char *id, const StrVec *caller) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(freep) char *account = NULL;
        Str place, name;

        if (!hold_is_any(project->daemon))
                return false;
        account = supervisor_account(project, caller);
        place = project_name(project->daemon, &arena, project->dir);
        name = arena_printf(&arena, "task:" STR_FMT "/%s", STR_ARG(place), id);
        return name.data && hold_new(project->daemon, name, NULL, str_from(account), NULL) != HOLD_NOT;
}

/* Others than the first may have another account; NULL: none may begin. */
static Task *supervisor_next(const Project *project) {
        Task *task = TAILQ_FIRST(&project->supervisor.queue);

        for (unsigned n = 0; task && n < TASK_AHEAD_MAX; n++) {
                if (!supervisor_is_held(project, task->id, &task->env))
                        return task;
                task = TAILQ_NEXT(task, link);
        }
        return NULL;
}

void supervisor_pump(Project *project) {
        Supervisor *s = &project->supervisor;

        while (!TAILQ_EMPTY(&s->queue) && !s->is_stopping && s->n_slots < (size_t)project->max_parallel) {
                Task *task = supervisor_next(project);

                if (!task)
                        return;
                supervisor_dequeue(task);
                task->started_us = loop_wall_us(project->daemon->loop);
                supervisor_run(task);
                supervisor_start(task);
        }
}

/* ---- the end --------------------------------------------------------------------------------- */

/* It is on the disk as it is: the next daemon finds it so. One whose end could not be kept is, too: its
 * agent's folder tells how it ended. */
static bool may_be_left(const Task *task) {
        bool is_starting = task->starting || (task->hosted && task->hosted->state == HOSTED_STARTING);

        return !task->is_keeping && !is_starting && (!task->is_ending || timer_is_set(&task->limit));
}

static bool is_drained(const Supervisor *s) {
        const Task *task;

        if (s->n_submitting || s->is_loading)
                return false;
        if (s->stop != TASK_STOP_LEAVE)
                return TAILQ_EMPTY(&s->active) && TAILQ_EMPTY(&s->queue) && TAILQ_EMPTY(&s->held);
        TAILQ_FOREACH (task, &s->active, link)
                if (!may_be_left(task))
                        return false;
        return true;
}

static void finish_drain(Project *project) {
        Supervisor *s = &project->supervisor;
        void (*drained)(Project *) = steal(&s->drained);
        Task *task;

        timer_clear(&s->drain);
        TAILQ_FOREACH (task, &s->active, link) { /* none, unless they are left */
                timer_clear(&task->limit);
                supervisor_leave_agent(task);
        }
        if (drained)
                drained(project);
}

void supervisor_check_drained(Project *project) {
        Supervisor *s = &project->supervisor;

        if (s->is_stopping && s->drained && is_drained(s))
                finish_drain(project);
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
static void supervisor_publish(TaskStoreWait *wait) {
        Task *task = container_of(wait, Task, wait);
        Project *project = task->project;

        (void)task_become(task,
                          task->final_state); /* or it is so already, since its end was not kept at once */
        task_ticket_drop(task);
        supervisor_remove(task);
        supervisor_unlink(task);
        answer_cancel(task);
        task_tell(project, task->farewell_name, buf_str(&task->farewell));
        task_announce(task, task_state_name(task->state));
        project_task_ended(task);
        if (task->hosted) {
                viewer_detach(&task->viewer);
                host_forget(task->hosted);
        }
        task_free(task);
        supervisor_check_drained(project);
}

static void on_end_kept(LedgerChange *change, int r) {
        Task *task = container_of(change, Task, change);

        task->is_keeping = false;
        if (r) { /* a full disk: clients see the end, and we try again until it is kept */
                log_err(&task->project->daemon->log, task->id, "end not kept, trying again error=%d", -r);
                (void)task_become(task, task->final_state);
                answer_cancel(task);
                (void)timer_set(&task->limit, TASK_KEEP_AGAIN_MS);
                supervisor_check_drained(task->project);
                return;
        }
        task->project->store.rows.rows[task->row].since_ms =
                loop_wall_us(task->project->daemon->loop) / 1000;
        task_store_note(&task->project->store, task->row, task->final_state, change);
        task->wait = (TaskStoreWait){.done = supervisor_publish, .is_end = true};
        task_store_changed(&task->project->store, &task->wait);
}

void supervisor_keep_end(Task *task) {
        int r = task->is_keeping || task->draft ? 0
                                                : supervisor_keep(task, buf_str(&task->line), on_end_kept);

        if (r)
                on_end_kept(&task->change, r);
}

void supervisor_keep_end_again(Task *task) {
        const Project *project = task->project;

        if (project->supervisor.is_stopping && project->supervisor.stop != TASK_STOP_LEAVE &&
            !task->is_keeping && !task_store_is_there(&project->store)) {
                log_err(&project->daemon->log, task->id, "end not kept: the project's folder has gone");
                supervisor_publish(&task->wait);
        } else
                supervisor_keep_end(task);
}

static void on_end_made(Task *task, int r) {
        Project *project = task->project;

        if (r) {
                log_err(&project->daemon->log, task->id, "no memory for its end");
                task->is_ending = false;
                (void)timer_set(&task->limit, TASK_KEEP_AGAIN_MS);
        } else
                supervisor_keep_end(task);
}

static void on_end_drafted(Task *task, int r) {
        Project *project = task->project;

        on_end_made(task, r);
        supervisor_check_drained(project);
}

void supervisor_end(Task *task, const TaskEnd *end) {
        Project *project = task->project;
        bool is_long;

        if (task->is_ending || !task_may_become(task->state, end->state))
                return;
        task_tell_now(task); /* it was announced as running, whatever became of it */
        if (task->state == TASK_QUEUED) {
                supervisor_dequeue(task);
                supervisor_link(task);
        }
        timer_clear(&task->limit);
        supervisor_release(task);
        task->is_ending = true;
        task->final_state = end->state;
        log_info(&project->daemon->log, task->id, "%s", task_state_name(end->state));
        is_long = task->prompt.n + task_output(task).n > TASK_DRAFT_MIN;
        if (!is_long || task_draft_begin(task, end, on_end_drafted))
                on_end_made(task, task_make_end(task, end));
        supervisor_pump(project);
}

/* ---- cancel, stop ---------------------------------------------------------------------------- */

int supervisor_cancel(Project *project, Str id, Call *call, bool *ret_is_later) {
        static const TaskEnd cancelled = {
                .state = TASK_CANCELLED, .exit_code = -1, .reason = "cancelled while queued"};
        static const TaskEnd unstarted = {.state = TASK_CANCELLED, .exit_code = -1, .reason = "cancelled"};
        int64_t row = project->store.is_ready ? task_rows_find(&project->store.rows, id) : -1;
        Task *task = row < 0 ? NULL : supervisor_find_row(project, (uint64_t)row);

        *ret_is_later = false;
        if (!project->store.is_ready)
                return SUPERVISOR_E_UNAVAILABLE;
        if (row < 0 || project->store.rows.rows[row].state == TASK_PURGED)
                return SUPERVISOR_E_UNKNOWN;
        if (!task || task->is_ending)
                return SUPERVISOR_E_ENDED;
        if (task->state == TASK_QUEUED || task->starting) { /* what comes of a start is nobody's then */
                *ret_is_later = true;
                task->cancel = call;
                supervisor_end(task, task->starting ? &unstarted : &cancelled);
        } else if (task->hosted)
                host_kill(task->hosted, TASK_KILL_MS);
        else
                task->is_cancelled = true; /* before there is an agent */
        return 0;
}

static void supervisor_kill_all(Project *project) {
        static const TaskEnd killed = {
                .state = TASK_FAILED, .error = "Killed during shutdown", .exit_code = -1};

        for (Task *task = TAILQ_FIRST(&project->supervisor.active), *next; task; task = next) {
                next = TAILQ_NEXT(task, link);
                if (!task->is_ending && task->has_row) {
                        supervisor_end(task, &killed);
                        supervisor_stop_agent(task, 0);
                }
        }
}

static void on_drain(Timer *timer) {
        Project *project = container_of(timer, Project, supervisor.drain);

        if (project->supervisor.stop == TASK_STOP_LEAVE) {
                finish_drain(project); /* as kill -9 would leave them */
                return;
        }
        supervisor_kill_all(project);
        (void)timer_set(timer, 100); /* those that were just being started */
        supervisor_check_drained(project);
}

void supervisor_cancel_queue(Project *project) {
        static const TaskEnd cancelled = {.state = TASK_CANCELLED, .exit_code = -1, .reason = "shutdown"};

        while (!TAILQ_EMPTY(&project->supervisor.queue))
                supervisor_end(TAILQ_FIRST(&project->supervisor.queue), &cancelled);
        while (!TAILQ_EMPTY(&project->supervisor.held))
                supervisor_end(TAILQ_FIRST(&project->supervisor.held), &cancelled);
}

void supervisor_drain(Project *project, TaskStop how, void (*drained)(Project *project)) {
        static const int limits_ms[] = {[TASK_STOP_LEAVE] = SUPERVISOR_LEAVE_MS,
                                        [TASK_STOP_DRAIN] = SUPERVISOR_DRAIN_MS,
                                        [TASK_STOP_KILL] = 0};
        Supervisor *s = &project->supervisor;

        s->is_stopping = true;
        s->stop = how;
        s->drained = drained;
        if (s->is_loading)
                return; /* supervisor_load() comes back here */
        if (how != TASK_STOP_LEAVE)
                supervisor_cancel_queue(project);
        (void)timer_set(&s->drain, limits_ms[how]);
        supervisor_check_drained(project);
}

void supervisor_init_lists(Supervisor *s) {
        TAILQ_INIT(&s->queue);
        TAILQ_INIT(&s->active);
        TAILQ_INIT(&s->held);
}

void supervisor_init(Project *project) {
        Supervisor *s = &project->supervisor;

        *s = (Supervisor){.is_loading = true};
        supervisor_init_lists(s);
        timer_init(&s->drain, project->daemon->loop, on_drain);
}

void supervisor_deinit(Project *project) {
        Supervisor *s = &project->supervisor;
        TaskList *lists[] = {&s->queue, &s->held, &s->active};

        if (s->drain.loop)
                timer_clear(&s->drain);
        for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
                while (!TAILQ_EMPTY(lists[i])) {
                        Task *task = TAILQ_FIRST(lists[i]);
                        supervisor_unlink(task);
                        task_free(task);
                }
        task_followers_free(project);
}
