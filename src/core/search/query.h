#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Query: what somebody looks for in texts: words as they are, upper and lower case of ASCII alike, or a regular
 * expression (core/regex.h). With a budget of processor time, so that no expression holds a worker for long. Used by one
 * thread at a time. Owned by whoever made it.
 */
#include "base/buf.h"
#include "core/regex.h"

enum {
        QUERY_WORDS_MAX = 1000, /* bytes */
        QUERY_CPU_US = 3000000, /* of one search; what is left then is not looked at */
        QUERY_SHOWN = 300,      /* characters of a text that fits */
        QUERY_PIECE = 4096,     /* an expression looks at pieces of this many bytes */
};

typedef struct Query {
        Regex *regex; /* NULL: words */
        Buf words;    /* in lower case; empty: everything fits */
        int64_t used_us, since_us;
        bool is_limited; /* an expression was given up at some text */
} Query;

/* Conditions: REGEX_E_WRONG (reterr says what). */
int query_init(Query *query, Str words, bool is_regex, char reterr[REGEX_WHY_MAX]);
void query_deinit(Query *query);
/* Between the two, on one thread, the time counts. */
void query_begin(Query *query);
void query_end(Query *query);
bool query_is_spent(const Query *query); /* while it counts */
/* Whether a text of UTF-8 fits. *ret_at: where the words are in it, for who shows a part. */
bool query_fits(Query *query, Str text, size_t *ret_at);
/* The part of a text around a place, whole characters. */
Str query_part(Str text, size_t at);
