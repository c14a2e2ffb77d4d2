/* SPDX-License-Identifier: MIT */
/*
 * The ledger of what waits for a person. A line is one of
 *
 *   asked     item {id, kind, since, source, owner, object, text, choices}
 *   answer    item_id, choice, text, by, client_id: it is kept, and being carried out from now on
 *   done      item_id: that was carried out
 *   undone    item_id, why: it was refused; the item is open again
 *   settled   item_id, why
 *
 * besides v, id, ts and kind. The table is what these say in their order, at the start and afterwards: nothing enters
 * it another way.
 */
#define LOG_MODULE "core/attention"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/time.h"
#include "base/utf8.h"
#include "core/attention/attention-internal.h"

enum { ATTENTION_NAME_MAX = 300 }; /* characters of names of things */

/* ---- writing --------------------------------------------------------------------------------- */

static void attention_write_choices(const AttentionAsk *ask, JsonWriter *w) {
        jw_key(w, "choices");
        jw_begin_array(w);
        for (size_t i = 0; i < ATTENTION_CHOICES_MAX && ask->choices[i]; i++)
                jw_str(w, str_from(ask->choices[i]));
        jw_str(w, STR("dismiss"));
        jw_end_array(w);
}

int attention_write_ask(const Attention *self, const AttentionAsk *ask, Buf *out) {
        JsonWriter w = JSON_WRITER(out);
        int r = docket_line_begin(&self->docket, &w, "asked");

        if (r)
                return error_trace(r);
        jw_key(&w, "item");
        jw_begin_object(&w);
        jw_field_str(&w, "id", ask->id);
        jw_field_cstr(&w, "kind", ask->kind);
        jw_field_time_ms(&w, "since", ask->since_us);
        jw_field_str(&w, "source", utf8_first(ask->source, ATTENTION_NAME_MAX));
        jw_field_str(&w, "owner", ask->owner);
        jw_field_str(&w, "object", utf8_first(ask->object, ATTENTION_NAME_MAX));
        jw_field_str(&w, "text", utf8_first(ask->text, ATTENTION_TEXT_MAX));
        attention_write_choices(ask, &w);
        jw_end_object(&w);
        return error_trace(docket_line_end(&w, out));
}

int attention_write(const Attention *self, const char *kind, Str item_id, const AttentionReply *reply,
                    const char *why, Buf *out) {
        JsonWriter w = JSON_WRITER(out);
        int r = docket_line_begin(&self->docket, &w, kind);

        if (r)
                return error_trace(r);
        jw_field_str(&w, "item_id", item_id);
        if (reply) {
                jw_field_str(&w, "choice", reply->choice);
                jw_field_str(&w, "text", reply->text.n ? reply->text : STR(""));
                jw_field_str(&w, "by", reply->by);
                if (reply->client_id.n)
                        jw_field_str(&w, "client_id", reply->client_id);
        }
        if (why)
                jw_field_cstr(&w, "why", why);
        return error_trace(docket_line_end(&w, out));
}

int attention_append(Attention *self, Str text, DocketKeptFn done, void *user) {
        return error_trace(docket_append(&self->docket, text, STR_NULL, NULL, done, user));
}

void attention_note(Attention *self, const char *kind, Str item_id, const char *why) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int r = attention_write(self, kind, item_id, NULL, why, &text);

        r = r ? r : attention_append(self, buf_str(&text), NULL, NULL);
        if (r)
                log_warning(&self->daemon->log, self->docket.path, "%s was not kept: %s", kind,
                            strerror(-r));
}

/* ---- what they mean -------------------------------------------------------------------------- */

static bool attention_classify(Arena *arena, const Json *line, LedgerFacts *facts) {
        const Json *item = json_get(line, "item");
        bool is_line = docket_classify(line, facts);

        ledger_facts_tag(facts, arena, STR("item:"),
                         item ? json_text_of(item, "id") : json_text_of(line, "item_id"));
        return is_line;
}

static void attention_feed(Attention *self, const AttentionItem *item, const char *kind) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        FeedPlace place;

        if (self->docket.life != DOCKET_READY)
                return;
        attention_item_write(item, &w);
        feed_place(&place, "attention", str_from(item->source), str_from(kind), FEED_NOWHERE);
        (void)feed_push(self->daemon->feed, &place, w.failed ? NULL : chunk_new(buf_str(&text)));
}

static void attention_take_asked(Attention *self, const Json *line) {
        const Json *json = json_get(line, "item");
        AttentionItem *item =
                attention_get(self, json_text_of(json, "id")) ? NULL : attention_item_new(self, json);

        if (!item)
                return; /* it is known, or cannot be one */
        attention_add(self, item);
        attention_feed(self, item, "asked");
}

static void attention_take_answer(Attention *self, AttentionItem *item, const Json *line, int64_t at_us) {
        if (item->state == ATTENTION_OPEN && !attention_item_set_answer(item, line, at_us))
                attention_set_state(self, item, ATTENTION_ANSWERING);
}

void attention_end(Attention *self, AttentionItem *item, AttentionState from, AttentionState to,
                   int64_t at_us) {
        static const char *const words[] = {[ATTENTION_OPEN] = "asked",
                                            [ATTENTION_ANSWERING] = "asked",
                                            [ATTENTION_ANSWERED] = "answered",
                                            [ATTENTION_SETTLED] = "settled"};

        if (item->state != from)
                return;
        if (to == ATTENTION_OPEN)
                attention_item_clear_answer(item);
        else if (to == ATTENTION_SETTLED)
                item->answered_us = at_us;
        attention_set_state(self, item, to);
        attention_feed(self, item, words[to]);
}

static void attention_take(Docket *docket, const Json *json, int64_t at_us) {
        Attention *self = container_of(docket, Attention, docket);
        Str kind = json_text_of(json, "kind");
        AttentionItem *item = attention_get(self, json_text_of(json, "item_id"));

        if (str_is(kind, "asked"))
                attention_take_asked(self, json);
        else if (item && str_is(kind, "answer"))
                attention_take_answer(self, item, json, at_us);
        else if (item && str_is(kind, "done"))
                attention_end(self, item, ATTENTION_ANSWERING, ATTENTION_ANSWERED, at_us);
        else if (item && str_is(kind, "undone"))
                attention_end(self, item, ATTENTION_ANSWERING, ATTENTION_OPEN, at_us);
        else if (item && str_is(kind, "settled"))
                attention_end(self, item, ATTENTION_OPEN, ATTENTION_SETTLED, at_us);
}

const DocketType attention_docket = {
        .name = "attention",
        .unreadable = "what waits for a person cannot be read now",
        .n_calls_max = ATTENTION_WAITING_MAX,
        .n_lines_max = ATTENTION_LINES_MAX,
        .classify = attention_classify,
        .take = attention_take,
        .ready = attention_ready,
        .remember = attention_remember,
};
