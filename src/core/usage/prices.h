#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Prices: what tokens of a model cost, as data: ours (prices.toml, in the program) and the user's, which count before ours. A model that is in
 * neither has no price, and nothing is guessed. Plain values in an arena; owned by the UsageBook.
 */
#include "base/arena.h"
#include "core/usage/transcript.h"

enum { PRICES_MAX = 1000, PRICES_FILE_MAX = 1 << 20 }; /* of one file; rows behind them are left out */

typedef struct Price {
        Str model;                                 /* * stands for anything */
        int64_t from_us;                           /* 0: ever */
        double input, cached, cache_write, output; /* USD for a million */
        bool is_users;
} Price;

typedef struct Prices {
        Arena arena;
        Price *rows;
        size_t n, n_room;
} Prices;

/* Adds the rows of a file; *ret_why: what is wrong with it, static or in the arena, NULL: nothing. 0 or -ENOMEM. */
int prices_add(Prices *prices, Str toml, bool is_users, const char **ret_why);
int prices_add_ours(Prices *prices);
void prices_deinit(Prices *prices);
/* NULL: none is known. */
const Price *prices_find(const Prices *prices, Str model, int64_t at_us);
double price_cost(const Price *price, const UsageTokens *tokens); /* USD */
