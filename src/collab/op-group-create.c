/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/error.h"
#include "collab/group-change.h"
#include "collab/group-folder.h"
#include "gen/cccc-ops.h"

static void group_create_reply(Call *call, GroupChange *change) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_cstr(w, "group_id", change->group->id);
        jw_field_str(w, "title", change->group->doc->title);
        group_change_write_event(change, w, "event", 0);
        jw_end_object(w);
}

/* ---- the event could not be kept: the folder must not stay --------------------------------------- */

static void group_create_on_removed(void *user, _unused_ int r) {
        call_finish(user, -EIO);
}

static void group_create_on_failed(GroupChange *change, int r) {
        if (group_remove(change->group, group_create_on_removed, change->call))
                call_finish(change->call, r);
}

/* ---- the group is there and ours ------------------------------------------------------------------ */

static void group_create_tell_registry(GroupChange *change) {
        const GroupDoc *doc = change->group->doc;
        RegistryEdit *edit = group_change_registry(change);

        edit->title = arena_str(&change->arena, doc->title);
        edit->topic = arena_str(&change->arena, doc->topic);
        edit->created_at = arena_str(&change->arena, doc->created_at);
        edit->path = str_from(change->group->dir);
        edit->default_scope_key = STR("");
}

static void group_create_write_feed(GroupChange *change) {
        JsonWriter *w = group_change_feed(change, "group.created");

        jw_begin_object(w);
        jw_field_cstr(w, "group_id", change->group->id);
        jw_field_str(w, "title", change->group->doc->title);
        jw_end_object(w);
}

static int group_create_announce(Call *call, Group *group, const void *user) {
        const CcccGroupCreateArgs *args = user;
        GroupChange *change = group_change_begin(group, call, 0);
        JsonWriter *w;

        if (!change)
                return error_origin(-ENOMEM);
        w = group_change_event(change, "group.create", args->by, STR(""));
        jw_begin_object(w);
        jw_field_str(w, "title", args->title);
        jw_field_str(w, "topic", args->topic);
        jw_end_object(w);
        group_create_tell_registry(change);
        group_create_write_feed(change);
        return group_change_commit_or(change, group_create_reply, group_create_on_failed);
}

int op_cccc_group_create(Call *call, const CcccGroupCreateArgs *args) {
        GroupSpec *spec = arena_alloc(&call->arena, sizeof(*spec));

        if (!spec)
                return error_origin(-ENOMEM);
        *spec = (GroupSpec){.id = group_new_id(&call->arena), .title = args->title, .topic = args->topic};
        if (!spec->id.data)
                return error_origin(-ENOMEM);
        return collab_make_group(call, spec, group_create_announce, args);
}
