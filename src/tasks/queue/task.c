/* SPDX-License-Identifier: MIT */
#include "tasks/queue/task.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/time.h"
#include "core/request.h"
#include "tasks/project.h"

static const char *const state_names[TASK_N_STATES] = {
        [TASK_QUEUED] = "queued", [TASK_RUNNING] = "running",     [TASK_COMPLETED] = "completed",
        [TASK_FAILED] = "failed", [TASK_CANCELLED] = "cancelled",
};

/* From (row) to (column). A queued task fails when its agent cannot even be tried; a running one is queued again
 * when a daemon died before it had started the agent. What has ended stays as it is. */
static const bool transitions[TASK_N_STATES][TASK_N_STATES] = {
        [TASK_QUEUED] = {[TASK_RUNNING] = true, [TASK_CANCELLED] = true, [TASK_FAILED] = true},
        [TASK_RUNNING] = {[TASK_QUEUED] = true,
                          [TASK_COMPLETED] = true,
                          [TASK_FAILED] = true,
                          [TASK_CANCELLED] = true},
};

const char *task_state_name(TaskState state) {
        return state < TASK_N_STATES ? state_names[state] : "purged";
}

bool task_state_from_name(Str name, TaskState *ret) {
        for (int i = 0; i < TASK_N_STATES; i++)
                if (str_is(name, state_names[i])) {
                        *ret = (TaskState)i;
                        return true;
                }
        return false;
}

bool task_may_become(TaskState from, TaskState to) {
        return from < TASK_N_STATES && to < TASK_N_STATES && transitions[from][to];
}

bool task_become(Task *task, TaskState to) {
        if (!task_may_become(task->state, to))
                return false;
        task->state = to;
        return true;
}

/* ---- life ------------------------------------------------------------------------------------ */

static char *task_copy(Str s, const char *fallback) {
        return s.n ? str_dup(s) : fallback ? strdup(fallback) : NULL;
}

static bool task_fill(Task *task, Str id, const TaskSpec *spec) {
        if (spec->own)
                task->prompt = (Str){steal(spec->own), spec->prompt.n};
        else if (spec->request && spec->prompt.n > TASK_DRAFT_MIN) {
                task->borrowed = request_ref(spec->request);
                task->prompt = spec->prompt;
        } else
                task->prompt = (Str){str_dup(spec->prompt), spec->prompt.n};
        if (spec->approval.n < sizeof(task->approval))
                memcpy(task->approval, spec->approval.n ? spec->approval.data : "", spec->approval.n);
        task->id = task_copy(id, "");
        task->agent = task_copy(spec->agent, NULL);
        task->priority_text = task_copy(spec->priority, "0");
        task->metadata = task_copy(spec->metadata, "{}");
        task->priority = task->priority_text ? strtod(task->priority_text, NULL) : 0;
        if (environment_put_json(&task->env, spec->env))
                return false;
        return task->prompt.data && task->id && (task->agent || !spec->agent.n) && task->priority_text &&
               task->metadata;
}

int task_new(Task **ret, Project *project, Str id, const TaskSpec *spec) {
        Task *task = calloc(1, sizeof(*task));

        if (!task)
                return error_origin(-ENOMEM);
        task->project = project;
        task->created_us = loop_wall_us(project->daemon->loop);
        if (!task_fill(task, id, spec)) {
                task_free(task);
                return error_origin(-ENOMEM);
        }
        task->n_counted = task->prompt.n;
        project->supervisor.n_prompt_bytes += task->n_counted;
        *ret = task;
        return 0;
}

void task_drop_prompt(Task *task) {
        if (task->borrowed)
                request_unref(task->borrowed);
        else
                free((char *)task->prompt.data);
        task->borrowed = NULL;
        task->prompt = STR_NULL;
}

Task *task_free(Task *task) {
        if (!task)
                return NULL;
        viewer_detach(&task->viewer);
        supervisor_drop_spawn(task);
        task_ticket_forget(task);
        if (task->limit.loop)
                timer_clear(&task->limit);
        if (task->news)
                task->news->task = NULL;
        if (task->draft)
                task_draft_leave(task);
        task->project->supervisor.n_prompt_bytes -= task->n_counted;
        free(task->id);
        task_drop_prompt(task);
        free(task->agent);
        free(task->priority_text);
        free(task->metadata);
        strvec_deinit(&task->env);
        buf_deinit(&task->line);
        buf_deinit(&task->written);
        buf_deinit(&task->ticket_text);
        buf_deinit(&task->farewell);
        free(task);
        return NULL;
}

Str task_output(const Task *task) {
        return task->hosted && task->hosted->out.header ? hosted_scrollback(task->hosted, TASK_OUTPUT_MAX)
                                                        : STR_NULL;
}

/* ---- the record ------------------------------------------------------------------------------ */

