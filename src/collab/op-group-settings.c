/* SPDX-License-Identifier: MIT */
/*
 * group_settings_update. Each key of the contract stands in a section of group.yaml; a section holds only
 * what was ever set. Everything is checked before anything is changed.
 */
#include <errno.h>

#include "base/error.h"
#include "collab/actor-sandbox.h"
#include "collab/group-change.h"
#include "collab/patch.h"
#include "collab/permissions.h"
#include "collab/settings.h"
#include "gen/cccc-ops.h"

static void group_settings_reply(Call *call, GroupChange *change) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_cstr(w, "group_id", change->group->id);
        jw_key(w, "settings");
        settings_write(change->group->doc, w);
        group_change_write_event(change, w, "event", 0);
        jw_end_object(w);
}

static int refuse_value(Call *call, const SettingsFault *fault) {
        JsonWriter *w;

        if (fault->why)
                return call_fail(call, CALL_E_INVALID_PATCH, "%s", fault->why);
        if (fault->is_number)
                return call_fail(call, CALL_E_GROUP_SETTINGS_UPDATE_FAILED, "%s: not an integer",
                                 fault->key);
        w = call_details(call);
        jw_begin_object(w);
        jw_field_str(w, fault->key, patch_text(&call->arena, fault->value));
        jw_end_object(w);
        return call_fail(call, CALL_E_INVALID_PATCH, "%s must be 'foreman' or 'broadcast'", fault->key);
}

static void group_settings_write_event(GroupChange *change, const CcccGroupSettingsUpdateArgs *args) {
        JsonWriter *w = group_change_event(change, "group.settings_update", args->by, STR(""));

        jw_begin_object(w);
        jw_field_value(w, "patch", args->patch);
        jw_end_object(w);
}

/* No actor changes what it is held by. */
static bool is_of_sandbox(const Json *patch) {
        json_each (member, patch)
                if (actor_sandbox_is_key(json_key(member)))
                        return true;
        return false;
}

static int group_settings_check(Call *call, const GroupDoc *doc, const CcccGroupSettingsUpdateArgs *args) {
        SettingsFault fault = {0};
        int r = patch_check(call, args->patch, settings_keys());

        if (r)
                return r;
        if (settings_check(args->patch, &fault) == SETTINGS_E_SEND_TO)
                return refuse_value(call, &fault);
        r = group_require(call, doc, args->by, is_of_sandbox(args->patch) ? RIGHT_USER : RIGHT_FOREMAN,
                          STR_NULL, "group.settings_update", CALL_E_GROUP_SETTINGS_UPDATE_FAILED);
        if (r)
                return r;
        return fault.key || fault.why ? refuse_value(call, &fault) : 0;
}

static int group_settings_change(Call *call, Group *group, const void *user) {
        const CcccGroupSettingsUpdateArgs *args = user;
        GroupChange *change;
        GroupDoc *doc;
        int r = group_settings_check(call, group->doc, args);

        if (r)
                return r;
        change = group_change_begin(group, call, CALL_E_GROUP_SETTINGS_UPDATE_FAILED);
        doc = group_change_doc(change);
        if (!doc)
                return group_change_abort(change);
        change_try(change, settings_apply(doc, args->patch));
        group_settings_write_event(change, args);
        return group_change_commit(change, group_settings_reply);
}

int op_cccc_group_settings_update(Call *call, const CcccGroupSettingsUpdateArgs *args) {
        return collab_edit(call, args->group_id, group_settings_change, args);
}
