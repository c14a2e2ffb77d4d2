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
#include "base/file.h"
#include "base/id.h"
#include "base/time.h"
#include "base/utf8.h"
#include "core/attention/attention-internal.h"

enum { ATTENTION_ID_DIGITS = 24, ATTENTION_NAME_MAX = 300 /* characters of names of things */ };

/* ---- writing --------------------------------------------------------------------------------- */

static int attention_begin_line(const Attention *self, JsonWriter *w, const char *kind) {
        char id[ATTENTION_ID_DIGITS + 1], ts[TIME_TEXT_MAX];
        int r = id_hex(id, ATTENTION_ID_DIGITS);

        if (r)
                return error_trace(r);
        time_format_us(loop_wall_us(self->daemon->loop), ts);
        jw_begin_object(w);
        jw_field_int(w, "v", 1);
        jw_field_cstr(w, "id", id);
        jw_field_cstr(w, "ts", ts);
        jw_field_cstr(w, "kind", kind);
        return 0;
}

static int attention_end_line(JsonWriter *w, Buf *out) {
        jw_end_object(w);
        return w->failed || !buf_cstr(out) ? error_origin(-ENOMEM) : 0;
}

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
        int r = attention_begin_line(self, &w, "asked");

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
        return error_trace(attention_end_line(&w, out));
}

int attention_write(const Attention *self, const char *kind, Str item_id, const AttentionReply *reply,
                    const char *why, Buf *out) {
        JsonWriter w = JSON_WRITER(out);
        int r = attention_begin_line(self, &w, kind);

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
        return error_trace(attention_end_line(&w, out));
}

static void attention_on_kept(LedgerChange *change, int r) {
        AttentionLine *line = container_of(change, AttentionLine, change);
        Attention *self = line->self;

        if (r)
                log_warning(&self->daemon->log, self->path, "a line was not kept: %s", strerror(-r));
        if (line->done)
                line->done(line, r);
        free(line);
        attention_bound(self);
}

int attention_append(Attention *self, Str text, void (*done)(AttentionLine *line, int r), void *user) {
        AttentionLine *line = self->ledger ? calloc(1, sizeof(*line)) : NULL;
        int r;

        if (!line)
                return error_origin(self->ledger ? -ENOMEM : -ESHUTDOWN);
        line->self = self;
        line->done = done;
        line->user = user;
        ledger_change_init(&line->change, self->ledger, attention_on_kept);
        r = ledger_change_line(&line->change, text);
        if (!r)
                r = ledger_change_commit(&line->change);
        if (!r)
                return 0;
        ledger_change_deinit(&line->change);
        free(line);
        return error_trace(r);
}

void attention_note(Attention *self, const char *kind, Str item_id, const char *why) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int r = attention_write(self, kind, item_id, NULL, why, &text);

        r = r ? r : attention_append(self, buf_str(&text), NULL, NULL);
        if (r)
                log_warning(&self->daemon->log, self->path, "%s was not kept: %s", kind, strerror(-r));
}

/* ---- what they mean -------------------------------------------------------------------------- */

static bool attention_classify(Arena *arena, const Json *line, LedgerFacts *facts) {
        const Json *item = json_get(line, "item");

        *facts = (LedgerFacts){.id = json_text_of(line, "id"), .kind = json_text_of(line, "kind")};
        if (!time_parse(json_text_of(line, "ts"), &facts->ts_us))
                facts->ts_us = 0;
        ledger_facts_tag(facts, arena, STR("item:"),
                         item ? json_text_of(item, "id") : json_text_of(line, "item_id"));
        return facts->id.n && facts->kind.n;
}

static void attention_feed(Attention *self, const AttentionItem *item, const char *kind) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        FeedPlace place;

        if (self->life != ATTENTION_READY)
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

static void attention_take(LedgerFollower *lines, LedgerLine *line) {
        Attention *self = container_of(lines, Attention, lines);
        const Json *json = ledger_line_json(line);
        Str kind = json_text_of(json, "kind");
        AttentionItem *item = attention_get(self, json_text_of(json, "item_id"));
        int64_t at_us = line->entry.ts_us;

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

static bool attention_lines_failed(LedgerFollower *lines, int r) {
        Attention *self = container_of(lines, Attention, lines);

        log_warning(&self->daemon->log, self->path, "cannot be read: %s", strerror(-r));
        return true; /* what cannot be read is passed over */
}

static void attention_caught_up(LedgerFollower *lines) {
        Attention *self = container_of(lines, Attention, lines);

        if (self->life == ATTENTION_OPENING)
                attention_ready(self, 0);
}

static const LedgerFollowerType attention_lines = {
        .n_lines = FOLLOWER_LINES_MAX,
        .n_bytes = FOLLOWER_BYTES,
        .is_early = true, /* who has kept a line finds it in the table */
        .take = attention_take,
        .caught_up = attention_caught_up,
        .failed = attention_lines_failed,
};

/* ---- opening --------------------------------------------------------------------------------- */

static void attention_on_opened(void *user, int r) {
        Attention *self = user;

        self->is_open = !r;
        if (r || self->life == ATTENTION_CLOSING) {
                attention_ready(self, r);
                return;
        }
        follower_start(&self->lines, &attention_lines, self->ledger, 0);
        follower_go_on(&self->lines);
}

static void attention_on_committed(_unused_ void *user, _unused_ uint64_t first, _unused_ uint64_t n) {}

static void attention_open_ledger(void *user) {
        Attention *self = user;
        LedgerOptions options = {.loop = self->daemon->loop,
                                 .totals = &self->daemon->ledgers,
                                 .path = self->path,
                                 .state_path = self->state_path,
                                 .is_lines_only = true,
                                 .classify = attention_classify,
                                 .committed = attention_on_committed,
                                 .user = self};
        int r = self->life == ATTENTION_CLOSING ? -ECANCELED : self->r;

        ledger_options_apply(&options, &self->daemon->config);
        if (!r)
                r = ledger_open(&self->ledger, &options, attention_on_opened);
        if (r)
                attention_ready(self, r);
}

static void attention_make_folder(void *user) {
        Attention *self = user;
        _cleanup_(freep) char *state = path_join(self->folder, "state");

        self->r = state ? dir_make(self->folder, 0700) : -ENOMEM;
        if (!self->r)
                self->r = dir_make(state, 0700);
}

int attention_open(Attention *self) {
        self->life = ATTENTION_OPENING;
        return error_trace(
                loop_work(self->daemon->loop, attention_make_folder, attention_open_ledger, self));
}
