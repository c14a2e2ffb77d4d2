/* SPDX-License-Identifier: MIT */
#include "core/search/query.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/error.h"
#include "base/macro.h"
#include "base/utf8.h"

enum { QUERY_BEFORE = 60 }; /* bytes of a text shown in front of what was found */

static int64_t query_cpu_us(void) {
        struct timespec ts;

        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
        return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static char query_lower(char c) {
        return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

int query_init(Query *query, Str words, bool is_regex, char reterr[REGEX_WHY_MAX]) {
        *query = (Query){.words = BUF_NULL};
        if (is_regex)
                return regex_new(&query->regex, words, reterr);
        if (buf_append_str(&query->words, words))
                return error_origin(-ENOMEM);
        for (size_t i = 0; i < query->words.n; i++)
                query->words.data[i] = query_lower(query->words.data[i]);
        return 0;
}

void query_deinit(Query *query) {
        query->regex = regex_free(query->regex);
        buf_deinit(&query->words);
}

void query_begin(Query *query) {
        query->since_us = query_cpu_us();
}

void query_end(Query *query) {
        query->used_us += query_cpu_us() - query->since_us;
        query->since_us = 0;
}

bool query_is_spent(const Query *query) {
        return query->used_us + (query->since_us ? query_cpu_us() - query->since_us : 0) >= QUERY_CPU_US;
}

/* By its first letter, in both cases. */
static bool query_find_words(Str words, Str text, size_t *ret_at) {
        const char *at = text.data, *end = text.data + text.n;
        char both[3] = {words.data[0], words.data[0], 0};

        if (both[0] >= 'a' && both[0] <= 'z')
                both[1] = (char)(both[0] - 32);
        for (; (size_t)(end - at) >= words.n; at++) {
                const char *low = memchr(at, both[0], (size_t)(end - at));
                const char *high =
                        both[1] == both[0] ? NULL : memchr(at, both[1], (size_t)((low ? low : end) - at));

                at = high ? high : low;
                if (!at || (size_t)(end - at) < words.n)
                        return false;
                if (!strncasecmp(at, words.data, words.n)) {
                        *ret_at = (size_t)(at - text.data);
                        return true;
                }
        }
        return false;
}

/* What is longer than a piece is looked at piece by piece; what stands across two of them is not found. */
static bool query_match(Query *query, Str text, size_t *ret_at) {
        for (size_t at = 0; at < text.n || !at;) {
                Str piece = utf8_fit((Str){text.data + at, text.n - at}, QUERY_PIECE);
                int r = regex_search(query->regex, piece);

                if (!r) {
                        *ret_at = at;
                        return true;
                }
                query->is_limited |= r != REGEX_E_NO_MATCH;
                at += MAX(piece.n, (size_t)1);
                if (query_is_spent(query)) {
                        query->is_limited = true;
                        return false;
                }
        }
        return false;
}

bool query_fits(Query *query, Str text, size_t *ret_at) {
        *ret_at = 0;
        if (query->regex)
                return query_match(query, text, ret_at);
        return !query->words.n ||
               (text.n >= query->words.n && query_find_words(buf_str(&query->words), text, ret_at));
}

Str query_part(Str text, size_t at) {
        size_t from = at > QUERY_BEFORE ? at - QUERY_BEFORE : 0;

        while (from && from < text.n && utf8_is_tail(text.data[from]))
                from++;
        from = MIN(from, text.n);
        return utf8_first((Str){text.data + from, text.n - from}, QUERY_SHOWN);
}
