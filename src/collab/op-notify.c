/* SPDX-License-Identifier: MIT */
#include "collab/group-change.h"
#include "collab/lines.h"
#include "gen/cccc-ops.h"

/* ---- system_notify --------------------------------------------------------------------------- */

/* One of the words, else the first. */
static const char *one_of(Str word, const char *const *words) {
        for (size_t i = 0; words[i]; i++)
                if (str_is(word, words[i]))
                        return words[i];
        return words[0];
}

static void notify_write_notice(JsonWriter *w, const CcccSystemNotifyArgs *args) {
        static const char *const kinds[] = {
                "info",          "nudge",   "keepalive",     "help_nudge", "actor_idle",
                "silence_check", "standup", "status_change", "error",      NULL};
        static const char *const priorities[] = {"normal", "low", "high", "urgent", NULL};

        jw_begin_object(w);
        jw_field_cstr(w, "kind", one_of(args->kind, kinds));
        jw_field_cstr(w, "priority", one_of(args->priority, priorities));
        jw_field_str(w, "title", args->title);
        jw_field_str(w, "message", args->message);
        if (args->target_actor_id.n)
                jw_field_str(w, "target_actor_id", args->target_actor_id);
        else
                jw_field_null(w, "target_actor_id");
        jw_key(w, "context");
        if (args->context)
                jw_value(w, args->context);
        else
                jw_raw(w, STR("{}"));
        jw_field_bool(w, "requires_ack", args->requires_ack);
        jw_field_null(w, "related_event_id");
        jw_end_object(w);
}

static void notify_reply(Call *call, GroupChange *change) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        group_change_write_event(change, w, "event", 0);
        jw_end_object(w);
}

static int notify_notify(Call *call, Group *group, const void *user) {
        const CcccSystemNotifyArgs *args = user;
        GroupChange *change = group_change_begin(group, call, 0);

        if (change)
                notify_write_notice(group_change_event(change, "system.notify", args->by, STR("")), args);
        return group_change_commit(change, notify_reply);
}

int op_cccc_system_notify(Call *call, const CcccSystemNotifyArgs *args) {
        return collab_call(call, args->group_id, notify_notify, args);
}

/* ---- notify_ack ------------------------------------------------------------------------------ */

static int acknowledge(Call *call, Group *group, const Json *event, const void *user) {
        const CcccNotifyAckArgs *args = user;
        GroupChange *change;
        JsonWriter *w;

        if (!str_is(json_str(json_get(event, "kind")), "system.notify"))
                return call_fail(call, CALL_E_INVALID_EVENT_KIND, "event is not a system.notify");
        change = group_change_begin(group, call, 0);
        if (change) {
                w = group_change_event(change, "system.notify_ack", args->actor_id, STR(""));
                jw_begin_object(w);
                jw_field_str(w, "notify_event_id", args->notify_event_id);
                jw_field_str(w, "actor_id", args->actor_id);
                jw_end_object(w);
        }
        return group_change_commit(change, notify_reply);
}

static int notify_find(Call *call, Group *group, const void *user) {
        const CcccNotifyAckArgs *args = user;

        return event_find(call, group, args->notify_event_id, acknowledge, args);
}

/* Only for oneself; whoever does not say who he is means the actor. */
int op_cccc_notify_ack(Call *call, const CcccNotifyAckArgs *args) {
        if (!args->group_id.n)
                return call_fail(call, CALL_E_MISSING_GROUP_ID, "missing group_id");
        if (!args->actor_id.n)
                return call_fail(call, CALL_E_MISSING_ACTOR_ID, "missing actor_id");
        if (!args->notify_event_id.n)
                return call_fail(call, CALL_E_MISSING_NOTIFY_EVENT_ID, "missing notify_event_id");
        if (args->by.n && !str_eq(args->by, args->actor_id))
                return call_fail(call, CALL_E_PERMISSION_DENIED,
                                 "ack must be performed by the recipient (by must equal actor_id)");
        return collab_read(call, args->group_id, notify_find, args);
}
