/* SPDX-License-Identifier: MIT */
#include "core/usage/usage-table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/error.h"
#include "base/macro.h"
#include "core/usage/usage-table-internal.h"

const char *usage_basis_name(UsageBasis basis) {
        static const char *const names[] = {
                [USAGE_UNPRICED] = "unpriced", [USAGE_REPORTED] = "reported", [USAGE_PRICED] = "priced"};

        return names[basis];
}

/* ---- slots ----------------------------------------------------------------------------------- */

/* Where the number of this hash stands, or would stand. n_slots is a power of two, and never full. */
static uint32_t *slots_find(UsageSlots *slots, uint64_t hash) {
        size_t at = (size_t)hash & (slots->n_slots - 1);

        while (slots->slots[at].number && slots->slots[at].hash != hash)
                at = (at + 1) & (slots->n_slots - 1);
        slots->slots[at].hash = hash;
        return &slots->slots[at].number;
}

static int slots_grow(UsageSlots *slots) {
        UsageSlots more = {.n_slots = slots->n_slots ? slots->n_slots * 2 : 64, .n = slots->n};

        if (slots->n_slots && slots->n < slots->n_slots / 2)
                return 0;
        more.slots = calloc(more.n_slots, sizeof(*more.slots));
        if (!more.slots)
                return error_origin(-ENOMEM);
        for (size_t i = 0; i < slots->n_slots; i++)
                if (slots->slots[i].number)
                        *slots_find(&more, slots->slots[i].hash) = slots->slots[i].number;
        free(slots->slots);
        *slots = more;
        return 0;
}

uint32_t usage_slots_get(const UsageSlots *slots, uint64_t hash) {
        return slots->n_slots ? *slots_find((UsageSlots *)slots, hash) : 0;
}

