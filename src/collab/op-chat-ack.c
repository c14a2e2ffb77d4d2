/* SPDX-License-Identifier: MIT */
#include "base/error.h"
#include "base/time.h"
#include "collab/acks.h"
#include "collab/inbox.h"
#include "collab/lines.h"
#include "gen/cccc-ops.h"

static void chat_ack_write_reply(Call *call, const GroupChange *change) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_bool(w, "acked", true);
        jw_field_bool(w, "already", !change);
        if (change)
                group_change_write_event(change, w, "event", 0);
        else
                jw_field_null(w, "event");
        jw_end_object(w);
}

static void chat_ack_reply(Call *call, GroupChange *change) {
        chat_ack_write_reply(call, change);
}

static int chat_ack_keep(Call *call, Group *group, const void *user) {
        const CcccChatAckArgs *args = user;
        GroupChange *change;

        switch (ack_state(call, group, args->event_id, args->actor_id)) {
        case ACK_PENDING: return lines_wait(call, group, chat_ack_keep, args);
        case ACK_KEPT: chat_ack_write_reply(call, NULL); return 0;
        case ACK_NONE: break;
        }
        change = group_change_begin(group, call, 0);
        if (change)
                ack_add(change, args->actor_id, args->event_id);
        return group_change_commit(change, chat_ack_reply);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static bool list_has_user(const Json *to) {
        json_each (item, to)
                if (str_is(json_str(item), "user") || str_is(json_str(item), "@user"))
                        return true;
        return false;
}

/* An actor that was added later was not meant. */
static bool is_addressed(const Group *group, const Json *event, Str actor) {
        const ActorView *view = group_doc_actor(group->doc, actor);
        int64_t ts_us;

        if (str_is(actor, "user"))
                return list_has_user(json_get(json_get(event, "data"), "to"));
        if (view && time_parse(json_str(json_get(event, "ts")), &ts_us) && view->created_us > ts_us)
                return false;
        return inbox_shows(group->doc, event, actor, true);
}

static int chat_ack_check(Call *call, Group *group, const Json *event, const void *user) {
        const CcccChatAckArgs *args = user;

        if (!str_is(json_str(json_get(event, "kind")), "chat.message"))
                return call_fail(call, CALL_E_INVALID_EVENT_KIND, "event is not a chat.message");
        if (str_eq(json_str(json_get(event, "by")), args->actor_id))
                return call_fail(call, CALL_E_CANNOT_ACK_OWN_MESSAGE, "cannot acknowledge your own message");
        if (!str_is(json_str(json_get(json_get(event, "data"), "priority")), "attention"))
                return call_fail(call, CALL_E_NOT_AN_ATTENTION_MESSAGE, "message priority is not attention");
        if (!is_addressed(group, event, args->actor_id))
                return call_fail(call, CALL_E_EVENT_NOT_FOR_ACTOR,
                                 "event is not addressed to actor: " STR_FMT, STR_ARG(args->actor_id));
        return chat_ack_keep(call, group, args);
}

static int chat_ack_find(Call *call, Group *group, const void *user) {
        const CcccChatAckArgs *args = user;

        if (!str_is(args->actor_id, "user") && !group_doc_actor(group->doc, args->actor_id))
                return call_fail(call, CALL_E_UNKNOWN_ACTOR, "unknown actor: " STR_FMT,
                                 STR_ARG(args->actor_id));
        return event_find(call, group, args->event_id, chat_ack_check, args);
}

int op_cccc_chat_ack(Call *call, const CcccChatAckArgs *args) {
        if (!args->group_id.n)
                return call_fail(call, CALL_E_MISSING_GROUP_ID, "missing group_id");
        if (!args->actor_id.n)
                return call_fail(call, CALL_E_MISSING_ACTOR_ID, "missing actor_id");
        if (!args->event_id.n)
                return call_fail(call, CALL_E_MISSING_EVENT_ID, "missing event_id");
        if (!str_eq(args->by, args->actor_id))
                return call_fail(call, CALL_E_PERMISSION_DENIED,
                                 "ack must be performed by the recipient (by must equal actor_id)");
        return collab_read(call, args->group_id, chat_ack_find, args);
}
