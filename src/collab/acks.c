/* SPDX-License-Identifier: MIT */
#include "collab/acks.h"

#include "collab/events.h"

AckState ack_state(Call *call, const Group *group, Str event_id, Str actor) {
        Str re = event_tag(&call->arena, "re:", event_id), by = event_tag(&call->arena, "by:", actor);
        LedgerTag refers = ledger_tag(group->ledger, re), own = ledger_tag(group->ledger, by);
        LedgerCursor cursor;
        uint64_t position;

        if (ledger_is_tag_pending(group->ledger, re))
                return ACK_PENDING;
        if (ledger_tag_is_none(refers) || ledger_tag_is_none(own) ||
            ledger_cursor_init(&cursor, group->ledger, &refers, 1, 0, false))
                return ACK_NONE;
        while (ledger_cursor_next(&cursor, &position))
                if (str_is(ledger_entry(group->ledger, position).kind, "chat.ack") &&
                    ledger_has_tag(group->ledger, position, own))
                        return ACK_KEPT;
        return ACK_NONE;
}

static void acks_add(GroupChange *change, const char *kind, Str by, Str actor, Str event_id) {
        JsonWriter *w = group_change_event(change, kind, by, STR(""));

        jw_begin_object(w);
        jw_field_str(w, "actor_id", actor);
        jw_field_str(w, "event_id", event_id);
        jw_end_object(w);
}

void ack_add(GroupChange *change, Str actor, Str event_id) {
        acks_add(change, "chat.ack", actor, actor, event_id);
}

void read_add(GroupChange *change, Str by, Str actor, Str event_id) {
        acks_add(change, "chat.read", by, actor, event_id);
}
