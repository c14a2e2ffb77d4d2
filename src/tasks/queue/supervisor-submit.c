/* SPDX-License-Identifier: MIT */
/*
 * A task comes in: kept first, answered then, started if there is a slot.
 */
#define LOG_MODULE "tasks/supervisor"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/utf8.h"
#include "core/environment.h"
#include "core/usage/hold.h"
#include "tasks/project.h"
#include "tasks/queue/supervisor.h"

enum { SHORT_UNITS = 80 };

Str task_short_prompt(Str prompt) {
        size_t n = 0;

        for (int n_units = 0; n < prompt.n;) { /* UTF-16 units: of a character beyond 16 bits two */
                n_units += (unsigned char)prompt.data[n] >= 0xf0 ? 2 : 1;
                if (n_units > SHORT_UNITS)
                        break;
                do
                        n++;
                while (n < prompt.n && utf8_is_tail(prompt.data[n]));
        }
        return (Str){prompt.data, n};
}

static void tell_queued(const Task *task) {
        _cleanup_(buf_deinit) Buf params = BUF_NULL;
        JsonWriter w = JSON_WRITER(&params);

        jw_begin_object(&w);
        jw_field_cstr(&w, "taskId", task->id);
        jw_field_str(&w, "prompt", task_short_prompt(task->prompt));
        jw_field_uint(&w, "queueSize", task->project->supervisor.n_queue);
        jw_end_object(&w);
        if (!w.failed)
                task_tell(task->project, "event.taskQueued", buf_str(&params));
        task_announce(task, "queued");
}

static void submit_failed(Task *task, int r) {
        Call *call = steal(&task->submit);

        log_err(&task->project->daemon->log, task->id, "not kept error=%d", -r);
        task_ticket_kept(task);
        task_ticket_drop(task);
        supervisor_release(task);
        supervisor_unlink(task);
        if (call)
                call_finish(call, r);
        task_free(task);
}

static void on_submitted(LedgerChange *change, int r) {
        Task *task = container_of(change, Task, change);
        Project *project = task->project;
        Supervisor *s = &project->supervisor;

        task->is_keeping = false;
        task_ticket_kept(task);
        buf_deinit(&task->line);
        s->n_submitting--;
        s->n_entering -= !task->is_reserved;
        if (r) {
                project_task_kept(task, r);
                submit_failed(task, r);
                supervisor_pump(project);
                supervisor_check_drained(project);
                return;
        }
        task->row = task_rows_add(&project->store.rows, str_from(task->id), task->state);
        project->store.rows.rows[task->row].since_ms = task->started_us / 1000;
        task_store_note(&project->store, task->row, task->state, change);
        supervisor_add(task);
        project_task_kept(task, 0);
        if (task->is_reserved) {
                task_store_changed(&project->store, NULL);
                supervisor_start(task);
                return;
        }
        supervisor_enqueue(task);
        task_tell_later(task, tell_queued);
        if (s->is_stopping && s->stop != TASK_STOP_LEAVE)
                supervisor_cancel_queue(project); /* it was on its way to the disk when that began */
        supervisor_pump(project);
        supervisor_check_drained(project);
}

/* A long one is not parsed again on the loop. */
static int supervisor_keep_line(Task *task, Str line) {
        char text[TASK_OUTLINE_MAX];
        Str outline = line.n > TASK_DRAFT_MIN ? task_line_outline(line, &text) : STR_NULL;

        if (task->written.n && outline.n)
                return ledger_change_take(&task->change, &task->written, outline);
        return ledger_change_line_as(&task->change, line, outline.n ? outline : line);
}

int supervisor_keep(Task *task, Str line, void (*done)(LedgerChange *change, int r)) {
        int r;

        if (!task_store_is_there(&task->project->store))
                return error_origin(-ESTALE);
        ledger_change_init(&task->change, task->project->store.ledger, done);
        task->change.prepare = task->ticket_text.n ? task_ticket_prepare : NULL;
        r = supervisor_keep_line(task, line);
        if (!r)
                r = ledger_change_commit(&task->change);
        if (r)
                ledger_change_deinit(&task->change);
        task->is_keeping = !r;
        return error_trace(r);
}