int usage_slots_put(UsageSlots *slots, uint64_t hash, uint32_t number) {
        if (slots_grow(slots))
                return error_origin(-ENOMEM);
        *slots_find(slots, hash) = number;
        slots->n++;
        return 0;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* 0 is the empty word; -ENOMEM. */
static int table_word(UsageTable *table, Str text, uint32_t *ret) {
        uint64_t hash = siphash(table->key, text);
        uint32_t number = text.n ? usage_slots_get(&table->by_word, hash) : 0;

        *ret = number;
        if (number || !text.n)
                return 0;
        if (table->n_words == table->n_words_room) {
                size_t n = table->n_words_room ? table->n_words_room * 2 : 64;
                Str *more = realloc(table->words, n * sizeof(*more));

                if (!more)
                        return error_origin(-ENOMEM);
                table->words = more;
                table->n_words_room = n;
        }
        text = arena_str(&table->arena, text);
        if (!text.data || usage_slots_put(&table->by_word, hash, (uint32_t)table->n_words))
                return error_origin(-ENOMEM);
        *ret = (uint32_t)table->n_words;
        table->words[table->n_words++] = text;
        return 0;
}

UsageTable *usage_table_free(UsageTable *table) {
        if (!table)
                return NULL;
        free(table->entries);
        free(table->threads);
        free(table->words);
        free(table->by_key.slots);
        free(table->by_thread.slots);
        free(table->by_word.slots);
        arena_deinit(&table->arena);
        free(table);
        return NULL;
}

int usage_table_new(UsageTable **ret) {
        UsageTable *table = calloc(1, sizeof(*table));

        if (!table)
                return error_origin(-ENOMEM);
        table->words = calloc(64, sizeof(*table->words));
        if (!table->words || getrandom(&table->key, sizeof(table->key), 0) != sizeof(table->key)) {
                usage_table_free(table);
                return error_origin(-ENOMEM);
        }
        table->n_words_room = 64;
        table->n_words = 1;
        *ret = table;
        return 0;
}

size_t usage_table_n(const UsageTable *table) {
        return table->n;
}

/* Of several texts, so that no two lists of them are alike. */
uint64_t usage_table_hash(const UsageTable *table, const Str *texts, size_t n) {
        uint64_t all[4] = {0};

        for (size_t i = 0; i < n; i++)
                all[i] = siphash(table->key, texts[i]);
        return siphash(table->key, (Str){(const char *)all, sizeof(all)});
}

/* ---- entries --------------------------------------------------------------------------------- */

/* The older half goes; what is left is numbered anew. Threads stay. */
static int table_halve(UsageTable *table) {
        size_t n_gone = table->n / 2;

        if (!n_gone || !table->entries)
                return 0;
        memmove(table->entries, table->entries + n_gone, (table->n - n_gone) * sizeof(*table->entries));
        table->n -= n_gone;
        free(table->by_key.slots);
        table->by_key = (UsageSlots){0};
        for (size_t i = 0; i < table->n; i++)
                if (usage_slots_put(&table->by_key, table->entries[i].key, (uint32_t)i + 1))
                        return error_origin(-ENOMEM);
        return 0;
}

static int table_room(UsageTable *table) {
        if (table->n >= USAGE_ENTRIES_MAX)
                return error_trace(table_halve(table));
        if (table->n == table->n_room) {
                size_t n = table->n_room ? table->n_room * 2 : 64;
                UsageEntry *more = realloc(table->entries, n * sizeof(*more));

                if (!more)
                        return error_origin(-ENOMEM);
                table->entries = more;
                table->n_room = n;
        }
        return 0;
}

static int table_add(UsageTable *table, const UsageRecord *record, uint64_t key) {
        const Str words[] = {record->name,  record->account, record->runtime,
                             record->model, record->session, record->process};
        UsageEntry entry = {.ts_us = record->ts_us,
                            .key = key,
                            .tokens = record->tokens,
                            .cost_usd = record->cost_usd,
                            .basis = (uint8_t)record->basis,
                            .is_turn = record->n_turns,
                            .n_ms = record->n_ms};
        int r = table_room(table);

        for (size_t i = 0; i < ARRAY_SIZE(words) && !r; i++)
                r = table_word(table, words[i], &entry.words[i]);
        if (!r)
                r = usage_slots_put(&table->by_key, key, (uint32_t)table->n + 1);
        if (r)
                return error_trace(r);
        table->entries[table->n++] = entry;
        return 0;
}

static bool table_is_more(const UsageEntry *entry, const UsageTokens *tokens) {
        return tokens->out > entry->tokens.out ||
               (tokens->out == entry->tokens.out &&
                usage_tokens_sum(tokens) > usage_tokens_sum(&entry->tokens));
}

int usage_table_take(UsageTable *table, const UsageRecord *record, UsageTaken *ret, UsageTokens *ret_more) {
        const Str texts[] = {record->account, record->key};
        uint64_t key = usage_table_hash(table, texts, ARRAY_SIZE(texts));
        uint32_t number = usage_slots_get(&table->by_key, key);
        UsageEntry *entry = number ? &table->entries[number - 1] : NULL;

        *ret_more = (UsageTokens){0};
        if (!entry) {
                *ret = USAGE_NEW;
                *ret_more = record->tokens;
                usage_table_add_to_session(table, record, ret_more);
                return error_trace(table_add(table, record, key));
        }
        if (!str_eq(table->words[entry->words[USAGE_WORD_NAME]], record->name))
                *ret = USAGE_ANOTHERS;
        else if (!table_is_more(entry, &record->tokens))
                *ret = USAGE_KNOWN;
        else {
                *ret = USAGE_MORE;
                *ret_more = usage_tokens_minus(&record->tokens, &entry->tokens);
                usage_table_add_to_session(table, record, ret_more);
                entry->tokens = record->tokens;
                entry->cost_usd = record->cost_usd;
                entry->basis = (uint8_t)record->basis;
        }
        return 0;
}
