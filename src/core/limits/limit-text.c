/* SPDX-License-Identifier: MIT */
#include "core/limits/limit-text.h"

#include <errno.h>
#include <stdio.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/json/toml.h"
#include "base/macro.h"

extern const char limit_texts_ours[];

/* ---- rows ------------------------------------------------------------------------------------ */

static bool limit_texts_row(LimitTexts *texts, const Json *row, LimitText *ret) {
        *ret = (LimitText){.runtime = arena_str(&texts->arena, json_text_of(row, "runtime")),
                           .begins = arena_str(&texts->arena, json_text_of(row, "begins")),
                           .reset = arena_str(&texts->arena, json_text_of(row, "reset")),
                           .window = arena_str(&texts->arena, json_text_of(row, "window")),
                           .option = arena_str(&texts->arena, json_text_of(row, "option"))};
        return ret->runtime.n && ret->begins.n && ret->window.n < LIMIT_WINDOW_MAX;
}

int limit_texts_read(LimitTexts *ret, Str toml, const char **ret_why) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        const Json *list;
        Json *json = NULL;
        TomlFault fault;
        int r = toml_parse_text(&arena, toml, &json, &fault);

        *ret = (LimitTexts){0};
        *ret_why = r > 0 ? "it is no TOML" : NULL;
        if (r)
                return r > 0 ? 0 : error_trace(r);
        list = json_get(json, "text");
        ret->rows = arena_alloc(&ret->arena, LIMIT_TEXTS_MAX * sizeof(*ret->rows));
        if (!ret->rows)
                return error_origin(-ENOMEM);
        json_each (row, list) {
                if (ret->n == LIMIT_TEXTS_MAX)
                        *ret_why = "it has too many rows";
                else if (limit_texts_row(ret, row, &ret->rows[ret->n]))
                        ret->n++;
                else
                        *ret_why = "a row needs runtime and begins";
        }
        return 0;
}

int limit_texts_read_ours(LimitTexts *ret) {
        const char *why = NULL;

        return error_trace(limit_texts_read(ret, str_from(limit_texts_ours), &why));
}

void limit_texts_deinit(LimitTexts *texts) {
        arena_deinit(&texts->arena);
        *texts = (LimitTexts){0};
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* What programs draw before a line: blanks, and signs from U+2000 to U+2FFF. */
static Str limit_text_bare(Str line) {
        line = str_trim(line);
        while (line.n && ((unsigned char)line.data[0] == 0xe2 ? line.n >= 3 : line.data[0] == ' ')) {
                size_t n = line.data[0] == ' ' ? 1 : 3;

                line = (Str){line.data + n, line.n - n};
        }
        return line;
}

static size_t limit_text_put(char *to, size_t at, Str line) {
        for (size_t i = 0; i < line.n && at + 1 < LIMIT_LINE_MAX; i++) {
                bool is_mark = i + 2 < line.n && !memcmp(line.data + i, "\xe2\x80\x99", 3);

                to[at++] = is_mark ? '\'' : line.data[i]; /* it's, however it is written */
                i += is_mark ? 2 : 0;
        }
        to[at] = '\0';
        return at;
}

/* Where the words stand in the text; empty: they do not. */
static Str limit_text_behind(Str text, Str words) {
        for (size_t i = 0; words.n && i + words.n <= text.n; i++)
                if (!memcmp(text.data + i, words.data, words.n))
                        return (Str){text.data + i + words.n, text.n - i - words.n};
        return STR_NULL;
}

/* "You've hit your session limit": session. */
static void limit_text_window(const LimitText *row, Str rest, char out[LIMIT_WINDOW_MAX]) {
        Str behind = limit_text_behind(rest, STR("limit")),
            words = behind.data ? str_trim((Str){rest.data, rest.n - behind.n - 5}) : STR_NULL;

        for (size_t i = 0; i < words.n; i++)
                if ((words.data[i] | 0x20) < 'a' || (words.data[i] | 0x20) > 'z')
                        words.n = words.data[i] == ' ' ? words.n : 0;
        if (row->window.n || !words.n || words.n >= LIMIT_WINDOW_MAX)
                words = row->window.n ? row->window : STR("usage");
        snprintf(out, LIMIT_WINDOW_MAX, STR_FMT, STR_ARG(words));
}

static bool limit_text_fits(const LimitText *row, LimitFound *found) {
        Str line = str_from(found->line), rest, behind;

        if (!str_starts(line, row->begins))
                return false;
        rest = (Str){line.data + row->begins.n, line.n - row->begins.n};
        limit_text_window(row, rest, found->window);
        behind = limit_text_behind(rest, row->reset);
        found->has_time = behind.data && limit_time_read(behind, &found->time);
        return true;
}

/* "2. Stop": a choice of a dialog. */
static bool limit_text_is_option(Str line, Str words) {
        size_t n = 0;

        while (n < line.n && line.data[n] >= '0' && line.data[n] <= '9')
                n++;
        return n && str_starts((Str){line.data + n, line.n - n}, STR(". ")) &&
               str_starts((Str){line.data + n + 2, line.n - n - 2}, words);
}

/* below: the lines below the sentence. */
static bool limit_text_is_asked(const LimitText *row, const Str *below, size_t n) {
        for (size_t i = 0; i < n && row->option.n; i++)
                if (limit_text_is_option(below[i], row->option))
                        return true;
        return false;
}

/* The beginnings of the last lines that have something in them, the last one first. */
static size_t limit_text_lines(Str screen, Str lines[LIMIT_TEXT_BELOW]) {
        size_t n = 0, end = screen.n;

        while (end && n < LIMIT_TEXT_BELOW) {
                size_t begin = end;
                Str line;

                while (begin && screen.data[begin - 1] != '\n')
                        begin--;
                line = limit_text_bare((Str){screen.data + begin, end - begin});
                if (line.n)
                        lines[n++] = line;
                end = begin ? begin - 1 : 0;
        }
        return n;
}

bool limit_text_find(const LimitTexts *texts, Str runtime, Str screen, LimitFound *ret) {
        Str lines[LIMIT_TEXT_BELOW];
        size_t n = limit_text_lines(screen, lines);

        for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < texts->n; k++) {
                        size_t at = 0;

                        if (!str_eq(texts->rows[k].runtime, runtime))
                                continue;
                        *ret = (LimitFound){0};
                        for (size_t j = 0; j < LIMIT_TEXT_JOINED && j <= i; j++) {
                                at = limit_text_put(ret->line, at, j ? STR(" ") : STR_NULL);
                                at = limit_text_put(ret->line, at, lines[i - j]);
                        }
                        ret->hash = hash_str(lines[i]); /* without what is below, which changes */
                        if (!limit_text_fits(&texts->rows[k], ret))
                                continue;
                        ret->is_asked = limit_text_is_asked(&texts->rows[k], lines, i);
                        return true;
                }
        return false;
}
