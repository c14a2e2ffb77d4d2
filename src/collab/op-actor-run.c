/* SPDX-License-Identifier: MIT */
/*
 * actor_start, actor_stop, actor_restart: first the wish is kept (enabled), then the process comes or goes,
 * then the event says so. A start that fails leaves the wish as it is: clients try again.
 */
#include "base/error.h"
#include "collab/caller-env.h"
#include "collab/actor.h"
#include "collab/permissions.h"
#include "collab/runner.h"
#include "gen/cccc-ops.h"

#include <errno.h>

typedef struct RunOp {
        const char *action, *event;
        GroupRight right;
        int error;
} RunOp;

static const RunOp start_op = {"actor.start", "actor.start", RIGHT_FOREMAN, CALL_E_ACTOR_START_FAILED};
static const RunOp stop_op = {"actor.stop", "actor.stop", RIGHT_FOREMAN_OR_SELF, CALL_E_ACTOR_STOP_FAILED};
static const RunOp restart_op = {"actor.restart", "actor.restart", RIGHT_FOREMAN_OR_SELF,
                                 CALL_E_ACTOR_RESTART_FAILED};

typedef struct RunArgs {
        const RunOp *op;
        Str actor_id, by;
} RunArgs;

static int actor_run_check(Call *call, const GroupDoc *doc, const RunArgs *args) {
        int r = group_require(call, doc, args->by, args->op->right, args->actor_id, args->op->action,
                              args->op->error);

        if (!r && !group_doc_actor(doc, args->actor_id))
                r = call_fail(call, args->op->error, "actor not found: " STR_FMT, STR_ARG(args->actor_id));
        return r;
}

/* ---- the last step: the event ---------------------------------------------------------------- */

static int actor_run_record(Call *call, Group *group, const void *user) {
        const RunArgs *args = user;
        const ActorView *actor = group_doc_actor(group->doc, args->actor_id);
        bool is_stop = args->op == &stop_op;
        GroupChange *change;
        GroupDoc *doc;

        if (!actor)
                return call_fail(call, args->op->error, "actor not found: " STR_FMT,
                                 STR_ARG(args->actor_id));
        change = group_change_begin(group, call, args->op->error);
        doc = group_change_doc(change);
        if (!doc)
                return group_change_abort(change);
        actor_change_enabled(change, args->actor_id, !is_stop);
        actor_change_running(change);
        if (args->op == &start_op)
                change_try(change, group_doc_set_bool(doc, "running", true));
        actor_change_event(change, args->op->event, args->by, args->actor_id,
                           is_stop ? STR_NULL : actor->runner);
        change->user = (char *)args->actor_id.data;
        return group_change_commit(change, actor_change_reply);
}

static int then_record(Call *call, Group *group, const void *args) {
        return collab_edit(call, str_from(group->id), actor_run_record, args);
}

/* ---- the process ----------------------------------------------------------------------------- */

static int actor_run_start(Call *call, Group *group, const void *user) {
        const RunArgs *args = user;

        return runner_call_start(call, group, &args->actor_id, 1, args->op->error, then_record, args);
}

static int start_again(Call *call, Group *group, const void *user) {
        return group->doc->is_running ? actor_run_start(call, group, user) : then_record(call, group, user);
}

static int actor_run_run(Call *call, Group *group, const void *user) {
        const RunArgs *args = user;

        if (args->op == &start_op)
                return actor_run_start(call, group, user);
        return runner_call_stop(call, group, args->actor_id, start_again, args);
}

/* ---- the wish -------------------------------------------------------------------------------- */

/* The call goes on after this change. */
static void actor_run_enabled(Call *call, GroupChange *change) {
        int r;

        change->call = NULL;
        r = collab_call(call, str_from(change->group->id), actor_run_run, change->user);
        if (r != CALL_LATER)
                call_finish(call, r);
}

static int enable(Call *call, Group *group, const void *user) {
        const RunArgs *args = user;
        GroupChange *change;
        int r = actor_run_check(call, group->doc, args);

        if (r)
                return r;
        change = group_change_begin(group, call, args->op->error);
        if (!group_change_doc(change))
                return group_change_abort(change);
        actor_change_enabled(change, args->actor_id, true);
        change->user = (void *)user;
        return group_change_commit(change, actor_run_enabled);
}

/* One that runs although the document does not know it: somebody took it out by hand. */
static bool is_unlisted(const Group *group, const RunArgs *args) {
        return args->op == &stop_op && !group_doc_actor(group->doc, args->actor_id) &&
               runner_find(group->collab, str_from(group->id), args->actor_id);
}

static int actor_run_begin(Call *call, Group *group, const void *user) {
        const RunArgs *args = user;
        int r = group_require(call, group->doc, args->by, args->op->right, args->actor_id, args->op->action,
                              args->op->error);

        if (!r && is_unlisted(group, args))
                return runner_call_lost(call, str_from(group->id), args->actor_id, args->by,
                                        args->op->error);
        if (!r)
                r = actor_run_check(call, group->doc, args);
        if (r)
                return r;
        if (args->op == &stop_op)
                return runner_call_stop(call, group, args->actor_id, then_record, args);
        if (group_doc_actor(group->doc, args->actor_id)->is_enabled)
                return actor_run_run(call, group, user);
        return collab_edit(call, str_from(group->id), enable, args);
}

static int actor_run_stop_lost(Call *call, Str group_id, const void *user) {
        const RunArgs *args = user;

        return args->actor_id.n
                       ? runner_call_lost(call, group_id, args->actor_id, args->by, CALL_E_GROUP_NOT_FOUND)
                       : call_fail(call, CALL_E_GROUP_NOT_FOUND, "group not found: " STR_FMT,
                                   STR_ARG(group_id));
}

static int actor_run_call_op(Call *call, const RunOp *op, Str group_id, Str actor_id, Str by) {
        RunArgs *args = arena_alloc(&call->arena, sizeof(*args));

        if (!args)
                return error_origin(-ENOMEM);
        *args = (RunArgs){.op = op, .actor_id = actor_id.data ? actor_id : STR(""), .by = by};
        return collab_call_or(call, group_id, actor_run_begin, op == &stop_op ? actor_run_stop_lost : NULL,
                              args);
}

int op_cccc_actor_start(Call *call, const CcccActorStartArgs *args) {
        int r = caller_env_take(call, args->group_id, args->actor_id, args->caller_env);

        return r ? r : actor_run_call_op(call, &start_op, args->group_id, args->actor_id, args->by);
}

int op_cccc_actor_stop(Call *call, const CcccActorStopArgs *args) {
        return actor_run_call_op(call, &stop_op, args->group_id, args->actor_id, args->by);
}

int op_cccc_actor_restart(Call *call, const CcccActorRestartArgs *args) {
        int r = caller_env_take(call, args->group_id, args->actor_id, args->caller_env);

        return r ? r : actor_run_call_op(call, &restart_op, args->group_id, args->actor_id, args->by);
}
