#pragma once
/* SPDX-License-Identifier: MIT */
/* What usage-table.c (entries), usage-running.c (threads, sessions) and usage-report.c (sums) share. */
#include "core/usage/usage-table.h"

enum {
        USAGE_WORD_NAME,
        USAGE_WORD_ACCOUNT,
        USAGE_WORD_RUNTIME,
        USAGE_WORD_MODEL,
        USAGE_WORD_SESSION,
        USAGE_WORD_PROCESS,
        USAGE_WORDS
};

typedef struct UsageEntry {
        int64_t ts_us;
        uint64_t key;
        UsageTokens tokens;
        double cost_usd;
        uint32_t words[USAGE_WORDS];
        uint8_t basis;
        bool is_turn;
        int64_t n_ms;
} UsageEntry;

typedef struct UsageRunning {
        UsageTokens tokens;
        int64_t told_us; /* of a session: when its output has last told its total; 0: never */
} UsageRunning;

/* Numbers from 1 by hash; 0: none. */
typedef struct UsageSlots {
        struct {
                uint64_t hash;
                uint32_t number;
        } * slots;
        size_t n, n_slots;
} UsageSlots;

struct UsageTable {
        SipKey key;
        UsageEntry *entries;
        size_t n, n_room;
        UsageRunning *threads; /* running totals, of sessions too */
        size_t n_threads, n_threads_room;
        Str *words;
        size_t n_words, n_words_room;
        UsageSlots by_key, by_thread, by_word;
        Arena arena;
};

/* usage-table.c */
uint32_t usage_slots_get(const UsageSlots *slots, uint64_t hash); /* 0: none */
int usage_slots_put(UsageSlots *slots, uint64_t hash, uint32_t number);
/* Of several texts, at most four, so that no two lists of them are alike. */
uint64_t usage_table_hash(const UsageTable *table, const Str *texts, size_t n);

/* usage-running.c: what an entry is more than before. Without room for the session, its sum is not known. */
void usage_table_add_to_session(UsageTable *table, const UsageRecord *record, const UsageTokens *more);
