/* SPDX-License-Identifier: MIT */
#include "company/trail/mask.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/macro.h"

static bool mask_is_word(char c) {
        return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/* Of keys and tokens: also what base64 and dotted ones have. */
static bool mask_is_value(char c) {
        return isgraph((unsigned char)c) && !strchr("\"'`\\,;(){}[]<>&", c);
}

static size_t mask_span(Str text, size_t at, bool (*is)(char c)) {
        size_t n = 0;

        while (at + n < text.n && is(text.data[at + n]))
                n++;
        return n;
}

static bool mask_begins(Str text, size_t at, const char *word) {
        size_t n = strlen(word);

        return text.n - at >= n && !strncasecmp(text.data + at, word, n);
}

/* A key that is known by its beginning; its length, or 0. */
static size_t mask_known(Str text, size_t at) {
        static const char *const begins[] = {"sk-", "ghp_", "gho_", "ghu_", "ghs_",  "github_pat_",
                                             "xox", "AKIA", "ASIA", "AIza", "glpat-"};
        size_t n = mask_span(text, at, mask_is_word);

        for (size_t i = 0; n >= MASK_KEY_MIN && i < ARRAY_SIZE(begins); i++)
                if (text.n - at >= strlen(begins[i]) &&
                    !memcmp(text.data + at, begins[i], strlen(begins[i])))
                        return n;
        return 0;
}

static bool mask_is_secret_name(Str name) {
        static const char *const ends[] = {"password",    "passwd",       "secret", "token",
                                           "api_key",     "api-key",      "apikey", "access_key",
                                           "private_key", "authorization"};

        for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
                size_t n = strlen(ends[i]);

                if (name.n >= n && !strncasecmp(name.data + name.n - n, ends[i], n))
                        return true;
        }
        return false;
}

/* Past quotes (perhaps escaped), blanks and one ':' or '=' behind a name; 0: there is none. */
static size_t mask_skip_assign(Str text, size_t at) {
        size_t from = at;
        bool is_assigned = false;

        for (; at < text.n && at - from < 8; at++) {
                char c = text.data[at];

                if (!is_assigned && (c == ':' || c == '='))
                        is_assigned = true;
                else if (c != '"' && c != '\'' && c != '\\' && c != ' ' && c != '\t')
                        break;
        }
        return is_assigned ? at : 0;
}

/* Numbers, true and null are no secrets, and have to stay what they are in JSON. */
static bool mask_is_long(Str value) {
        if (value.n < MASK_VALUE_MIN)
                return false;
        for (size_t i = 0; i < value.n; i++)
                if (!isdigit((unsigned char)value.data[i]) && value.data[i] != '.' && value.data[i] != '-')
                        return true;
        return false;
}

/* Where the value begins that a word at this place gives away; 0: it does not. */
static size_t mask_behind(Str text, size_t at, size_t n_word) {
        Str word = {text.data + at, n_word};
        size_t from = 0;

        if (word.n == 6 && mask_begins(text, at, "bearer") && at + 6 < text.n && text.data[at + 6] == ' ')
                from = at + 7;
        else if (mask_is_secret_name(word))
                from = mask_skip_assign(text, at + n_word);
        if (from && mask_begins(text, from, "bearer "))
                from += strlen("bearer ");
        return from && mask_is_long((Str){text.data + from, mask_span(text, from, mask_is_value)}) ? from
                                                                                                   : 0;
}

/* The next secret from *at on: where it begins, and *at behind it. The end of the text: there is none. */
static size_t mask_next(Str text, size_t *at) {
        while (*at < text.n) {
                size_t n = mask_span(text, *at, mask_is_word), known = n ? mask_known(text, *at) : 0,
                       from = known ? *at
                              : n   ? mask_behind(text, *at, n)
                                    : 0;

                if (known || from) {
                        *at = known ? *at + known : from + mask_span(text, from, mask_is_value);
                        return from;
                }
                *at += n ? n : 1;
        }
        return text.n;
}

bool mask_finds(Str text) {
        return mask_next(text, &(size_t){0}) < text.n;
}

int mask_append(Buf *out, Str text) {
        size_t at = 0, last = 0;
        int r = 0;

        while (!r && last < text.n) {
                size_t from = mask_next(text, &at);

                r = buf_append(out, text.data + last, from - last);
                if (!r && from < text.n)
                        r = buf_append_str(out, STR(MASK_MARK));
                last = at;
        }
        return error_trace(r);
}
