/* SPDX-License-Identifier: MIT */
/*
 * Reading the context: context_get, task_list, presence_get. The result is written by the worker that read
 * the files; the loop only hands it over.
 */
#include <errno.h>

#include "collab/context-lane.h"
#include "gen/cccc-ops.h"

static int context_get_answer(ContextJob *job) {
        if (job->r)
                return job->r;
        jw_raw(call_result(job->call), buf_str(&job->result));
        return 0;
}

static int context_get_end_result(const JsonWriter *w) {
        return w->failed ? -ENOMEM : 0;
}

/* ---- context_get ----------------------------------------------------------------------------- */

static int run_summary(ContextJob *job) {
        JsonWriter w = JSON_WRITER(&job->result);
        int r = context_write_summary(&job->context, &w);

        return r ? r : context_get_end_result(&w);
}

static int get_summary(Call *call, Group *group, const void *args) {
        return context_job_start(call, group, run_summary, context_get_answer, args);
}

int op_cccc_context_get(Call *call, const CcccContextGetArgs *args) {
        return collab_call(call, args->group_id, get_summary, args);
}

/* ---- task_list ------------------------------------------------------------------------------- */

static int run_tasks(ContextJob *job) {
        const CcccTaskListArgs *args = job->args;
        const ContextDoc *task = context_find_task(&job->context, args->task_id);
        JsonWriter w = JSON_WRITER(&job->result);

        if (args->task_id.n && !task)
                return 0; /* no result: answer_tasks() says so */
        jw_begin_object(&w);
        jw_key(&w, task ? "task" : "tasks");
        if (task)
                context_write_task(task, &w);
        else
                context_write_tasks(&job->context, &w);
        jw_end_object(&w);
        return context_get_end_result(&w);
}

static int answer_tasks(ContextJob *job) {
        const CcccTaskListArgs *args = job->args;

        if (!job->r && !job->result.n)
                return call_fail(job->call, CALL_E_TASK_NOT_FOUND, "Task not found: " STR_FMT,
                                 STR_ARG(args->task_id));
        return context_get_answer(job);
}

static int list_tasks(Call *call, Group *group, const void *args) {
        return context_job_start(call, group, run_tasks, answer_tasks, args);
}

int op_cccc_task_list(Call *call, const CcccTaskListArgs *args) {
        return collab_call(call, args->group_id, list_tasks, args);
}

/* ---- presence_get ---------------------------------------------------------------------------- */

static int run_presence(ContextJob *job) {
        JsonWriter w = JSON_WRITER(&job->result);

        jw_begin_object(&w);
        jw_key(&w, "agents");
        context_write_agents(&job->context, &w);
        jw_field_int(&w, "heartbeat_timeout_seconds", context_heartbeat_s(&job->context));
        jw_end_object(&w);
        return context_get_end_result(&w);
}

static int get_presence(Call *call, Group *group, const void *args) {
        return context_job_start(call, group, run_presence, context_get_answer, args);
}

int op_cccc_presence_get(Call *call, const CcccPresenceGetArgs *args) {
        return collab_call(call, args->group_id, get_presence, args);
}
