/* SPDX-License-Identifier: MIT */
#include "tasks/task.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/time.h"
#include "tasks/project.h"

static const char *const state_names[TASK_N_STATES] = {
        [TASK_QUEUED] = "queued", [TASK_RUNNING] = "running",     [TASK_COMPLETED] = "completed",
        [TASK_FAILED] = "failed", [TASK_CANCELLED] = "cancelled",
};

/* From (row) to (column). A queued task fails when its agent cannot even be tried. */
static const bool transitions[TASK_N_STATES][TASK_N_STATES] = {
        [TASK_QUEUED] = {[TASK_RUNNING] = true, [TASK_CANCELLED] = true, [TASK_FAILED] = true},
        [TASK_RUNNING] = {[TASK_COMPLETED] = true, [TASK_FAILED] = true, [TASK_CANCELLED] = true},
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

/* ---- life ------------------------------------------------------------------------------------ */

static char *task_copy(Str s, const char *fallback) {
        return s.n ? strndup(s.data, s.n) : fallback ? strdup(fallback) : NULL;
}

static bool task_fill(Task *task, Str id, const TaskSpec *spec) {
        char *prompt = malloc(spec->prompt.n + 1);

        if (prompt) { /* not strndup: it may hold NULs */
                memcpy(prompt, spec->prompt.data, spec->prompt.n);
                prompt[spec->prompt.n] = 0;
        }
        task->prompt = (Str){prompt, spec->prompt.n};
        task->id = task_copy(id, "");
        task->agent = task_copy(spec->agent, NULL);
        task->priority_text = task_copy(spec->priority, "0");
        task->metadata = task_copy(spec->metadata, "{}");
        task->priority = task->priority_text ? strtod(task->priority_text, NULL) : 0;
        if (environment_put_json(&task->env, spec->env))
                return false;
        return prompt && task->id && (task->agent || !spec->agent.n) && task->priority_text &&
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
        *ret = task;
        return 0;
}

Task *task_free(Task *task) {
        if (!task)
                return NULL;
        viewer_detach(&task->viewer);
        supervisor_drop_spawn(task);
        if (task->limit.loop)
                timer_clear(&task->limit);
        if (task->news)
                task->news->task = NULL;
        free(task->id);
        free((char *)task->prompt.data);
        free(task->agent);
        free(task->priority_text);
        free(task->metadata);
        strvec_deinit(&task->env);
        buf_deinit(&task->line);
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

void task_write(const Task *task, JsonWriter *w) {
        if (task_state_is_final(task->state) && task->line.n) { /* it has ended, but is not kept yet */
                jw_raw(w, task_line_record(buf_str(&task->line)));
                return;
        }
        write_head(task, w, task->state, 0);
        if (task->hosted && task->hosted->pid && task->state == TASK_RUNNING)
                jw_field_int(w, "pid", task->hosted->pid);
        else
                jw_field_null(w, "pid");
        jw_field_null(w, "result");
        write_tail(w, NULL, task_output(task), str_from(task->metadata));
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
        char text[TIME_TEXT_MAX];

        time_format_us(now_us, text);
        jw_begin_object(w);
        jw_field_int(w, "v", 1);
        jw_field_cstr(w, "ts", text);
        jw_field_cstr(w, "kind", kind);
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
