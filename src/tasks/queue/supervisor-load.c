/* SPDX-License-Identifier: MIT */
/*
 * After the store was opened: the tasks that had not ended. Those that waited wait again; those that ran are
 * brought together with their agents, which may run, have ended meanwhile, or be gone; a task whose agent
 * cannot be found has failed, since nobody can tell how far it came. Agents without a task are ended.
 */
#define LOG_MODULE "tasks/load"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/time.h"
#include "tasks/project.h"

enum { LOAD_TASKS = 256, LOAD_BYTES = 32 << 20 };

/* What a worker made of the last line of a task. Texts are in the arena of the load. */
typedef struct LoadedTask {
        bool is_whole; /* otherwise the line says nothing */
        Str id, agent, priority, metadata;
        char *prompt;
        size_t n_prompt;
        int64_t created_us;
        char digest[SHA256_HEX_MAX];
} LoadedTask;

struct TaskCall {
        TaskCall *next;
        Call *call;
        ProjectFn fn;
        const Carry *carry;
};

typedef struct TaskLoad {
        Project *project;
        uint64_t next_row;
        uint64_t rows[LOAD_TASKS];
        LoadedTask tasks[LOAD_TASKS];
        size_t n;
        Arena arena;
        LedgerRead read;
        Deferred more;
} TaskLoad;

/* ---- calls that came too early --------------------------------------------------------------- */

int supervisor_call(Call *call, Project *project, ProjectFn fn, const Carry *carry) {
        TaskCall *waiting;

        if (!project->supervisor.is_loading || project->supervisor.is_stopping)
                return fn(call, project, carry);
        waiting = arena_alloc(&call->arena, sizeof(*waiting));
        if (!waiting)
                return error_origin(-ENOMEM);
        *waiting = (TaskCall){project->supervisor.waiting, call, fn, carry};
        project->supervisor.waiting = waiting;
        return CALL_LATER;
}

int project_target(Call *call, ProjectFn fn, const Carry *carry) {
        return supervisor_call(call, call->client->endpoint->context, fn, carry);
}

static void run_waiting(Project *project) {
        TaskCall *list = NULL;

        while (project->supervisor.waiting) { /* oldest first */
                TaskCall *next = project->supervisor.waiting->next;
                project->supervisor.waiting->next = list;
                list = project->supervisor.waiting;
                project->supervisor.waiting = next;
        }
        while (list) {
                TaskCall waiting = *list;
                int r = waiting.call->client ? waiting.fn(waiting.call, project, waiting.carry) : 0;
                list = waiting.next;
                if (r != CALL_LATER)
                        call_finish(waiting.call, r);
        }
}

/* ---- agents ---------------------------------------------------------------------------------- */

static bool supervisor_load_is_of(const Hosted *hosted, const Project *project, const char *task,
                                  Str *ret_task, Arena *arena) {
        Str meta = str_from(hosted->meta);
        Json *json = NULL;

        if (strcmp(hosted->owner, "tasks") != 0 || hosted->is_forgotten ||
            (task && strcmp(hosted->object, task) != 0) ||
            json_parse(arena, meta.data, meta.n, NULL, &json, NULL) ||
            !str_is(json_str(json_get(json, "project")), project->dir))
                return false;
        if (ret_task)
                *ret_task = json_str(json_get(json, "task"));
        return true;
}

static Hosted *find_agent(const Project *project, const char *task) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;

        for (Hosted *h = host_first(project->daemon->host); h; h = h->next)
                if (!h->handler && supervisor_load_is_of(h, project, task, NULL, &arena))
                        return h;
        return NULL;
}

/* Of this project, and nobody's: its task has ended or never was. */
static void end_strays(Project *project) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;

        for (Hosted *h = host_first(project->daemon->host), *next; h; h = next) {
                next = h->next;
                if (h->handler || !supervisor_load_is_of(h, project, NULL, NULL, &arena))
                        continue;
                log_warning(&project->daemon->log, h->id, "agent without a task is ended object=%s",
                            h->object);
                host_discard(h, 0);
                host_forget(h);
        }
}

/* ---- tasks ----------------------------------------------------------------------------------- */

/* Nobody has started it: there would be a folder, or no ticket any more. */
static void load_again(Task *task) {
        (void)task_become(task, TASK_QUEUED); /* it was running */
        task->started_us = 0;
        task->project->store.rows.rows[task->row].since_ms = 0;
        task_rows_set_state(&task->project->store.rows, task->row, TASK_QUEUED);
        supervisor_enqueue(task);
}

static void supervisor_load_resume(Task *task, bool has_ticket) {
        static const TaskEnd lost = {.state = TASK_FAILED,
                                     .error = "daemon restarted: the agent could not be found any more",
                                     .exit_code = -1};
        Hosted *hosted;

        supervisor_add(task);
        hosted = find_agent(task->project, task->id);
        if (task->state == TASK_QUEUED && !hosted) {
                if (has_ticket || !task_tickets_are_needed(task->project))
                        supervisor_enqueue(task);
                else
                        supervisor_hold(task);
                return;
        }
        if (!hosted && has_ticket) {
                load_again(task);
                return;
        }
        if (task->state == TASK_QUEUED) /* started, but that was not kept any more */
                supervisor_run(task);
        else
                supervisor_activate(task);
        if (hosted)
                supervisor_adopt(task, hosted);
        else
                supervisor_end(task, &lost);
}

static Str load_text(TaskLoad *load, Str text) {
        return text.n ? arena_str(&load->arena, text) : STR_NULL;
}

