/* SPDX-License-Identifier: MIT */
#include "collab/actor.h"
#include "collab/parts.h"
#include "gen/cccc-ops.h"

static size_t unread(const Group *group, Str actor) {
        for (const CollabPart *const *part = collab_parts; *part; part++)
                if ((*part)->unread)
                        return (*part)->unread(group, actor);
        return 0;
}

static int actor_list_list(Call *call, Group *group, const void *user) {
        const CcccActorListArgs *args = user;
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_key(w, "actors");
        jw_begin_array(w);
        for (size_t i = 0; i < group->doc->n_actors; i++) {
                const ActorView *actor = &group->doc->actors[i];
                jw_begin_object(w);
                actor_write_members(group, actor, w);
                jw_field_bool(w, "running", group_actor_is_running(group, actor->id));
                if (args->include_unread)
                        jw_field_uint(w, "unread_count", unread(group, actor->id));
                jw_end_object(w);
        }
        jw_end_array(w);
        jw_end_object(w);
        return 0;
}

int op_cccc_actor_list(Call *call, const CcccActorListArgs *args) {
        if (args->include_unread)
                return collab_read(call, args->group_id, actor_list_list, args);
        return collab_call(call, args->group_id, actor_list_list, args);
}
