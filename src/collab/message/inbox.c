/* SPDX-License-Identifier: MIT */
#include "collab/message/inbox.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "collab/group/events.h"
#include "collab/group/group-doc.h"

int inbox_require(Call *call, const Group *group, Str by, Str actor) {
        return group_require(call, group->doc, by, ROLE_FOREMAN_OR_SELF, actor, "open this inbox",
                             CALL_E_PERMISSION_DENIED);
}

InboxFilter inbox_filter(Str word) {
        if (str_is(word, "chat"))
                return INBOX_CHAT;
        return str_is(word, "notify") ? INBOX_NOTIFY : INBOX_ALL;
}

uint64_t inbox_start(const Group *group, Str actor) {
        CursorView cursor = group_cursor(group, actor);
        uint64_t position;

        if (cursor.event_id.n && !ledger_find_id(group->ledger, cursor.event_id, &position))
                return position + 1;
        return cursor.ts_us == INT64_MIN ? 0 : ledger_first_after_ts(group->ledger, cursor.ts_us);
}

/* ---- the walk -------------------------------------------------------------------------------- */

static int add_tag(Inbox *inbox, const char *prefix, Str value) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Str word = event_tag(&arena, prefix, value);
        LedgerTag tag;

        if (!word.data)
                return error_origin(-ENOMEM);
        tag = ledger_tag(inbox->group->ledger, word);
        if (!ledger_tag_is_none(tag))
                inbox->mine[inbox->n_mine++] = tag;
        return 0;
}

static int add_tags(Inbox *inbox, Str actor, InboxFilter filter) {
        Str role = group_is_foreman(inbox->group->doc, actor) ? STR("@foreman") : STR("@peers");
        int r = 0;

        if (filter != INBOX_NOTIFY) {
                r = add_tag(inbox, "to:", STR("@all"));
                if (!r)
                        r = add_tag(inbox, "to:", role);
                if (!r)
                        r = add_tag(inbox, "to:", actor);
        }
        if (!r && filter != INBOX_CHAT) {
                r = add_tag(inbox, "notify:", STR("*"));
                if (!r)
                        r = add_tag(inbox, "notify:", actor);
        }
        return error_trace(r);
}

static int open_walk(Inbox *inbox, const Group *group, Str actor, InboxFilter filter, uint64_t position,
                     bool is_backwards) {
        LedgerTag tags[ARRAY_SIZE(inbox->mine) + 1];
        size_t n;
        int r;

        *inbox = (Inbox){.group = group};
        r = add_tag(inbox, "by:", actor);
        if (!r && inbox->n_mine)
                inbox->by = inbox->mine[--inbox->n_mine];
        if (!r)
                r = add_tags(inbox, actor, filter);
        if (r)
                return error_trace(r);
        n = inbox->n_mine;
        for (size_t i = 0; i < n; i++)
                tags[i] = inbox->mine[i];
        if (filter != INBOX_NOTIFY)
                tags[n++] = ledger_tag(group->ledger, STR("to:*"));
        return error_trace(
                ledger_cursor_init(&inbox->cursor, group->ledger, tags, n, position, is_backwards));
}

int inbox_open(Inbox *inbox, const Group *group, Str actor, InboxFilter filter, uint64_t start) {
        return open_walk(inbox, group, actor, filter, start, false);
}

static bool is_own_message(const Inbox *inbox, uint64_t position) {
        return !ledger_tag_is_none(inbox->by) && ledger_has_tag(inbox->group->ledger, position, inbox->by) &&
               str_is(ledger_entry(inbox->group->ledger, position).kind, "chat.message");
}

bool inbox_next(Inbox *inbox, uint64_t *ret_position) {
        while (ledger_cursor_next(&inbox->cursor, ret_position))
                if (!is_own_message(inbox, *ret_position))
                        return true;
        return false;
}

bool inbox_is_certain(const Inbox *inbox, uint64_t position) {
        for (size_t i = 0; i < inbox->n_mine; i++)
                if (ledger_has_tag(inbox->group->ledger, position, inbox->mine[i]))
                        return true;
        return false;
}

bool inbox_newest(const Group *group, Str actor, InboxFilter filter, uint64_t *ret_position) {
        uint64_t start = inbox_start(group, actor), position;
        Inbox inbox;

        if (open_walk(&inbox, group, actor, filter, ledger_n_committed(group->ledger), true))
                return false;
        if (!inbox_next(&inbox, &position) || position < start)
                return false;
        *ret_position = position;
        return true;
}

/* ---- one event ------------------------------------------------------------------------------- */

static bool list_includes(const GroupDoc *doc, const Json *to, Str actor) {
        Str role = group_is_foreman(doc, actor) ? STR("@foreman") : STR("@peers");

        if (!json_count(to))
                return true;
        json_each (item, to) {
                Str token = json_str(item);

                if (str_is(token, "@all") || str_eq(token, actor) || str_eq(token, role))
                        return true;
        }
        return false;
}

