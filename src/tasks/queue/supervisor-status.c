/* SPDX-License-Identifier: MIT */
/*
 * What daemon.status, task.stats and state.json say of tasks.
 */
#include "tasks/project.h"

static void begin_item(JsonWriter *w, const Task *task) {
        jw_begin_object(w);
        jw_field_cstr(w, "id", task->id);
        jw_field_str(w, "prompt", task_short_prompt(task->prompt));
        jw_field_cstr(w, "agent", task->agent);
}

static void supervisor_status_write_item(JsonWriter *w, const Task *task) {
        begin_item(w, task);
        jw_field_time_ms(w, "startedAt", task->started_us);
        if (task->hosted && task->hosted->pid)
                jw_field_int(w, "pid", task->hosted->pid);
        else
                jw_field_null(w, "pid");
        jw_end_object(w);
}

/* In the order in which they were started: the list has the newest first. */
static void write_running(const Supervisor *s, JsonWriter *w) {
        const Task *task;

        jw_key(w, "running");
        jw_begin_array(w);
        TAILQ_FOREACH_REVERSE (task, &s->active, TaskList, link)
                if (task->state == TASK_RUNNING && task->has_row)
                        supervisor_status_write_item(w, task);
        jw_end_array(w);
}

static void write_waiting(JsonWriter *w, const Task *task) {
        begin_item(w, task);
        jw_key(w, "priority");
        jw_raw(w, str_from(task->priority_text));
        jw_end_object(w);
}

static void write_queued(const Supervisor *s, JsonWriter *w) {
        const Task *task;

        jw_key(w, "queued");
        jw_begin_array(w);
        TAILQ_FOREACH (task, &s->queue, link)
                write_waiting(w, task);
        TAILQ_FOREACH (task, &s->held, link)
                write_waiting(w, task);
        jw_end_array(w);
}

void supervisor_write(const Project *project, JsonWriter *w, const char *limit_key) {
        uint64_t counts[TASK_N_STATES];

        supervisor_count(project, counts);
        jw_begin_object(w);
        jw_field_uint(w, "running", counts[TASK_RUNNING]);
        jw_field_uint(w, "queued", counts[TASK_QUEUED]);
        jw_field_int(w, limit_key, project->max_parallel);
        jw_key(w, "tasks");
        jw_begin_object(w);
        write_running(&project->supervisor, w);
        write_queued(&project->supervisor, w);
        jw_end_object(w);
        jw_end_object(w);
}

void supervisor_write_stats(const Project *project, JsonWriter *w) {
        uint64_t counts[TASK_N_STATES], total = 0;

        supervisor_count(project, counts);
        for (int i = 0; i < TASK_N_STATES; i++)
                total += counts[i];
        jw_begin_object(w);
        jw_field_uint(w, "total", total);
        for (int i = 0; i < TASK_N_STATES; i++)
                jw_field_uint(w, task_state_name((TaskState)i), counts[i]);
        jw_end_object(w);
}