/* A line has 12 MB when the prompt has: parsed, hashed and copied on the loop that took 50 ms. */
static void load_parse(TaskLoad *load, Str line, LoadedTask *ret) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        const Json *record;
        Json *json = NULL;
        Str prompt;

        *ret = (LoadedTask){0};
        if (json_parse(&arena, line.data, line.n, NULL, &json, NULL))
                return;
        record = json_get(json, "task");
        prompt = json_str(json_get(record, "prompt"));
        ret->id = load_text(load, json_str(json_get(record, "id")));
        ret->agent = load_text(load, json_str(json_get(record, "agent")));
        ret->priority = load_text(load, json_raw(json_get(record, "priority")));
        ret->metadata = load_text(load, json_raw(json_get(record, "metadata")));
        ret->prompt = str_dup(prompt);
        ret->n_prompt = prompt.n;
        (void)time_parse(json_str(json_get(record, "createdAt")), &ret->created_us);
        if (sha256_hex(task_line_record(line), ret->digest))
                *ret->digest = 0;
        ret->is_whole = true;
}

static void supervisor_load_take(TaskLoad *load, uint64_t row, LoadedTask *found) {
        const TaskRow *at = &load->project->store.rows.rows[row];
        const TaskSpec spec = {.prompt = {found->prompt, found->n_prompt},
                               .own = &found->prompt,
                               .agent = found->agent,
                               .priority = found->priority,
                               .metadata = found->metadata};
        Task *task = NULL;

        if (!found->is_whole || task_new(&task, load->project, found->id, &spec))
                return;
        supervisor_watch(task);
        task->row = row;
        task->state = (TaskState)at->state;
        task->created_us = found->created_us;
        task->started_us = at->since_ms * 1000;
        supervisor_load_resume(task, task_ticket_claim(task, found->digest));
}

static void supervisor_load_finish(TaskLoad *load) {
        Project *project = load->project;
        Supervisor *s = &project->supervisor;

        arena_deinit(&load->arena);
        free(load);
        s->load = NULL;
        s->is_loading = false;
        task_tickets_settle(project);
        if (s->n_held)
                log_warning(&project->daemon->log, project->dir,
                            "%zu waiting tasks were queued by nobody we know; look at them with: muster "
                            "project trust %s",
                            s->n_held, project->dir);
        end_strays(project);
        run_waiting(project);
        if (s->is_stopping) {
                supervisor_drain(project, s->stop, s->drained);
                return;
        }
        task_store_retain(&project->store);
        project_asks_resume(project);
        supervisor_pump(project);
}

static void supervisor_load_run(void *user) {
        TaskLoad *load = user;

        for (size_t i = 0; i < load->n; i++)
                load_parse(load, ledger_read_line(&load->read, i), &load->tasks[i]);
        ledger_read_deinit(&load->read);
}

static void supervisor_load_done(void *user) {
        TaskLoad *load = user;

        for (size_t i = 0; i < load->n; i++) {
                supervisor_load_take(load, load->rows[i], &load->tasks[i]);
                free(load->tasks[i].prompt);
        }
        arena_reset(&load->arena);
        deferred_schedule(&load->more);
}

static void have_read(TaskLoad *load, int r) {
        if (!r)
                r = loop_work(load->project->daemon->loop, supervisor_load_run, supervisor_load_done, load);
        if (!r)
                return;
        log_err(&load->project->daemon->log, load->project->dir, "tasks not read error=%d", -r);
        ledger_read_deinit(&load->read);
        deferred_schedule(&load->more);
}

static void supervisor_load_on_read(LedgerRead *read, int r) {
        have_read(container_of(read, TaskLoad, read), r);
}

static void load_more(TaskLoad *load) {
        const TaskRows *rows = &load->project->store.rows;
        Ledger *ledger = load->project->store.ledger;
        uint64_t positions[LOAD_TASKS], n_bytes = 0;
        int r;

        for (load->n = 0; load->n < LOAD_TASKS && n_bytes < LOAD_BYTES && load->next_row < task_rows_n(rows);
             load->next_row++) {
                const TaskRow *row = &rows->rows[load->next_row];
                if (task_state_is_final((TaskState)row->state))
                        continue;
                n_bytes += ledger_entry(ledger, row->position).n_bytes;
                load->rows[load->n] = load->next_row;
                positions[load->n++] = row->position;
        }
        if (!load->n) {
                supervisor_load_finish(load);
                return;
        }
        load->read = (LedgerRead){.done = supervisor_load_on_read};
        r = ledger_read(ledger, &load->read, positions, load->n);
        if (r != LEDGER_LATER)
                have_read(load, r);
}

static void supervisor_load_on_more(Deferred *deferred) {
        load_more(container_of(deferred, TaskLoad, more));
}

static void load_failed(Project *project, int r) {
        Supervisor *s = &project->supervisor;

        s->fault = r;
        s->is_loading = false;
        log_err(&project->daemon->log, project->dir, "no task can be taken: the store did not open error=%d",
                -s->fault);
        run_waiting(project);
        if (s->is_stopping)
                supervisor_drain(project, s->stop, s->drained);
}

static void load_on_tickets(Project *project) {
        TaskLoad *load = calloc(1, sizeof(*load));

        if (!load) {
                load_failed(project, -ENOMEM);
                return;
        }
        project->supervisor.load = load;
        load->project = project;
        deferred_init(&load->more, project->daemon->loop, supervisor_load_on_more);
        load_more(load);
}

void supervisor_load(Project *project, int r) {
        if (!r)
                r = task_tickets_load(project, load_on_tickets);
        if (r)
                load_failed(project, r);
}
