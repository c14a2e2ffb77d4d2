/* SPDX-License-Identifier: MIT */
/* Starting and ending actors: one by one, and all of a group. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collab/actor/actor.h"
#include "collab/actor/runner.h"
#include "collab/group/group-doc.h"
#include "gen/cccc-ops.h"

/*
 * actor_start, actor_stop, actor_restart: first the wish is kept (enabled), then the process comes or goes,
 * then the event says so. A start that fails leaves the wish as it is: clients try again.
 */

typedef struct RunOp {
        const char *action, *event;
        GroupRole right;
        int error;
} RunOp;

static const RunOp start_op = {"actor.start", "actor.start", ROLE_FOREMAN, CALL_E_ACTOR_START_FAILED};
static const RunOp stop_op = {"actor.stop", "actor.stop", ROLE_FOREMAN_OR_SELF, CALL_E_ACTOR_STOP_FAILED};
static const RunOp restart_op = {"actor.restart", "actor.restart", ROLE_FOREMAN_OR_SELF,
                                 CALL_E_ACTOR_RESTART_FAILED};

typedef struct RunArgs {
        Carry carry;
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

static int actor_run_record(Call *call, Group *group, const Carry *carry) {
        const RunArgs *args = container_of(carry, RunArgs, carry);
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
        change->word = args->actor_id;
        return group_change_commit(change, actor_change_reply);
}

static int then_record(Call *call, Group *group, const Carry *carry) {
        return collab_edit(call, str_from(group->id), actor_run_record, carry);
}

/* ---- the process ----------------------------------------------------------------------------- */

static int actor_run_start(Call *call, Group *group, const Carry *carry) {
        const RunArgs *args = container_of(carry, RunArgs, carry);

        return runner_call_start(call, group, &args->actor_id, 1, args->op->error, then_record,
                                 &args->carry);
}

static int start_again(Call *call, Group *group, const Carry *carry) {
        return group->doc->is_running ? actor_run_start(call, group, carry)
                                      : then_record(call, group, carry);
}

static int actor_run_run(Call *call, Group *group, const Carry *carry) {
        const RunArgs *args = container_of(carry, RunArgs, carry);

        if (args->op == &start_op)
                return actor_run_start(call, group, carry);
        return runner_call_stop(call, group, args->actor_id, start_again, &args->carry);
}

/* ---- the wish -------------------------------------------------------------------------------- */

/* The call goes on after this change. */
static void actor_run_enabled(Call *call, GroupChange *change) {
        const RunArgs *args = container_of(change->carry, RunArgs, carry);
        int r;

        change->call = NULL;
        r = collab_call(call, str_from(change->group->id), actor_run_run, &args->carry);
        if (r != CALL_LATER)
                call_finish(call, r);
}

static int enable(Call *call, Group *group, const Carry *carry) {
        const RunArgs *args = container_of(carry, RunArgs, carry);
        GroupChange *change;
        int r = actor_run_check(call, group->doc, args);

        if (r)
                return r;
        change = group_change_begin(group, call, args->op->error);
        if (!group_change_doc(change))
                return group_change_abort(change);
        actor_change_enabled(change, args->actor_id, true);
        change->carry = carry;
        return group_change_commit(change, actor_run_enabled);
}

/* One that runs although the document does not know it: somebody took it out by hand. */
static bool is_unlisted(const Group *group, const RunArgs *args) {
        return args->op == &stop_op && !group_doc_actor(group->doc, args->actor_id) &&
               runner_find(group->collab, str_from(group->id), args->actor_id);
}

/* The right is asked by the schema, and once more when the wish is kept. */
static int actor_run_begin(Call *call, Group *group, const RunOp *op, Str actor_id, Str by) {
        RunArgs *args = arena_alloc(&call->arena, sizeof(*args));
        int r;

        if (!args)
                return error_origin(-ENOMEM);
        *args = (RunArgs){.op = op, .actor_id = actor_id.data ? actor_id : STR(""), .by = by};
        if (is_unlisted(group, args))
                return runner_call_lost(call, str_from(group->id), args->actor_id, by, op->error);
        r = actor_run_check(call, group->doc, args);
        if (r)
                return r;
        if (op == &stop_op)
                return runner_call_stop(call, group, args->actor_id, then_record, &args->carry);
        if (group_doc_actor(group->doc, args->actor_id)->is_enabled)
                return actor_run_run(call, group, &args->carry);
        return collab_edit(call, str_from(group->id), enable, &args->carry);
}

int op_cccc_actor_start_first(Call *call, const CcccActorStartArgs *args) {
        return caller_env_take(call, args->group_id, args->actor_id, args->caller_env);
}

int op_cccc_actor_start(Call *call, Group *group, const CcccActorStartArgs *args) {
        return actor_run_begin(call, group, &start_op, args->actor_id, args->by);
}

int op_cccc_actor_stop_lost(Call *call, const CcccActorStopArgs *args) {
        return runner_call_lost_actor(call, args->group_id, args->actor_id, args->by);
}

int op_cccc_actor_stop(Call *call, Group *group, const CcccActorStopArgs *args) {
        return actor_run_begin(call, group, &stop_op, args->actor_id, args->by);
}

int op_cccc_actor_restart_first(Call *call, const CcccActorRestartArgs *args) {
        return caller_env_take(call, args->group_id, args->actor_id, args->caller_env);
}

int op_cccc_actor_restart(Call *call, Group *group, const CcccActorRestartArgs *args) {
        return actor_run_begin(call, group, &restart_op, args->actor_id, args->by);
}

/*
 * group_start, group_stop: all actors of a group. Every actor is checked before any is started.
 */
typedef struct GroupRun {
        Carry carry;
        Str by;
        const Str *ids; /* of all actors, as they were */
        size_t n;
} GroupRun;

static int group_run_gather(Call *call, const GroupDoc *doc, Str by, GroupRun **ret) {
        GroupRun *self = arena_alloc(&call->arena, sizeof(*self));
        Str *ids = arena_alloc(&call->arena, (doc->n_actors + 1) * sizeof(*ids));

        if (!self || !ids)
                return error_origin(-ENOMEM);
        for (size_t i = 0; i < doc->n_actors; i++) {
                ids[i] = arena_str(&call->arena, doc->actors[i].id);
                if (!ids[i].data)
                        return error_origin(-ENOMEM);
        }
        *self = (GroupRun){.by = by, .ids = ids, .n = doc->n_actors};
        *ret = self;
        return 0;
}

static void group_run_write_ids(JsonWriter *w, const char *key, const GroupRun *self) {
        jw_key(w, key);
        jw_begin_array(w);
        for (size_t i = 0; i < self->n; i++)
                jw_str(w, self->ids[i]);
        jw_end_array(w);
}

static void group_run_write_reply(Call *call, GroupChange *change, const char *key) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_cstr(w, "group_id", change->group->id);
        group_run_write_ids(w, key, container_of(change->carry, GroupRun, carry));
        group_change_write_event(change, w, "event", 0);
        jw_end_object(w);
}

