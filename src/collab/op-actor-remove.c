/* SPDX-License-Identifier: MIT */
#include "collab/actor.h"
#include "collab/permissions.h"
#include "collab/runner.h"
#include "gen/cccc-ops.h"

static void actor_remove_reply(Call *call, GroupChange *change) {
        JsonWriter *w = call_result(call);

        runners_end_unlisted(change->group);
        jw_begin_object(w);
        jw_field_cstr(w, "actor_id", change->user);
        group_change_write_event(change, w, "event", 0);
        jw_end_object(w);
}

static int actor_remove_check(Call *call, const GroupDoc *doc, const CcccActorRemoveArgs *args) {
        int r = group_require(call, doc, args->by, RIGHT_SELF, args->actor_id, "actor.remove",
                              CALL_E_ACTOR_REMOVE_FAILED);

        if (!r && !group_doc_actor(doc, args->actor_id))
                r = call_fail(call, CALL_E_ACTOR_REMOVE_FAILED, "actor not found: " STR_FMT,
                              STR_ARG(args->actor_id));
        return r;
}

static int actor_remove_drop(Call *call, Group *group, const void *user) {
        const CcccActorRemoveArgs *args = user;
        GroupChange *change;
        GroupDoc *doc;
        int r = actor_remove_check(call, group->doc, args);

        if (r)
                return r;
        change = group_change_begin(group, call, CALL_E_ACTOR_REMOVE_FAILED);
        doc = group_change_doc(change);
        if (!doc)
                return group_change_abort(change);
        (void)group_doc_list_remove(doc, "actors", "id", args->actor_id);
        change_try(change, group_doc_view(doc));
        actor_change_running(change);
        actor_change_event(change, "actor.remove", args->by, args->actor_id, STR_NULL);
        change->user = (char *)args->actor_id.data;
        return group_change_commit(change, actor_remove_reply);
}

/* What runs is ended first, so that nobody is left whom the document does not know. */
static int ended(Call *call, Group *group, const void *user) {
        return collab_edit(call, str_from(group->id), actor_remove_drop, user);
}

static int actor_remove_stop(Call *call, Group *group, const void *user) {
        const CcccActorRemoveArgs *args = user;
        int r = group_require(call, group->doc, args->by, RIGHT_SELF, args->actor_id, "actor.remove",
                              CALL_E_ACTOR_REMOVE_FAILED);

        if (!r && args->actor_id.n && !group_doc_actor(group->doc, args->actor_id))
                return runner_call_lost(call, str_from(group->id), args->actor_id, args->by,
                                        CALL_E_ACTOR_REMOVE_FAILED);
        if (!r)
                r = actor_remove_check(call, group->doc, args);
        return r ? r : runner_call_stop(call, group, args->actor_id, ended, args);
}

static int remove_lost(Call *call, Str group_id, const void *user) {
        const CcccActorRemoveArgs *args = user;

        return args->actor_id.n
                       ? runner_call_lost(call, group_id, args->actor_id, args->by, CALL_E_GROUP_NOT_FOUND)
                       : call_fail(call, CALL_E_GROUP_NOT_FOUND, "group not found: " STR_FMT,
                                   STR_ARG(group_id));
}

int op_cccc_actor_remove(Call *call, const CcccActorRemoveArgs *args) {
        return collab_call_or(call, args->group_id, actor_remove_stop, remove_lost, args);
}
