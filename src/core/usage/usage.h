#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Usage: how many tokens an agent says that it used, found in the JSON that it prints; what that costs by a
 * rate card; and an estimate for an agent that says nothing. Also signs that its context was compacted.
 *
 * Pure functions on trees that somebody has parsed. What arrives in pieces, and what of it is new, is the
 * business of core/usage/usage-meter.h; what a contract calls all this is its domain's.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/json/json.h"
#include "base/utf8.h"

enum {
        USAGE_UNSAID = -1,
        USAGE_DEPTH_MAX = 8,  /* of objects and arrays below the outermost that are searched for counts */
        USAGE_NAME_MAX = 256, /* bytes of a name in `from`, and of a path: what is longer counts as absent */
        USAGE_UNITS_TOKEN = 4, /* UTF-16 units that an estimate takes for one token */
};

/* ---- counts ---------------------------------------------------------------------------------- */

/* What one object says. No number is above 2^53, so sums of many do not overflow. */
typedef struct UsageCount {
        int64_t n_input, n_cached, n_output, n_reasoning; /* USAGE_UNSAID: nothing */
        int64_t n_total;
        Str from; /* through which member it was found, else the object's own type; empty: neither */
} UsageCount;

/* A number of tokens under the first of these names that has one: rounded down; USAGE_UNSAID when none is
 * there that is a number, finite and not negative. */
int64_t usage_number(const Json *object, const char *const *names);
/* One object, with input_tokens or prompt_tokens, … False: it says nothing that counts. from stays empty. */
bool usage_count_of(const Json *object, UsageCount *ret);
/* The same for what an app server tells with inputTokens, …: `last` of it, else `total`, else itself. */
bool usage_count_of_thread(const Json *token_usage, UsageCount *ret);

/* Calls found() for every object in the tree that counts, outer ones and earlier ones first. The count is
 * good for as long as the tree is. */
typedef void (*UsageCountFn)(void *user, const UsageCount *count);
void usage_find_counts(const Json *json, UsageCountFn found, void *user);

/* ---- signs of a compacted context ------------------------------------------------------------ */

typedef struct UsageCycle {
        int64_t n; /* how often, at least 1 */
        Str path;  /* names of members from the outermost object on, in lower case, with dots between */
} UsageCycle;

/* Calls found() for every such member of an object; an array's elements have the array's path. The cycle is
 * good until found() returns. Of what is no object nothing is a sign. */
typedef void (*UsageCycleFn)(void *user, const UsageCycle *cycle);
void usage_find_cycles(const Json *json, UsageCycleFn found, void *user);

/* ---- estimates ------------------------------------------------------------------------------- */

/* Text that arrives in pieces, in the units that ECMAScript counts. Bytes that are no UTF-8 count as what
 * stands for them when they are shown. Initialise with {0}. */
typedef struct UsageUnits {
        int64_t n;
        Utf8Open open; /* private: a character that is not whole yet */
} UsageUnits;
void usage_units_add(UsageUnits *units, Str piece);
int64_t usage_units_total(const UsageUnits *units); /* as if nothing more came */

/* From the units of all input and of all output. */
void usage_estimate(int64_t n_input_units, int64_t n_output_units, UsageCount *ret);

/* ---- cost ------------------------------------------------------------------------------------ */

typedef struct UsageRates {
        double input, cached, output, reasoning; /* USD for 1000 tokens */
        Str name;                                /* of the card, as it stands in the cards */
} UsageRates;

/* cards: objects {input, cached_input?, output, reasoning_output?} by the name of a provider. That of the
 * provider, else of the program that it is another name of, else "default". False: there is none. */
bool usage_rates_find(const Json *cards, Str provider, UsageRates *ret);
/* In USD, rounded to 9 decimals. When only a total is known, half of it counts as input. */
double usage_cost(const UsageCount *count, const UsageRates *rates);
double usage_round(double usd); /* to 9 decimals */