/* ---- start ----------------------------------------------------------------------------------- */

static void group_run_reply_started(Call *call, GroupChange *change) {
        group_run_write_reply(call, change, "started");
}

static int record_start(Call *call, Group *group, const Carry *carry) {
        const GroupRun *self = container_of(carry, GroupRun, carry);
        GroupChange *change = group_change_begin(group, call, CALL_E_GROUP_START_FAILED);
        GroupDoc *doc = group_change_doc(change);
        JsonWriter *w;

        if (!doc)
                return group_change_abort(change);
        if (self->n)
                change_try(change, group_doc_set_bool(doc, "running", true));
        w = group_change_event(change, "group.start", self->by, STR(""));
        jw_begin_object(w);
        group_run_write_ids(w, "started", self);
        jw_key(w, "forced_headless");
        jw_raw(w, STR("[]"));
        jw_end_object(w);
        change->carry = carry;
        return group_change_commit(change, group_run_reply_started);
}

/* A group that is started is not held down any more: kept before the start is recorded. */
typedef struct GroupRelease {
        Call *call;
        const GroupRun *run;
        char *home, *group_id;
        Buf text;
        int r;
} GroupRelease;

static void group_release_write(void *user) {
        GroupRelease *self = user;

        self->r = standstill_write(self->home, buf_str(&self->text));
}

static void group_release_free(GroupRelease *self) {
        free(self->home);
        free(self->group_id);
        buf_deinit(&self->text);
        free(self);
}

static void group_release_done(void *user) {
        GroupRelease *self = user;
        Call *call = self->call;
        int r = self->r ? self->r
                        : collab_edit(call, str_from(self->group_id), record_start, &self->run->carry);

        group_release_free(self);
        if (r != CALL_LATER)
                call_finish(call, r);
}

