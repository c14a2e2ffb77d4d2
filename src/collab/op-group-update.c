/* SPDX-License-Identifier: MIT */
#include "collab/group-change.h"
#include "collab/patch.h"
#include "collab/permissions.h"
#include "core/daemon.h"
#include "gen/cccc-ops.h"

static const char *const patch_keys[] = {"title", "topic", NULL};

static void group_update_reply(Call *call, GroupChange *change) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_cstr(w, "group_id", change->group->id);
        jw_key(w, "group");
        group_doc_write_redacted(change->group->doc, &call->daemon->config, w);
        group_change_write_event(change, w, "event", 0);
        jw_end_object(w);
}

static void group_update_write_event(GroupChange *change, const CcccGroupUpdateArgs *args) {
        JsonWriter *w = group_change_event(change, "group.update", args->by, STR(""));

        jw_begin_object(w);
        patch_write(w, "patch", args->patch, patch_keys, NULL);
        jw_end_object(w);
}

static void tell_others(GroupChange *change, const GroupDoc *doc) {
        RegistryEdit *edit = group_change_registry(change);
        JsonWriter *w = group_change_feed(change, "group.updated");

        edit->title = arena_str(&change->arena, json_str(json_get(doc->json, "title")));
        edit->topic = arena_str(&change->arena, json_str(json_get(doc->json, "topic")));
        jw_begin_object(w);
        jw_field_cstr(w, "group_id", change->group->id);
        jw_field_str(w, "title", edit->title);
        jw_field_str(w, "topic", edit->topic);
        jw_end_object(w);
}

static int group_update_update(Call *call, Group *group, const void *user) {
        const CcccGroupUpdateArgs *args = user;
        const Json *topic = json_get(args->patch, "topic");
        Str title = patch_text(&call->arena, json_get(args->patch, "title"));
        GroupChange *change;
        GroupDoc *doc;
        int r;

        r = patch_check(call, args->patch, patch_keys);
        if (!r)
                r = group_require(call, group->doc, args->by, RIGHT_FOREMAN, STR_NULL, "group.update",
                                  CALL_E_GROUP_UPDATE_FAILED);
        if (r)
                return r;
        change = group_change_begin(group, call, CALL_E_GROUP_UPDATE_FAILED);
        doc = group_change_doc(change);
        if (!doc)
                return group_change_abort(change);
        if (title.n)
                change_try(change, group_doc_set_str(doc, "title", title));
        if (topic)
                change_try(change, group_doc_set_str(doc, "topic", patch_text(&call->arena, topic)));
        group_update_write_event(change, args);
        tell_others(change, doc);
        return group_change_commit(change, group_update_reply);
}

int op_cccc_group_update(Call *call, const CcccGroupUpdateArgs *args) {
        return collab_edit(call, args->group_id, group_update_update, args);
}
