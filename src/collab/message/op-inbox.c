/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/error.h"
#include "collab/group/group-doc.h"
#include "collab/group/lines.h"
#include "collab/message/inbox.h"
#include "gen/cccc-ops.h"

enum {
        LIMIT_DEFAULT = 50,
        ANSWER_MAX =
                3900 * 1000, /* bytes of events: clients read at most 4,000,000; the rest stays unread */
};

/* ---- what is chosen -------------------------------------------------------------------------- */

typedef struct Page {
        uint64_t *positions;
        bool *is_certain;
        size_t n, n_room;
} Page;

/* Room doubles; what was used before stays in the arena, which is as much again at most. */
static int inbox_make_room(Arena *arena, Page *page) {
        size_t n_room = page->n_room ? page->n_room * 2 : LIMIT_DEFAULT;
        uint64_t *positions = arena_alloc(arena, n_room * sizeof(*positions));
        bool *is_certain = arena_alloc(arena, n_room * sizeof(*is_certain));

        if (!positions || !is_certain)
                return error_origin(-ENOMEM);
        if (page->n) {
                memcpy(positions, page->positions, page->n * sizeof(*positions));
                memcpy(is_certain, page->is_certain, page->n * sizeof(*is_certain));
        }
        *page = (Page){positions, is_certain, page->n, n_room};
        return 0;
}

/* Only what is written as an integer counts: "5" and 5.0 do not. */
static size_t limit_of(const Json *limit) {
        int64_t n;

        if (!json_is_integer(limit) || !json_int64(limit, &n))
                return LIMIT_DEFAULT;
        return n <= 0 ? SIZE_MAX : (size_t)n;
}

static int fill_page(Call *call, Group *group, const CcccInboxListArgs *args, Page *page) {
        size_t n_max = limit_of(args->limit);
        uint64_t position, n_bytes = 0;
        Inbox inbox;
        int r = inbox_open(&inbox, group, args->actor_id, inbox_filter(args->kind_filter),
                           inbox_start(group, args->actor_id));

        while (!r && page->n < n_max && inbox_next(&inbox, &position)) {
                n_bytes += ledger_entry(group->ledger, position).n_bytes;
                if (page->n && n_bytes > ANSWER_MAX)
                        break;
                if (page->n == page->n_room)
                        r = inbox_make_room(&call->arena, page);
                if (r)
                        break;
                page->is_certain[page->n] = inbox_is_certain(&inbox, position);
                page->positions[page->n++] = position;
        }
        return error_trace(r);
}

/* ---- inbox_list ------------------------------------------------------------------------------ */

typedef struct Listing {
        Carry carry;
        const CcccInboxListArgs *args;
        Page page;
} Listing;

static bool inbox_is_shown(const Group *group, Str line, Str actor) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Json *event;

        return !json_parse(&arena, line.data, line.n, NULL, &event, NULL) &&
               inbox_shows(group->doc, event, actor, false);
}

static int inbox_answer(Call *call, Group *group, const LedgerRead *lines, const Carry *carry) {
        const Listing *listing = container_of(carry, Listing, carry);
        Str actor = listing->args->actor_id;
        CursorView cursor = group_cursor(group, actor);
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_key(w, "messages");
        jw_begin_array(w);
        for (size_t i = 0; i < listing->page.n; i++) {
                Str line = ledger_read_line(lines, i);

                if (listing->page.is_certain[i] || inbox_is_shown(group, line, actor))
                        jw_stored(w, line);
        }
        jw_end_array(w);
        jw_key(w, "cursor");
        jw_begin_object(w);
        jw_field_str(w, "event_id", cursor.event_id);
        jw_field_str(w, "ts", cursor.ts);
        jw_end_object(w);
        jw_end_object(w);
        return 0;
}

static int inbox_list_again(Call *call, Group *group, const Carry *carry) {
        const Listing *listing = container_of(carry, Listing, carry);

        return op_cccc_inbox_list(call, group, listing->args);
}

int op_cccc_inbox_list(Call *call, Group *group, const CcccInboxListArgs *args) {
        Listing *listing;
        int r = inbox_require(call, group, args->by, args->actor_id);

        if (r)
                return r;
        listing = arena_alloc(&call->arena, sizeof(*listing));
        if (!listing)
                return error_origin(-ENOMEM);
        *listing = (Listing){.args = args};
        r = fill_page(call, group, args, &listing->page);
        if (r)
                return error_trace(r);
        if (!listing->page.n)
                return inbox_answer(call, group, NULL, &listing->carry);
        return lines_read(call, group, listing->page.positions, listing->page.n, inbox_answer,
                          inbox_list_again, &listing->carry);
}

