/* SPDX-License-Identifier: MIT */
/*
 * A command line cut into words as a shell would, without expanding anything: blanks part words, '…' is
 * literal, "…" knows \" and \\, a backslash outside takes the next character as it is.
 */
#include <errno.h>

#include "base/error.h"
#include "collab/template.h"

typedef struct Words {
        Arena *arena;
        Str text;
        size_t at;
        Json *list;
        Buf word;
        bool is_word; /* a word has begun: it may be empty, as in '' */
} Words;

static bool template_words_is_blank(char c) {
        return c == ' ' || (c >= '\t' && c <= '\r');
}

static int end_word(Words *words) {
        int r = 0;

        if (words->is_word)
                r = json_push(words->list, json_new_str(words->arena, buf_str(&words->word)));
        words->word.n = 0;
        words->is_word = false;
        return error_trace(r);
}

/* Up to the closing quote; TEMPLATE_E_INVALID when there is none. */
static int take_quoted(Words *words, char quote) {
        for (words->is_word = true; words->at < words->text.n; words->at++) {
                const char *c = words->text.data + words->at;
                if (*c == quote) {
                        words->at++;
                        return 0;
                }
                if (quote == '"' && *c == '\\' && words->at + 1 < words->text.n &&
                    (c[1] == '"' || c[1] == '\\'))
                        words->at++, c++;
                if (buf_append(&words->word, c, 1))
                        return error_origin(-ENOMEM);
        }
        return TEMPLATE_E_INVALID;
}

static int take_plain(Words *words, char c) {
        if (c == '\\') {
                if (words->at == words->text.n)
                        return TEMPLATE_E_INVALID;
                c = words->text.data[words->at++];
        }
        words->is_word = true;
        return error_trace(buf_append(&words->word, &c, 1));
}

static int template_words_take(Words *words) {
        char c = words->text.data[words->at++];

        if (template_words_is_blank(c))
                return end_word(words);
        return c == '\'' || c == '"' ? take_quoted(words, c) : take_plain(words, c);
}

Json *template_words(Arena *arena, Str text, int *r) {
        Words words = {.arena = arena, .text = text, .list = json_new(arena, JSON_ARRAY)};

        *r = words.list ? 0 : error_origin(-ENOMEM);
        while (!*r && words.at < text.n)
                *r = template_words_take(&words);
        if (!*r)
                *r = end_word(&words);
        buf_deinit(&words.word);
        return *r ? NULL : words.list;
}
