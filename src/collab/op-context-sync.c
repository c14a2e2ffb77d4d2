/* SPDX-License-Identifier: MIT */
/*
 * context_sync: the files are changed first, on a worker; the event follows when they are on the disk. A
 * crash in between leaves a context that is newer than the last context.sync event says, and a call that
 * was not answered.
 */
#include <errno.h>

#include "collab/context-lane.h"
#include "collab/group-change.h"
#include "gen/cccc-ops.h"

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
        jw_raw(call_result(call), *(const Str *)change->user);
}

static int append_event(ContextJob *job) {
        const CcccContextSyncArgs *args = job->args;
        GroupChange *change = group_change_begin(job->group, job->call, CALL_E_CONTEXT_SYNC_ERROR);
        Str *result = arena_alloc(&job->call->arena, sizeof(*result));
        JsonWriter *w;

        if (!change)
                return -ENOMEM;
        w = group_change_event(change, "context.sync", args->by, STR(""));
        jw_begin_object(w);
        jw_field_cstr(w, "version", job->version);
        jw_field_value(w, "changes", job->context.changes);
        jw_end_object(w);
        if (result)
                *result = arena_str(&job->call->arena, buf_str(&job->result));
        change_try(change, result && result->data ? 0 : -ENOMEM);
        change->user = result;
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

static int context_sync_start(Call *call, Group *group, const void *args) {
        return context_job_start(call, group, context_sync_run, context_sync_done, args);
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

int op_cccc_context_sync(Call *call, const CcccContextSyncArgs *args) {
        if (args->group_id.n && !json_is(args->ops, JSON_ARRAY) && !is_nothing(args->ops))
                return call_fail(call, CALL_E_INVALID_OPS, "ops must be a list");
        return collab_call(call, args->group_id, context_sync_start, args);
}