/*
 * Marking as read. The event is looked at first; then, when it is this call's turn to edit the group, the
 * cursor moves if that is forwards. Two clients that race leave the cursor at the later event, and both
 * chat.read events are kept.
 */
typedef struct Mark {
        Carry carry;
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
        const Mark *mark = container_of(change->carry, Mark, carry);
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

static int keep_waited(Call *call, Group *group, const Carry *carry);

static int inbox_mark_keep(Call *call, Group *group, const Carry *carry) {
        Mark *mark = container_of(carry, Mark, carry);
        AckState state = mark->wants_ack ? ack_state(call, group, mark->event_id, mark->actor) : ACK_KEPT;
        GroupChange *change;

        if (state == ACK_PENDING)
                return lines_wait(call, group, keep_waited, &mark->carry);
        change = group_change_begin(group, call, 0);
        if (!change)
                return error_origin(-ENOMEM);
        change->carry = carry;
        mark->has_ack = state == ACK_NONE;
        read_add(change, mark->by, mark->actor, mark->event_id);
        if (mark->has_ack)
                ack_add(change, mark->actor, mark->event_id);
        if (moves_forward(group, mark))
                group_change_cursor(change, mark->actor, mark->event_id, mark->ts);
        return group_change_commit(change, inbox_mark_reply);
}

/* Still this call's turn: who goes on by himself also ends it. */
static int keep_waited(Call *call, Group *group, const Carry *carry) {
        int r = inbox_mark_keep(call, group, carry);

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

static int inbox_mark_check(Call *call, Group *group, const Json *event, const Carry *carry) {
        Mark *mark = container_of(carry, Mark, carry);
        Str kind = json_str(json_get(event, "kind"));

        if (!str_is(kind, "chat.message") && !str_is(kind, "system.notify"))
                return call_fail(call, CALL_E_INVALID_EVENT_KIND,
                                 "event kind must be chat.message or system.notify");
        if (!inbox_shows(group->doc, event, mark->actor, true))
                return call_fail(call, CALL_E_EVENT_NOT_FOR_ACTOR,
                                 "event is not addressed to actor: " STR_FMT, STR_ARG(mark->actor));
        mark->ts = json_str(json_get(event, "ts"));
        mark->wants_ack = wants_ack(event, mark);
        return collab_edit(call, mark->group_id, inbox_mark_keep, &mark->carry);
}

static Mark *inbox_mark_new(Call *call, const Mark *mark) {
        Mark *copy = arena_alloc(&call->arena, sizeof(*copy));

        if (copy)
                *copy = *mark;
        return copy;
}

int op_cccc_inbox_mark_read(Call *call, Group *group, const CcccInboxMarkReadArgs *args) {
        const Mark *mark = inbox_mark_new(call, &(Mark){.group_id = args->group_id,
                                                        .actor = args->actor_id,
                                                        .by = args->by,
                                                        .event_id = args->event_id});
        int r = mark ? inbox_require(call, group, args->by, args->actor_id) : error_origin(-ENOMEM);

        return r ? r : event_find(call, group, args->event_id, inbox_mark_check, &mark->carry);
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

static int got_newest(Call *call, _unused_ Group *group, const LedgerRead *lines, const Carry *carry) {
        Mark *mark = container_of(carry, Mark, carry);
        Str line = arena_str(&call->arena, ledger_read_line(lines, 0));
        Json *event;
        int r = line.data ? json_parse(&call->arena, line.data, line.n, NULL, &event, NULL) : -ENOMEM;

        if (r)
                return error_fold(r);
        mark->event_id = json_str(json_get(event, "id"));
        mark->ts = json_str(json_get(event, "ts"));
        return collab_edit(call, mark->group_id, inbox_mark_keep, &mark->carry);
}

static int find_newest(Call *call, Group *group, const Carry *carry) {
        const Mark *mark = container_of(carry, Mark, carry);
        uint64_t position;
        int r = inbox_require(call, group, mark->by, mark->actor);

        if (r)
                return r;
        if (!inbox_newest(group, mark->actor, mark->filter, &position))
                return nothing_unread(call, group, mark);
        return lines_read(call, group, &position, 1, got_newest, find_newest, &mark->carry);
}

int op_cccc_inbox_mark_all_read(Call *call, Group *group, const CcccInboxMarkAllReadArgs *args) {
        const Mark *mark = inbox_mark_new(call, &(Mark){.group_id = args->group_id,
                                                        .actor = args->actor_id,
                                                        .by = args->by,
                                                        .filter = inbox_filter(args->kind_filter),
                                                        .is_all = true});

        return mark ? find_newest(call, group, &mark->carry) : error_origin(-ENOMEM);
}