int task_put_first(Task *task) {
        JsonWriter w = JSON_WRITER(&task->line);

        task_line_begin_as(&w, task->is_reserved ? "task.running" : "task.queued", task->created_us,
                           task->approval);
        task_write(task, &w);
        task_line_end(&w);
        return w.failed ? error_origin(-ENOMEM) : 0;
}

static void on_ticketed(Task *task, int r) {
        if (!r)
                r = supervisor_keep(task, buf_str(&task->line), on_submitted);
        if (r)
                on_submitted(&task->change, r);
}

/* Its line is there. One that waits is known to the next daemon by its ticket; so is one whose sandbox takes
 * a while to be made. */
static int keep_drafted(Task *task) {
        bool needs_ticket = !task->is_reserved || supervisor_has_sandbox(task->project);
        Str record = task->ticket[0] ? STR_NULL : task_line_record(buf_str(&task->line));
        int r = needs_ticket ? task_ticket_put(task, record, on_ticketed) : TASK_TICKET_E_BESIDE;

        return r != TASK_TICKET_E_BESIDE ? error_trace(r)
                                         : supervisor_keep(task, buf_str(&task->line), on_submitted);
}

/* Tasks are kept in the order in which they got their numbers. */
static void on_drafted(Task *task, int r) {
        Supervisor *s = &task->project->supervisor;

        task->is_drafted = true;
        task->draft_r = r;
        while ((task = s->drafts) && task->is_drafted) {
                s->drafts = task->next_draft;
                r = task->draft_r ? task->draft_r : keep_drafted(task);
                if (r)
                        on_submitted(&task->change, r);
        }
}

static int draft_submitted(Task *task) {
        Task **last = &task->project->supervisor.drafts;
        int r;

        if (task->prompt.n > TASK_DRAFT_MIN)
                r = task_draft_begin(task, NULL, on_drafted);
        else {
                r = task_put_first(task);
                task->is_drafted = true;
        }
        if (r)
                return error_trace(r);
        while (*last)
                last = &(*last)->next_draft;
        *last = task;
        return 0;
}

static int keep_submitted(Task *task) {
        int r;

        if (task->prompt.n > TASK_DRAFT_MIN || task->project->supervisor.drafts)
                return error_trace(draft_submitted(task));
        r = task_put_first(task);
        return error_trace(r ? r : keep_drafted(task));
}

static bool has_slot(const Project *project, const TaskSpec *spec) {
        _cleanup_(strvec_deinit) StrVec caller = {0};
        const Supervisor *s = &project->supervisor;

        if (s->n_slots >= (size_t)project->max_parallel || !TAILQ_EMPTY(&s->queue) || s->n_entering)
                return false;
        return !hold_is_any(project->daemon) ||
               (!environment_put_json(&caller, spec->env) && !supervisor_is_held(project, "new", &caller));
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
        bool is_free = has_slot(project, spec);
        Task *task = NULL;
        int r;

        if (s->is_stopping || !project->store.is_ready || !task_store_is_there(&project->store))
                return SUPERVISOR_E_UNAVAILABLE;
        if (!is_free && project->max_queue && s->n_queue + s->n_held + s->n_entering >= project->max_queue)
                return SUPERVISOR_E_FULL;
        if (!is_free && spec->env && project->tickets.n_env_bytes >= TICKET_ENV_MAX)
                return SUPERVISOR_E_ENV_FULL;
        if (!is_free && s->n_prompt_bytes + spec->prompt.n > TASK_WAITING_MAX)
                return SUPERVISOR_E_TEXT_FULL;
        r = make_task(project, spec, &task);
        if (r)
                return error_trace(r);
        task->submit = call;
        task->says_state = says_state;
        if (is_free) {
                (void)task_become(task, TASK_RUNNING); /* it is new */
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
