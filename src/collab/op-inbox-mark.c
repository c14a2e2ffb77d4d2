/* SPDX-License-Identifier: MIT */
/*
 * Marking as read. The event is looked at first; then, when it is this call's turn to edit the group, the
 * cursor moves if that is forwards. Two clients that race leave the cursor at the later event, and both
 * chat.read events are kept.
 */
#include <errno.h>

#include "base/error.h"
#include "collab/acks.h"
#include "collab/inbox.h"
#include "collab/lines.h"
#include "gen/cccc-ops.h"

typedef struct Mark {
        Str group_id, actor, by;
        InboxFilter filter;
        bool is_all;
        Str event_id, ts;
        bool wants_ack; /* unless it is there */
        bool has_ack;   /* the change has one */
} Mark;

/* ---- keep ------------------------------------------------------------------------------------ */

static void write_cursor(JsonWriter *w, const Group *group, const Mark *mark, bool is_marked) {
        CursorView cursor = group_cursor(group, mark->actor);

        jw_key(w, "cursor");
        jw_begin_object(w);
        jw_field_str(w, "event_id", cursor.event_id);
        jw_field_str(w, "ts", cursor.ts);
        if (is_marked)
                jw_field_str(w, "updated_at", cursor.updated_at);
        jw_end_object(w);
}

static void inbox_mark_reply(Call *call, GroupChange *change) {
        const Mark *mark = change->user;
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        write_cursor(w, change->group, mark, true);
        group_change_write_event(change, w, "event", 0);
        if (mark->has_ack)
                group_change_write_event(change, w, "ack_event", 1);
        else if (!mark->is_all)
                jw_field_null(w, "ack_event");
        jw_end_object(w);
}

static bool moves_forward(const Group *group, const Mark *mark) {
        uint64_t position;

        return !ledger_find_id(group->ledger, mark->event_id, &position) &&
               position >= inbox_start(group, mark->actor);
}

static int keep_waited(Call *call, Group *group, const void *user);

static int inbox_mark_keep(Call *call, Group *group, const void *user) {
        Mark *mark = (Mark *)user;
        AckState state = mark->wants_ack ? ack_state(call, group, mark->event_id, mark->actor) : ACK_KEPT;
        GroupChange *change;

        if (state == ACK_PENDING)
                return lines_wait(call, group, keep_waited, mark);
        change = group_change_begin(group, call, 0);
        if (!change)
                return error_origin(-ENOMEM);
        change->user = mark;
        mark->has_ack = state == ACK_NONE;
        read_add(change, mark->by, mark->actor, mark->event_id);
        if (mark->has_ack)
                ack_add(change, mark->actor, mark->event_id);
        if (moves_forward(group, mark))
                group_change_cursor(change, mark->actor, mark->event_id, mark->ts);
        return group_change_commit(change, inbox_mark_reply);
}

/* Still this call's turn: who goes on by himself also ends it. */
static int keep_waited(Call *call, Group *group, const void *user) {
        int r = inbox_mark_keep(call, group, user);

        if (r != CALL_LATER)
                group_edit_end(group);
        return r;
}

/* ---- inbox_mark_read ------------------------------------------------------------------------- */

static bool wants_ack(const Json *event, const Mark *mark) {
        return str_eq(mark->by, mark->actor) && str_is(json_str(json_get(event, "kind")), "chat.message") &&
               str_is(json_str(json_get(json_get(event, "data"), "priority")), "attention") &&
               !str_eq(json_str(json_get(event, "by")), mark->actor);
}

static int inbox_mark_check(Call *call, Group *group, const Json *event, const void *user) {
        Mark *mark = (Mark *)user;
        Str kind = json_str(json_get(event, "kind"));

        if (!str_is(kind, "chat.message") && !str_is(kind, "system.notify"))
                return call_fail(call, CALL_E_INVALID_EVENT_KIND,
                                 "event kind must be chat.message or system.notify");
        if (!inbox_shows(group->doc, event, mark->actor, true))
                return call_fail(call, CALL_E_EVENT_NOT_FOR_ACTOR,
                                 "event is not addressed to actor: " STR_FMT, STR_ARG(mark->actor));
        mark->ts = json_str(json_get(event, "ts"));
        mark->wants_ack = wants_ack(event, mark);
        return collab_edit(call, mark->group_id, inbox_mark_keep, mark);
}

static int inbox_mark_find(Call *call, Group *group, const void *user) {
        const Mark *mark = user;
        int r = inbox_require(call, group, mark->by, mark->actor);

        return r ? r : event_find(call, group, mark->event_id, inbox_mark_check, mark);
}

static int inbox_mark_start(Call *call, const Mark *mark, GroupFn fn) {
        Mark *copy = arena_alloc(&call->arena, sizeof(*copy));

        if (!copy)
                return error_origin(-ENOMEM);
        *copy = *mark;
        return collab_read(call, mark->group_id, fn, copy);
}

int op_cccc_inbox_mark_read(Call *call, const CcccInboxMarkReadArgs *args) {
        const Mark mark = {.group_id = args->group_id,
                           .actor = args->actor_id,
                           .by = args->by,
                           .event_id = args->event_id};

        if (!args->group_id.n)
                return call_fail(call, CALL_E_MISSING_GROUP_ID, "missing group_id");
        if (!args->actor_id.n)
                return call_fail(call, CALL_E_MISSING_ACTOR_ID, "missing actor_id");
        if (!args->event_id.n)
                return call_fail(call, CALL_E_MISSING_EVENT_ID, "missing event_id");
        return inbox_mark_start(call, &mark, inbox_mark_find);
}

/* ---- inbox_mark_all_read --------------------------------------------------------------------- */

static int nothing_unread(Call *call, const Group *group, const Mark *mark) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        write_cursor(w, group, mark, false);
        jw_field_null(w, "event");
        jw_end_object(w);
        return 0;
}

static int got_newest(Call *call, _unused_ Group *group, const LedgerRead *lines, const void *user) {
        Mark *mark = (Mark *)user;
        Str line = arena_str(&call->arena, ledger_read_line(lines, 0));
        Json *event;
        int r = line.data ? json_parse(&call->arena, line.data, line.n, NULL, &event, NULL) : -ENOMEM;

        if (r)
                return error_fold(r);
        mark->event_id = json_str(json_get(event, "id"));
        mark->ts = json_str(json_get(event, "ts"));
        return collab_edit(call, mark->group_id, inbox_mark_keep, mark);
}

static int find_newest(Call *call, Group *group, const void *user) {
        const Mark *mark = user;
        uint64_t position;
        int r = inbox_require(call, group, mark->by, mark->actor);

        if (r)
                return r;
        if (!inbox_newest(group, mark->actor, mark->filter, &position))
                return nothing_unread(call, group, mark);
        return lines_read(call, group, &position, 1, got_newest, find_newest, mark);
}

int op_cccc_inbox_mark_all_read(Call *call, const CcccInboxMarkAllReadArgs *args) {
        const Mark mark = {.group_id = args->group_id,
                           .actor = args->actor_id,
                           .by = args->by,
                           .filter = inbox_filter(args->kind_filter),
                           .is_all = true};

        if (!args->group_id.n)
                return call_fail(call, CALL_E_MISSING_GROUP_ID, "missing group_id");
        if (!args->actor_id.n)
                return call_fail(call, CALL_E_MISSING_ACTOR_ID, "missing actor_id");
        return inbox_mark_start(call, &mark, find_newest);
}
