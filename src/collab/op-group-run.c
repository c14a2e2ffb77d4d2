/* SPDX-License-Identifier: MIT */
/*
 * group_start, group_stop: all actors of a group. Every actor is checked before any is started.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collab/caller-env.h"
#include "collab/actor.h"
#include "collab/permissions.h"
#include "collab/runner.h"
#include "gen/cccc-ops.h"

typedef struct GroupRun {
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
        group_run_write_ids(w, key, change->user);
        group_change_write_event(change, w, "event", 0);
        jw_end_object(w);
}

/* ---- start ----------------------------------------------------------------------------------- */

static void group_run_reply_started(Call *call, GroupChange *change) {
        group_run_write_reply(call, change, "started");
}

static int record_start(Call *call, Group *group, const void *user) {
        const GroupRun *self = user;
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
        change->user = (void *)user;
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
        int r = self->r ? self->r : collab_edit(call, str_from(self->group_id), record_start, self->run);

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

static int then_record_start(Call *call, Group *group, const void *user) {
        if (standstill_holds(&call->daemon->standstill, group->id))
                return group_release(call, group, user);
        return collab_edit(call, str_from(group->id), record_start, user);
}

static int group_run_start(Call *call, Group *group, const void *user) {
        const GroupRun *self = user;

        return runner_call_start(call, group, self->ids, self->n, CALL_E_GROUP_START_FAILED,
                                 then_record_start, self);
}

static void group_run_enabled(Call *call, GroupChange *change) {
        int r;

        change->call = NULL; /* it goes on */
        r = collab_call(call, str_from(change->group->id), group_run_start, change->user);
        if (r != CALL_LATER)
                call_finish(call, r);
}

/* A group without a folder is told so whoever asks. */
static int check_start(Call *call, const GroupDoc *doc, Str by) {
        int r = runner_check_root(call, doc);

        if (!r)
                r = group_require(call, doc, by, RIGHT_FOREMAN, STR_NULL, "group.start",
                                  CALL_E_GROUP_START_FAILED);
        for (size_t i = 0; !r && i < doc->n_actors; i++)
                r = runner_check(call, doc, &doc->actors[i]);
        return r;
}

static int enable_all(Call *call, Group *group, const void *user) {
        const CcccGroupStartArgs *args = user;
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
        change->user = self;
        return group_change_commit(change, group_run_enabled);
}

int op_cccc_group_start(Call *call, const CcccGroupStartArgs *args) {
        int r = caller_env_take(call, args->group_id, STR(""), args->caller_env);

        return r ? r : collab_edit(call, args->group_id, enable_all, args);
}

/* ---- stop ------------------------------------------------------------------------------------ */

static void reply_stopped(Call *call, GroupChange *change) {
        group_run_write_reply(call, change, "stopped");
}

static int record_stop(Call *call, Group *group, const void *user) {
        const CcccGroupStopArgs *args = user;
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
        change->user = self;
        return group_change_commit(change, reply_stopped);
}

static int then_record_stop(Call *call, Group *group, const void *user) {
        return collab_edit(call, str_from(group->id), record_stop, user);
}

static int group_run_stop(Call *call, Group *group, const void *user) {
        const CcccGroupStopArgs *args = user;
        int r = group_require(call, group->doc, args->by, RIGHT_FOREMAN, STR_NULL, "group.stop",
                              CALL_E_GROUP_STOP_FAILED);

        return r ? r : runner_call_stop_all(call, group, then_record_stop, args);
}

static int group_run_stop_lost(Call *call, Str group_id, const void *user) {
        const CcccGroupStopArgs *args = user;

        return runner_call_lost(call, group_id, STR(""), args->by, CALL_E_GROUP_NOT_FOUND);
}

int op_cccc_group_stop(Call *call, const CcccGroupStopArgs *args) {
        return collab_call_or(call, args->group_id, group_run_stop, group_run_stop_lost, args);
}
