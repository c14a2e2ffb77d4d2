/* SPDX-License-Identifier: MIT */
/* One thing that waits for a person: made of the line that asks for it, and told as JSON. */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/time.h"
#include "core/attention/attention-internal.h"

const char *attention_state_name(AttentionState state) {
        static const char *const names[] = {
                [ATTENTION_OPEN] = "open",
                [ATTENTION_ANSWERING] = "answering",
                [ATTENTION_ANSWERED] = "answered",
                [ATTENTION_SETTLED] = "settled",
        };

        return names[state];
}

void attention_item_clear_answer(AttentionItem *item) {
        char **texts[] = {&item->choice, &item->answer_text, &item->by, &item->client_id};

        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                free(*texts[i]);
                *texts[i] = NULL;
        }
        item->answered_us = 0;
}

AttentionItem *attention_item_free(AttentionItem *item) {
        if (!item)
                return NULL;
        attention_item_clear_answer(item);
        for (size_t i = 0; i < item->n_choices; i++)
                free(item->choices[i]);
        free(item->id);
        free(item->kind);
        free(item->source);
        free(item->owner);
        free(item->object);
        free(item->text);
        free(item);
        return NULL;
}

static const AttentionKind *attention_item_row(const Attention *self, Str kind) {
        for (const AttentionKind *const *at = self->daemon->attention_kinds; at && *at; at++)
                if (str_is(kind, (*at)->kind))
                        return *at;
        return NULL;
}

static bool attention_item_take_choices(AttentionItem *item, const Json *choices) {
        json_each (choice, choices) {
                char *copy = item->n_choices < ARRAY_SIZE(item->choices) ? str_dup(json_str(choice)) : NULL;

                if (!copy)
                        return false;
                item->choices[item->n_choices++] = copy;
        }
        return true;
}

AttentionItem *attention_item_new(const Attention *self, const Json *json) {
        AttentionItem *item = calloc(1, sizeof(*item));
        bool fits;

        if (!item)
                return NULL;
        item->id = str_dup(json_text_of(json, "id"));
        item->kind = str_dup(json_text_of(json, "kind"));
        item->source = str_dup(json_text_of(json, "source"));
        item->owner = str_dup(json_text_of(json, "owner"));
        item->object = str_dup(json_text_of(json, "object"));
        item->text = str_dup(json_text_of(json, "text"));
        fits = item->id && *item->id && item->kind && item->source && item->owner && item->object &&
               item->text && attention_item_take_choices(item, json_get(json, "choices")) &&
               time_parse(json_text_of(json, "since"), &item->since_us);
        if (!fits)
                return attention_item_free(item);
        item->row = attention_item_row(self, str_from(item->kind));
        item->id_hash = hash_str(str_from(item->id));
        item->source_hash = hash_str(str_from(item->source));
        LIST_INIT(&item->waits);
        return item;
}

bool attention_item_has(const AttentionItem *item, Str choice) {
        for (size_t i = 0; i < item->n_choices; i++)
                if (str_is(choice, item->choices[i]))
                        return true;
        return false;
}

int attention_item_set_answer(AttentionItem *item, const Json *line, int64_t at_us) {
        Str client_id = json_text_of(line, "client_id");

        attention_item_clear_answer(item);
        item->choice = str_dup(json_text_of(line, "choice"));
        item->answer_text = str_dup(json_text_of(line, "text"));
        item->by = str_dup(json_text_of(line, "by"));
        item->client_id = client_id.n ? str_dup(client_id) : NULL;
        item->answered_us = at_us;
        return item->choice && item->answer_text && item->by ? 0 : error_origin(-ENOMEM);
}

/* ---- as JSON --------------------------------------------------------------------------------- */

void attention_item_write_members(const AttentionItem *item, JsonWriter *w) {
        jw_field_cstr(w, "id", item->id);
        jw_field_cstr(w, "kind", item->kind);
        jw_field_time_ms(w, "since", item->since_us);
        jw_field_cstr(w, "source", item->source);
        jw_field_cstr(w, "owner", item->owner);
        jw_field_cstr(w, "object", item->object);
        jw_field_cstr(w, "text", item->text);
        jw_key(w, "choices");
        jw_begin_array(w);
        for (size_t i = 0; i < item->n_choices; i++)
                jw_str(w, str_from(item->choices[i]));
        jw_end_array(w);
}

void attention_item_write(const AttentionItem *item, JsonWriter *w) {
        jw_begin_object(w);
        attention_item_write_members(item, w);
        jw_field_cstr(w, "state", attention_state_name(item->state));
        if (item->choice) {
                jw_key(w, "answer");
                jw_begin_object(w);
                jw_field_cstr(w, "choice", item->choice);
                jw_field_cstr(w, "text", item->answer_text);
                jw_field_cstr(w, "by", item->by);
                jw_field_time_ms(w, "at", item->answered_us);
                jw_end_object(w);
        }
        jw_end_object(w);
}