static int group_release(Call *call, const Group *group, const GroupRun *run) {
        Standstill *standstill = &call->daemon->standstill;
        GroupRelease *self = calloc(1, sizeof(*self));
        int r = self ? standstill_release(standstill, group->id) : -ENOMEM;

        if (self) {
                *self = (GroupRelease){.call = call,
                                       .run = run,
                                       .home = strdup(call->daemon->home),
                                       .group_id = strdup(group->id)};
                r = r ? r : standstill_text(standstill, &self->text);
                if (!r && (!self->home || !self->group_id))
                        r = -ENOMEM;
        }
        if (!r)
                r = loop_work(call->daemon->loop, group_release_write, group_release_done, self);
        if (r && self)
                group_release_free(self);
        return r ? error_trace(r) : CALL_LATER;
}

static int then_record_start(Call *call, Group *group, const Carry *carry) {
        if (standstill_holds(&call->daemon->standstill, group->id))
                return group_release(call, group, container_of(carry, GroupRun, carry));
        return collab_edit(call, str_from(group->id), record_start, carry);
}

static int group_run_start(Call *call, Group *group, const Carry *carry) {
        const GroupRun *self = container_of(carry, GroupRun, carry);

        return runner_call_start(call, group, self->ids, self->n, CALL_E_GROUP_START_FAILED,
                                 then_record_start, &self->carry);
}

static void group_run_enabled(Call *call, GroupChange *change) {
        const GroupRun *self = container_of(change->carry, GroupRun, carry);
        int r;

        change->call = NULL; /* it goes on */
        r = collab_call(call, str_from(change->group->id), group_run_start, &self->carry);
        if (r != CALL_LATER)
                call_finish(call, r);
}

/* A group without a folder is told so whoever asks. */
static int check_start(Call *call, const GroupDoc *doc, Str by) {
        int r = runner_check_root(call, doc);

        if (!r)
                r = group_require(call, doc, by, ROLE_FOREMAN, STR_NULL, "group.start",
                                  CALL_E_GROUP_START_FAILED);
        for (size_t i = 0; !r && i < doc->n_actors; i++)
                r = runner_check(call, doc, &doc->actors[i]);
        return r;
}

int op_cccc_group_start_first(Call *call, const CcccGroupStartArgs *args) {
        return caller_env_take(call, args->group_id, STR(""), args->caller_env);
}

int op_cccc_group_start(Call *call, Group *group, const CcccGroupStartArgs *args) {
        GroupChange *change;
        GroupRun *self;
        int r = check_start(call, group->doc, args->by);

        if (!r)
                r = group_run_gather(call, group->doc, args->by, &self);
        if (r)
                return r;
        change = group_change_begin(group, call, CALL_E_GROUP_START_FAILED);
        if (!group_change_doc(change))
                return group_change_abort(change);
        for (size_t i = 0; i < self->n; i++)
                actor_change_enabled(change, self->ids[i], true);
        change->carry = &self->carry;
        return group_change_commit(change, group_run_enabled);
}

/* ---- stop ------------------------------------------------------------------------------------ */

static void reply_stopped(Call *call, GroupChange *change) {
        group_run_write_reply(call, change, "stopped");
}

static int record_stop(Call *call, Group *group, const Carry *carry) {
        const CcccGroupStopArgs *args = container_of(carry, CcccGroupStopArgs, carry);
        GroupChange *change;
        GroupRun *self;
        JsonWriter *w;
        int r = group_run_gather(call, group->doc, args->by, &self);

        if (r)
                return r;
        change = group_change_begin(group, call, CALL_E_GROUP_STOP_FAILED);
        if (!group_change_doc(change))
                return group_change_abort(change);
        for (size_t i = 0; i < self->n; i++)
                actor_change_enabled(change, self->ids[i], false);
        change_try(change, group_doc_set_bool(group_change_doc(change), "running", false));
        w = group_change_event(change, "group.stop", self->by, STR(""));
        jw_begin_object(w);
        group_run_write_ids(w, "stopped", self);
        jw_end_object(w);
        change->carry = &self->carry;
        return group_change_commit(change, reply_stopped);
}

static int then_record_stop(Call *call, Group *group, const Carry *carry) {
        return collab_edit(call, str_from(group->id), record_stop, carry);
}

int op_cccc_group_stop_lost(Call *call, const CcccGroupStopArgs *args) {
        return runner_call_lost(call, args->group_id, STR(""), args->by, CALL_E_GROUP_NOT_FOUND);
}

int op_cccc_group_stop(Call *call, Group *group, const CcccGroupStopArgs *args) {
        return runner_call_stop_all(call, group, then_record_stop, &args->carry);
}
