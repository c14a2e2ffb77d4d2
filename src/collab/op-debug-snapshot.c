/* SPDX-License-Identifier: MIT */
#include <unistd.h>

#include "base/time.h"
#include "collab/collab.h"
#include "collab/debug.h"
#include "collab/parts.h"
#include "collab/permissions.h"
#include "gen/cccc-ops.h"

static void write_daemon(JsonWriter *w, Call *call) {
        char ts[TIME_TEXT_MAX];

        time_format_us(loop_wall_us(call->daemon->loop), ts);
        jw_begin_object(w);
        jw_field_int(w, "pid", getpid());
        jw_field_cstr(w, "version", collab_version(call->daemon->collab));
        jw_field_cstr(w, "ts", ts);
        jw_end_object(w);
}

static void write_group(JsonWriter *w, const Group *group) {
        jw_begin_object(w);
        jw_field_cstr(w, "group_id", group->id);
        jw_field_cstr(w, "state", group_state_name(group->doc->state));
        jw_field_str(w, "active_scope_key", group->doc->active_scope_key);
        jw_field_str(w, "title", group->doc->title);
        jw_end_object(w);
}

static void debug_snapshot_write_actor(JsonWriter *w, const Group *group, const ActorView *actor) {
        jw_begin_object(w);
        jw_field_str(w, "id", actor->id);
        jw_field_cstr(w, "role", group_role(group->doc, actor->id));
        jw_field_str(w, "runtime", actor->runtime);
        jw_field_str(w, "runner", actor->runner);
        jw_field_str(w, "runner_effective", actor->runner);
        jw_field_bool(w, "enabled", actor->is_enabled);
        jw_field_bool(w, "running", group_actor_is_running(group, actor->id));
        jw_field_int(w, "unread_count", 0); /* the original never counts here; actor_list does */
        jw_end_object(w);
}

static void write_delivery(JsonWriter *w, const Group *group) {
        for (const CollabPart *const *part = collab_parts; *part; part++)
                if ((*part)->write_debug) {
                        (*part)->write_debug(group, w);
                        return;
                }
        jw_begin_object(w);
        jw_field_cstr(w, "group_id", group->id);
        jw_key(w, "actors");
        jw_begin_object(w);
        jw_end_object(w);
        jw_field_int(w, "pending_total", 0);
        jw_end_object(w);
}

static int debug_snapshot_snapshot(Call *call, Group *group, const Json *settings,
                                   _unused_ const void *args) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_bool(w, "developer_mode", true);
        jw_field_value(w, "observability", settings);
        jw_key(w, "daemon");
        write_daemon(w, call);
        if (group) {
                jw_key(w, "group");
                write_group(w, group);
                jw_key(w, "actors");
                jw_begin_array(w);
                for (size_t i = 0; i < group->doc->n_actors; i++)
                        debug_snapshot_write_actor(w, group, &group->doc->actors[i]);
                jw_end_array(w);
                jw_key(w, "delivery");
                write_delivery(w, group);
        }
        jw_end_object(w);
        return 0;
}

int op_cccc_debug_snapshot(Call *call, const CcccDebugSnapshotArgs *args) {
        return debug_call(call, args->group_id, args->by, debug_snapshot_snapshot, args);
}