static void write_head(const Task *task, JsonWriter *w, TaskState state, int64_t completed_us) {
        jw_begin_object(w);
        jw_field_cstr(w, "id", task->id);
        jw_field_str(w, "prompt", task->prompt);
        jw_field_cstr(w, "agent", task->agent);
        jw_key(w, "priority");
        jw_raw(w, str_from(task->priority_text));
        jw_field_cstr(w, "state", task_state_name(state));
        jw_field_time_ms(w, "createdAt", task->created_us);
        jw_field_time_ms(w, "startedAt", task->started_us);
        jw_field_time_ms(w, "completedAt", completed_us);
}

static void write_tail(JsonWriter *w, const char *error, Str output, Str metadata) {
        jw_field_cstr(w, "error", error);
        jw_field_str(w, "output", output.n ? output : STR(""));
        jw_key(w, "metadata");
        jw_raw(w, metadata);
        jw_end_object(w);
}

static pid_t task_pid(const Task *task) {
        return task->hosted && task->state == TASK_RUNNING ? task->hosted->pid : 0;
}

static void task_write_as(const Task *task, JsonWriter *w, pid_t pid, Str output) {
        write_head(task, w, task->state, 0);
        if (pid)
                jw_field_int(w, "pid", pid);
        else
                jw_field_null(w, "pid");
        jw_field_null(w, "result");
        write_tail(w, NULL, output, str_from(task->metadata));
}

void task_write(const Task *task, JsonWriter *w) {
        if (task_state_is_final(task->state) && task->line.n) /* it has ended, but is not kept yet */
                jw_raw(w, task_line_record(buf_str(&task->line)));
        else
                task_write_as(task, w, task_pid(task), task_output(task));
}

struct TaskView {
        Task task;
        pid_t pid;
        Str output;
        Str text; /* the whole record, of one whose end is not kept yet; else empty */
};

static char *task_view_copy(Arena *arena, const char *text, bool *is_whole) {
        char *copy = text ? (char *)arena_str(arena, str_from(text)).data : NULL;

        *is_whole &= copy || !text;
        return copy;
}

TaskView *task_view_new(Arena *arena, const Task *task) {
        TaskView *view = arena_alloc(arena, sizeof(*view));
        bool is_final = task_state_is_final(task->state) && task->line.n, is_whole = true;

        if (!view)
                return NULL;
        *view = (TaskView){.task = *task, .pid = task_pid(task)};
        if (is_final) {
                view->text = arena_str(arena, task_line_record(buf_str(&task->line)));
                return view->text.data ? view : NULL;
        }
        view->output = arena_str(arena, task_output(task));
        view->task.prompt = arena_str(arena, task->prompt);
        view->task.id = task_view_copy(arena, task->id, &is_whole);
        view->task.agent = task_view_copy(arena, task->agent, &is_whole);
        view->task.priority_text = task_view_copy(arena, task->priority_text, &is_whole);
        view->task.metadata = task_view_copy(arena, task->metadata, &is_whole);
        return is_whole && view->output.data && view->task.prompt.data ? view : NULL;
}

void task_view_write(const TaskView *view, JsonWriter *w) {
        if (view->text.n)
                jw_raw(w, view->text);
        else
                task_write_as(&view->task, w, view->pid, view->output);
}

void task_write_end(const Task *task, JsonWriter *w, const TaskEnd *end, int64_t completed_us, Str metadata,
                    Str output) {
        write_head(task, w, end->state, completed_us);
        jw_field_null(w, "pid");
        jw_key(w, "result");
        if (end->state == TASK_COMPLETED)
                jw_str(w, output.n ? output : STR(""));
        else
                jw_null(w);
        write_tail(w, end->error, output, metadata);
}

/* ---- lines of the history -------------------------------------------------------------------- */

static const Str record_key = {",\"task\":", 8};
enum { LINE_HEAD_MAX = 160 }; /* the record begins before this */

void task_line_begin(JsonWriter *w, const char *kind, int64_t now_us) {
        task_line_begin_as(w, kind, now_us, "");
}

void task_line_begin_as(JsonWriter *w, const char *kind, int64_t now_us, const char *approval) {
        char text[TIME_TEXT_MAX];

        time_format_us(now_us, text);
        jw_begin_object(w);
        jw_field_int(w, "v", 1);
        jw_field_cstr(w, "ts", text);
        jw_field_cstr(w, "kind", kind);
        if (*approval)
                jw_field_cstr(w, "approval", approval);
        jw_key(w, "task");
}

void task_line_end(JsonWriter *w) {
        jw_end_object(w);
}

Str task_line_record(Str line) {
        const char *at =
                memmem(line.data, MIN(line.n, (size_t)LINE_HEAD_MAX), record_key.data, record_key.n);
        size_t n = at ? (size_t)(at - line.data) + record_key.n : 0;

        if (!at || line.n < n + 3)
                return STR_NULL;
        return (Str){line.data + n, line.n - n - 1};
}

Str task_line_outline(Str line, char (*text)[TASK_OUTLINE_MAX]) {
        Str record = task_line_record(line);
        size_t n = record.n ? (size_t)(record.data - line.data) : 0;

        if (!n || n + 4 > sizeof(*text))
                return STR_NULL;
        memcpy(*text, line.data, n);
        memcpy(*text + n, "{}}", 4);
        return (Str){*text, n + 3};
}
