/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "collab/asking"

#include "collab/message/asking.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/time.h"
#include "collab/collab.h"
#include "collab/group/events.h"
#include "collab/message/approval-chat.h"
#include "collab/message/inbox.h"
#include "core/ledger/follower.h"
#include "gen/cccc-ops.h"

typedef struct Asking {
        Group *group; /* NULL: it is gone, and the read is still under way */
        LedgerFollower lines;
        LedgerRead read; /* of what was there when it was loaded */
        bool is_reading;
} Asking;

static bool asking_is_user(Str name) {
        return str_is(name, "user") || str_is(name, "@user");
}

/* ---- what an event asks for ------------------------------------------------------------------ */

static bool asking_names_user(const Json *to) {
        json_each (item, to)
                if (asking_is_user(json_str(item)))
                        return true;
        return false;
}

static const AttentionKind *asking_kind_of(const Json *event) {
        const Json *data = json_get(event, "data");
        Str kind = json_text_of(event, "kind"), target = json_text_of(data, "target_actor_id");
        bool wants_ack = false;

        if (approval_chat_is_ours(event))
                return NULL; /* the approval itself is listed */
        if (str_is(kind, "chat.message"))
                return str_is(json_text_of(data, "priority"), "attention") &&
                                       asking_names_user(json_get(data, "to")) &&
                                       !asking_is_user(json_text_of(event, "by"))
                               ? &attention_message
                               : NULL;
        if (!str_is(kind, "system.notify"))
                return NULL;
        return json_bool(json_get(data, "requires_ack"), &wants_ack) && wants_ack &&
                               (!target.n || asking_is_user(target))
                       ? &attention_notice
                       : NULL;
}

static Str asking_id(Arena *arena, const AttentionKind *kind, const Group *group, Str event_id) {
        return arena_printf(arena, "%s:%s/" STR_FMT, kind->kind, group->id, STR_ARG(event_id));
}

static Str asking_text(Arena *arena, const Json *data) {
        Str title = json_text_of(data, "title"), message = json_text_of(data, "message");

        if (json_get(data, "text"))
                return json_text_of(data, "text");
        return title.n && message.n
                       ? arena_printf(arena, STR_FMT ": " STR_FMT, STR_ARG(title), STR_ARG(message))
               : title.n ? title
                         : message;
}

static void asking_ask(const Group *group, const Json *event, const AttentionKind *kind, int64_t ts_us) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Str id = json_text_of(event, "id"), by = json_text_of(event, "by");
        AttentionAsk ask = {.kind = kind->kind,
                            .id = asking_id(&arena, kind, group, id),
                            .source = arena_printf(&arena, "actor:%s/" STR_FMT, group->id, STR_ARG(by)),
                            .owner = str_from(group->id),
                            .object = id,
                            .text = asking_text(&arena, json_get(event, "data")),
                            .since_us = ts_us,
                            .choices = {"ack"}};

        if (id.n && ask.id.data && ask.source.data)
                attention_ask(group->collab->daemon->attention, &ask);
}

static void asking_settle(const Group *group, const AttentionKind *kind, Str event_id) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Str id = asking_id(&arena, kind, group, event_id);

        if (event_id.n && id.data)
                attention_settle(group->collab->daemon->attention, id, "it was acknowledged");
}

/* ---- new lines ------------------------------------------------------------------------------- */

static void asking_see(const Group *group, const Json *event, int64_t ts_us) {
        const Json *data = json_get(event, "data");
        const AttentionKind *kind = asking_kind_of(event);
        Str name = json_text_of(event, "kind");

        if (kind)
                asking_ask(group, event, kind, ts_us);
        else if (str_is(name, "chat.ack") && asking_is_user(json_text_of(data, "actor_id")))
                asking_settle(group, &attention_message, json_text_of(data, "event_id"));
        else if (str_is(name, "system.notify_ack") && asking_is_user(json_text_of(data, "actor_id")))
                asking_settle(group, &attention_notice, json_text_of(data, "notify_event_id"));
}

static bool asking_wants(_unused_ const LedgerFollower *lines, const LedgerEntry *entry) {
        static const char *const kinds[] = {"chat.message", "system.notify", "chat.ack",
                                            "system.notify_ack"};

        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
                if (str_is(entry->kind, kinds[i]))
                        return true;
        return false;
}

static void asking_take(LedgerFollower *lines, LedgerLine *line) {
        const Json *event = ledger_line_json(line);

        if (event)
                asking_see(container_of(lines, Asking, lines)->group, event, line->entry.ts_us);
}

static bool asking_failed(_unused_ LedgerFollower *lines, _unused_ int r) {
        return true; /* the announcer has said it */
}

static const LedgerFollowerType asking_lines = {
        .n_lines = FOLLOWER_LINES,
        .n_bytes = FOLLOWER_BYTES,
        .n_line_max = FEED_PAYLOAD_MAX,
        .wants = asking_wants,
        .take = asking_take,
        .failed = asking_failed,
};

/* ---- those that were there ------------------------------------------------------------------- */

static LedgerTag asking_tag(const Group *group, const char *prefix, Str word) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Str tag = event_tag(&arena, prefix, word);

        return tag.data ? ledger_tag(group->ledger, tag) : (LedgerTag){0};
}

