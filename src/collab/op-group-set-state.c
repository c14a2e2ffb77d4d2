/* SPDX-License-Identifier: MIT */
#include "collab/group-change.h"
#include "collab/permissions.h"
#include "gen/cccc-ops.h"

static void group_set_state_reply(Call *call, GroupChange *change) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_cstr(w, "group_id", change->group->id);
        jw_field_cstr(w, "state", group_state_name(change->group->doc->state));
        group_change_write_event(change, w, "event", 0);
        jw_end_object(w);
}

static void group_set_state_write_event(GroupChange *change, Str by, GroupState old, GroupState new) {
        JsonWriter *w = group_change_event(change, "group.set_state", by, STR(""));

        jw_begin_object(w);
        jw_field_cstr(w, "old_state", group_state_name(old));
        jw_field_cstr(w, "new_state", group_state_name(new));
        jw_end_object(w);
}

static int set_state(Call *call, Group *group, const void *user) {
        const CcccGroupSetStateArgs *args = user;
        GroupChange *change;
        GroupState state;
        int r = group_require(call, group->doc, args->by, RIGHT_FOREMAN, STR_NULL, "group.set_state",
                              CALL_E_GROUP_SET_STATE_FAILED);

        if (r)
                return r;
        if (!group_state_from(args->state, &state))
                return call_fail(call, CALL_E_GROUP_SET_STATE_FAILED,
                                 "invalid state: " STR_FMT " (must be active/idle/paused)",
                                 STR_ARG(args->state));
        change = group_change_begin(group, call, CALL_E_GROUP_SET_STATE_FAILED);
        if (!group_change_doc(change))
                return group_change_abort(change);
        group_set_state_write_event(change, args->by, group->doc->state, state);
        group_change_state(change, state);
        return group_change_commit(change, group_set_state_reply);
}

int op_cccc_group_set_state(Call *call, const CcccGroupSetStateArgs *args) {
        if (!args->group_id.n)
                return call_fail(call, CALL_E_MISSING_GROUP_ID, "missing group_id");
        if (!args->state.n)
                return call_fail(call, CALL_E_MISSING_STATE, "missing state");
        return collab_edit(call, args->group_id, set_state, args);
}
