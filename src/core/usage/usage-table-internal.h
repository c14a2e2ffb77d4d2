#pragma once
/* SPDX-License-Identifier: MIT */
/* What usage-table.c (entries, threads) and usage-report.c (sums) share. */
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
        UsageTokens *threads; /* totals */
        size_t n_threads, n_threads_room;
        Str *words;
        size_t n_words, n_words_room;
        UsageSlots by_key, by_thread, by_word;
        Arena arena;
};