bool inbox_shows(const GroupDoc *doc, const Json *event, Str actor, bool has_own) {
        const Json *data = json_get(event, "data");
        Str target;

        if (str_is(json_str(json_get(event, "kind")), "system.notify")) {
                target = json_str(json_get(data, "target_actor_id"));
                return !target.n || str_eq(target, actor);
        }
        if (!has_own && str_eq(json_str(json_get(event, "by")), actor))
                return false;
        return list_includes(doc, json_get(data, "to"), actor);
}

/*
 * Numbers of unread events. Counting walks over what is unread; what was counted before is kept per actor,
 * so that asking again costs what came in between. Everything is counted anew when the cursor moves, the
 * role changes or the ledger is rewritten. At most COUNTS_MAX actors are remembered per group; others are
 * counted each time.
 */
enum { COUNTS_MAX = 256 };

typedef struct Count {
        char *actor;
        bool is_foreman;
        uint64_t start, end; /* positions that were counted */
        size_t n;
} Count;

typedef struct Counts {
        Count items[COUNTS_MAX];
        size_t n;
} Counts;

static Counts *counts_of(const Group *group) {
        return group->slots[GROUP_SLOT_INBOX];
}

/* NULL: not remembered. */
static Count *inbox_count_find(const Group *group, Str actor) {
        Counts *counts = counts_of(group);

        for (size_t i = 0; counts && i < counts->n; i++)
                if (str_is(actor, counts->items[i].actor))
                        return &counts->items[i];
        if (!counts || counts->n == COUNTS_MAX)
                return NULL;
        counts->items[counts->n] = (Count){.actor = str_dup(actor)};
        return counts->items[counts->n].actor ? &counts->items[counts->n++] : NULL;
}

static size_t count_from(const Group *group, Str actor, uint64_t start) {
        uint64_t position;
        size_t n = 0;
        Inbox inbox;

        if (inbox_open(&inbox, group, actor, INBOX_ALL, start))
                return 0;
        while (inbox_next(&inbox, &position))
                n++;
        return n;
}

/* How many events are not read. Counted once, then kept up to date. */
static size_t inbox_unread(const Group *group, Str actor) {
        uint64_t start = inbox_start(group, actor), end = ledger_n_committed(group->ledger);
        bool is_foreman = group_is_foreman(group->doc, actor);
        Count *count = inbox_count_find(group, actor);

        if (!count)
                return count_from(group, actor, start);
        if (count->start != start || count->is_foreman != is_foreman || count->end > end)
                *count = (Count){
                        .actor = count->actor, .is_foreman = is_foreman, .start = start, .end = start};
        count->n += count_from(group, actor, count->end);
        count->end = end;
        return count->n;
}

/* ---- the part -------------------------------------------------------------------------------- */

static int inbox_count_on_group_opened(Group *group) {
        group->slots[GROUP_SLOT_INBOX] = calloc(1, sizeof(Counts)); /* NULL: nothing is remembered */
        return 0;
}

static void inbox_count_on_rewritten(Group *group, _unused_ uint64_t n_gone) {
        Counts *counts = counts_of(group);

        for (size_t i = 0; counts && i < counts->n; i++)
                free(counts->items[i].actor);
        if (counts)
                counts->n = 0;
}

static void inbox_count_on_group_closed(Group *group) {
        inbox_count_on_rewritten(group, 0);
        free(steal(&group->slots[GROUP_SLOT_INBOX]));
}

const CollabPart inbox_part = {
        .name = "inbox",
        .group_opened = inbox_count_on_group_opened,
        .group_closed = inbox_count_on_group_closed,
        .rewritten = inbox_count_on_rewritten,
        .unread = inbox_unread,
};

bool ack_is_kept(const Group *group, const char *kind, Str event_id, Str actor) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Str re = event_tag(&arena, "re:", event_id), by = event_tag(&arena, "by:", actor);
        LedgerTag refers = re.data ? ledger_tag(group->ledger, re) : (LedgerTag){0};
        LedgerTag own = by.data ? ledger_tag(group->ledger, by) : (LedgerTag){0};
        LedgerCursor cursor;
        uint64_t position;

        if (ledger_tag_is_none(refers) || ledger_tag_is_none(own) ||
            ledger_cursor_init(&cursor, group->ledger, &refers, 1, 0, false))
                return false;
        while (ledger_cursor_next(&cursor, &position))
                if (str_is(ledger_entry(group->ledger, position).kind, kind) &&
                    ledger_has_tag(group->ledger, position, own))
                        return true;
        return false;
}

AckState ack_state(Call *call, const Group *group, Str event_id, Str actor) {
        if (ledger_is_tag_pending(group->ledger, event_tag(&call->arena, "re:", event_id)))
                return ACK_PENDING;
        return ack_is_kept(group, "chat.ack", event_id, actor) ? ACK_KEPT : ACK_NONE;
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