static void asking_see_old(const Group *group, Str line) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        const AttentionKind *kind;
        Json *event = NULL;
        int64_t ts_us = 0;
        Str id;

        if (!line.n || json_parse(&arena, line.data, line.n, NULL, &event, NULL))
                return;
        kind = asking_kind_of(event);
        id = json_text_of(event, "id");
        if (!kind || !time_parse(json_text_of(event, "ts"), &ts_us))
                return;
        if (ack_is_kept(group, kind == &attention_message ? "chat.ack" : "system.notify_ack", id,
                        STR("user")))
                asking_settle(group, kind, id);
        else
                asking_ask(group, event, kind, ts_us);
}

static void asking_free(Asking *self) {
        ledger_read_deinit(&self->read);
        free(self);
}

static void asking_on_read(LedgerRead *read, int r) {
        Asking *self = container_of(read, Asking, read);

        self->is_reading = false;
        for (size_t i = 0; !r && self->group && i < read->n; i++)
                asking_see_old(self->group, ledger_read_line(read, i));
        if (!self->group)
                asking_free(self);
}

/* By the index: of messages those that need attention, of notices all to the user. */
static size_t asking_collect(const Group *group, uint64_t *positions) {
        LedgerTag wanted[] = {asking_tag(group, "to:", STR("user")), asking_tag(group, "to:", STR("@user")),
                              asking_tag(group, "notify:", STR("user")),
                              asking_tag(group, "notify:", STR("*"))};
        LedgerTag urgent = asking_tag(group, "attention:", STR("*"));
        LedgerCursor cursor;
        uint64_t position;
        size_t n = 0, n_looked = 0;

        if (ledger_cursor_init(&cursor, group->ledger, wanted, ARRAY_SIZE(wanted),
                               ledger_n_committed(group->ledger), true))
                return 0;
        while (n < ASKING_LOOK_MAX && n_looked++ < ASKING_WALK_MAX &&
               ledger_cursor_next(&cursor, &position)) {
                bool is_notice = str_is(ledger_entry(group->ledger, position).kind, "system.notify");

                if (is_notice ||
                    (!ledger_tag_is_none(urgent) && ledger_has_tag(group->ledger, position, urgent)))
                        positions[n++] = position;
        }
        return n;
}

static void asking_look(Asking *self) {
        uint64_t positions[ASKING_LOOK_MAX];
        size_t n = asking_collect(self->group, positions);
        int r;

        if (!n)
                return;
        self->read.done = asking_on_read;
        self->is_reading = true;
        r = ledger_read(self->group->ledger, &self->read, positions, n);
        if (r != LEDGER_LATER)
                asking_on_read(&self->read, r);
}

/* ---- the part -------------------------------------------------------------------------------- */

static int asking_on_opened(Group *group) {
        Asking *self = calloc(1, sizeof(*self));

        if (!self)
                return error_origin(-ENOMEM);
        self->group = group;
        follower_start(&self->lines, &asking_lines, group->ledger, ledger_n_committed(group->ledger));
        group->slots[GROUP_SLOT_ASKING] = self;
        asking_look(self);
        return 0;
}

static void asking_on_closed(Group *group) {
        Asking *self = steal(&group->slots[GROUP_SLOT_ASKING]);

        if (!self)
                return;
        follower_stop(&self->lines);
        self->group = NULL;
        if (!self->is_reading)
                asking_free(self);
}

static bool asking_is_busy(const Group *group) {
        const Asking *self = group->slots[GROUP_SLOT_ASKING];

        return self && self->is_reading;
}

const CollabPart asking_part = {
        .name = "asking",
        .group_opened = asking_on_opened,
        .group_closed = asking_on_closed,
        .group_is_busy = asking_is_busy,
};

/* ---- answers --------------------------------------------------------------------------------- */

static int asking_run(Call *call, const char *op, const void *args) {
        return args ? op_find(&cccc_ops, str_from(op))->run(call, args) : error_origin(-ENOMEM);
}

static int asking_ack_message(Call *call, const AttentionItem *item, _unused_ const AttentionReply *reply) {
        CcccChatAckArgs *args = arena_alloc(&call->arena, sizeof(*args));

        if (args)
                *args = (CcccChatAckArgs){.group_id = arena_str(&call->arena, str_from(item->owner)),
                                          .event_id = arena_str(&call->arena, str_from(item->object)),
                                          .actor_id = STR("user"),
                                          .by = STR("user")};
        return asking_run(call, "chat_ack", args);
}

static int asking_ack_notice(Call *call, const AttentionItem *item, _unused_ const AttentionReply *reply) {
        CcccNotifyAckArgs *args = arena_alloc(&call->arena, sizeof(*args));

        if (args)
                *args = (CcccNotifyAckArgs){.group_id = arena_str(&call->arena, str_from(item->owner)),
                                            .notify_event_id =
                                                    arena_str(&call->arena, str_from(item->object)),
                                            .actor_id = STR("user"),
                                            .by = STR("user")};
        return asking_run(call, "notify_ack", args);
}

const AttentionKind attention_message = {
        .kind = "message", .answer = asking_ack_message, .is_repeatable = true};
const AttentionKind attention_notice = {
        .kind = "notice", .answer = asking_ack_notice, .is_repeatable = true};
