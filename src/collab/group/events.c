/* SPDX-License-Identifier: MIT */
#include "collab/group/events.h"

#include "base/time.h"

enum { TO_MAX = LEDGER_TAGS_MAX - 5 }; /* room for by:, attention:*, re: or src:, client: and to:* */

Str event_tag(Arena *arena, const char *prefix, Str value) {
        return arena_printf(arena, "%s" STR_FMT, prefix, STR_ARG(value));
}

/* A tag without memory is left out; the line itself is kept all the same. */
static void tag(Arena *arena, LedgerFacts *facts, const char *prefix, Str value) {
        Str word = value.n && facts->n_tags < LEDGER_TAGS_MAX ? event_tag(arena, prefix, value) : STR_NULL;

        if (word.data)
                facts->tags[facts->n_tags++] = word;
}

static void tag_recipients(Arena *arena, const Json *to, LedgerFacts *facts) {
        size_t n = 0;

        if (!json_count(to))
                tag(arena, facts, "to:", STR("@all"));
        json_each (item, to)
                if (++n <= TO_MAX)
                        tag(arena, facts, "to:", json_str(item));
        if (n > TO_MAX)
                tag(arena, facts, "to:", STR("*"));
}

static void classify_message(Arena *arena, const Json *line, LedgerFacts *facts) {
        const Json *data = json_get(line, "data");

        tag_recipients(arena, json_get(data, "to"), facts);
        if (str_is(json_str(json_get(data, "priority")), "attention"))
                tag(arena, facts, "attention:", STR("*"));
        tag(arena, facts, "re:", json_str(json_get(data, "reply_to")));
        tag(arena, facts, "src:", json_str(json_get(data, "src_event_id")));
        tag(arena, facts, "client:", json_str(json_get(data, "client_id")));
}

static void classify_mark(Arena *arena, const Json *line, LedgerFacts *facts) {
        tag(arena, facts, "re:", json_str(json_get(json_get(line, "data"), "event_id")));
}

static void classify_notify(Arena *arena, const Json *line, LedgerFacts *facts) {
        Str target = json_str(json_get(json_get(line, "data"), "target_actor_id"));

        tag(arena, facts, "notify:", target.n ? target : STR("*"));
}

static void classify_notify_ack(Arena *arena, const Json *line, LedgerFacts *facts) {
        tag(arena, facts, "re:", json_str(json_get(json_get(line, "data"), "notify_event_id")));
}

static const struct {
        const char *kind;
        void (*classify)(Arena *arena, const Json *line, LedgerFacts *facts);
} kinds[] = {
        {"chat.message", classify_message},
        {"chat.ack", classify_mark},
        {"chat.read", classify_mark},
        {"system.notify", classify_notify},
        {"system.notify_ack", classify_notify_ack},
};

bool collab_classify(Arena *arena, const Json *line, LedgerFacts *facts) {
        *facts = (LedgerFacts){.id = json_str(json_get(line, "id")),
                               .kind = json_str(json_get(line, "kind"))};
        if (!facts->kind.n)
                return false;
        if (!time_parse(json_str(json_get(line, "ts")), &facts->ts_us))
                facts->ts_us = 0;
        tag(arena, facts, "by:", json_str(json_get(line, "by")));
        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
                if (str_is(facts->kind, kinds[i].kind))
                        kinds[i].classify(arena, line, facts);
        return true;
}
