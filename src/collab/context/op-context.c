/* SPDX-License-Identifier: MIT */
/* context_sync and context_get. */
#include <errno.h>

#include "collab/context/context-internal.h"
#include "collab/group/group-change.h"
#include "gen/cccc-ops.h"

/*
 * context_sync: the files are changed first, on a worker; the event follows when they are on the disk. A
 * crash in between leaves a context that is newer than the last context.sync event says, and a call that
 * was not answered.
 */

/* ---- worker ---------------------------------------------------------------------------------- */

enum { SYNC_E_CONFLICT = 100 }; /* besides those of the context */

static bool is_expected_version(const ContextJob *job) {
        const CcccContextSyncArgs *args = job->args;

        return !args->if_version || str_is(str_trim(json_str(args->if_version)), job->version);
}

static int context_sync_apply(ContextJob *job) {
        const CcccContextSyncArgs *args = job->args;
        int r = 0;

        if (args->dry_run || args->if_version)
                r = context_version(&job->context, job->version);
        if (!r && !is_expected_version(job))
                r = SYNC_E_CONFLICT;
        if (!r)
                r = context_apply(&job->context, args->ops);
        if (r || args->dry_run)
                return r;
        if (json_count(job->context.changes))
                r = context_store(&job->context);
        return r ? r : context_version(&job->context, job->version);
}

static int context_sync_run(ContextJob *job) {
        const CcccContextSyncArgs *args = job->args;
        JsonWriter w = JSON_WRITER(&job->result);
        int r;

        r = context_sync_apply(job);
        if (r)
                return r;
        jw_begin_object(&w);
        jw_field_bool(&w, "success", true);
        jw_field_bool(&w, "dry_run", args->dry_run);
        jw_field_value(&w, "changes", job->context.changes);
        jw_field_cstr(&w, "version", job->version);
        jw_end_object(&w);
        return w.failed ? -ENOMEM : 0;
}

/* ---- loop ------------------------------------------------------------------------------------ */

static void context_sync_reply(Call *call, GroupChange *change) {
        jw_raw(call_result(call), change->word);
}

static int append_event(ContextJob *job) {
        const CcccContextSyncArgs *args = job->args;
        GroupChange *change = group_change_begin(job->group, job->call, CALL_E_CONTEXT_SYNC_ERROR);
        JsonWriter *w;

        if (!change)
                return -ENOMEM;
        w = group_change_event(change, "context.sync", args->by, STR(""));
        jw_begin_object(w);
        jw_field_cstr(w, "version", job->version);
        jw_field_value(w, "changes", job->context.changes);
        jw_end_object(w);
        change->word = arena_str(&job->call->arena, buf_str(&job->result));
        change_try(change, change->word.data ? 0 : -ENOMEM);
        return group_change_commit(change, context_sync_reply);
}

static int context_sync_done(ContextJob *job) {
        const CcccContextSyncArgs *args = job->args;

        if (job->r == SYNC_E_CONFLICT)
                return call_fail(job->call, CALL_E_VERSION_CONFLICT,
                                 "the context has version %s by now: read it again", job->version);
        if (job->r > 0)
                return call_fail(job->call, CALL_E_CONTEXT_SYNC_ERROR, STR_FMT,
                                 STR_ARG(job->context.complaint));
        if (job->r < 0)
                return call_fail(job->call, CALL_E_CONTEXT_SYNC_ERROR, "cannot store the context: %s",
                                 strerror(-job->r));
        if (!args->dry_run && json_count(job->context.changes))
                return append_event(job);
        jw_raw(call_result(job->call), buf_str(&job->result));
        return 0;
}

/* Null, false, 0, "" and {} count as not given. */
static bool is_nothing(const Json *ops) {
        double number;
        bool truth;

        if (json_double(ops, &number))
                return number == 0;
        if (json_bool(ops, &truth))
                return !truth;
        return json_is(ops, JSON_STRING) ? !json_str(ops).n : !json_count(ops);
}

int op_cccc_context_sync_first(Call *call, const CcccContextSyncArgs *args) {
        if (args->group_id.n && !json_is(args->ops, JSON_ARRAY) && !is_nothing(args->ops))
                return call_fail(call, CALL_E_INVALID_OPS, "ops must be a list");
        return 0;
}

int op_cccc_context_sync(Call *call, Group *group, const CcccContextSyncArgs *args) {
        return context_job_start(call, group, context_sync_run, context_sync_done, args);
}

/*
 * Reading the context: context_get, task_list, presence_get. The result is written by the worker that read
 * the files; the loop only hands it over.
 */
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

int op_cccc_context_get(Call *call, Group *group, const CcccContextGetArgs *args) {
        return context_job_start(call, group, run_summary, context_get_answer, args);
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

int op_cccc_task_list(Call *call, Group *group, const CcccTaskListArgs *args) {
        return context_job_start(call, group, run_tasks, answer_tasks, args);
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

int op_cccc_presence_get(Call *call, Group *group, const CcccPresenceGetArgs *args) {
        return context_job_start(call, group, run_presence, context_get_answer, args);
}
