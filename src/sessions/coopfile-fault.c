/* SPDX-License-Identifier: MIT */
/*
 * Messages about a layer. The tree keeps no lines, so the line of a key is looked for in the text; where the
 * text is written in an unusual way (escapes in names, names inside of inline tables) the message goes
 * without.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"
#include "sessions/coopfile-internal.h"

/* What a line is about: `[table]`, `[table.key]`, `key =`, `table.key =`. */
typedef struct Line {
        bool is_header;
        Str first, second;
} Line;

static Str coopfile_fault_next_line(Str *text) {
        const char *end = memchr(text->data, '\n', text->n);
        Str line = {text->data, end ? (size_t)(end - text->data) : text->n};

        *text = end ? (Str){end + 1, text->n - line.n - 1} : STR_NULL;
        return line;
}

static bool is_bare(char c) {
        return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/* One name of a dotted key, taken off the line together with the blanks around it. */
static Str coopfile_fault_take_name(Str *line) {
        Str name;
        size_t n = 0, n_quote;

        *line = str_trim(*line);
        n_quote = line->n && strchr("\"'", line->data[0]) ? 1 : 0;
        name = (Str){line->data + n_quote, 0};
        for (n = n_quote; n < line->n && (n_quote ? line->data[n] != line->data[0] : is_bare(line->data[n]));
             n++)
                name.n++;
        n = MIN(n + n_quote, line->n);
        *line = str_trim((Str){line->data + n, line->n - n});
        return name;
}

/* False when the line is neither a header nor the beginning of a setting. */
static bool coopfile_fault_read_line(Str text, Line *ret) {
        Line line = {0};

        text = str_trim(text);
        if (!text.n || text.data[0] == '#')
                return false;
        while (text.n && text.data[0] == '[') {
                line.is_header = true;
                text.data++, text.n--;
        }
        line.first = coopfile_fault_take_name(&text);
        if (text.n && text.data[0] == '.') {
                text.data++, text.n--;
                line.second = coopfile_fault_take_name(&text);
        }
        *ret = line;
        return line.first.n && text.n && strchr(line.is_header ? "]." : "=.", text.data[0]);
}

/* From 1; 0: not found. key may be empty: the line of the table itself. */
static size_t coopfile_fault_line_of(Str text, Str table, Str key) {
        Str within = STR_NULL;

        for (size_t number = 1; text.n; number++) {
                Line line;

                if (!coopfile_fault_read_line(coopfile_fault_next_line(&text), &line))
                        continue;
                if (line.is_header || !within.n) { /* a name at the top is a table's */
                        if (str_eq(line.first, table) && (!key.n || str_eq(line.second, key)))
                                return number;
                        if (line.is_header)
                                within = line.second.n ? STR(".") : line.first;
                } else if (key.n && str_eq(within, table) && str_eq(line.first, key)) {
                        return number;
                }
        }
        return 0;
}

/* Whoever shows the message can rely on it: whole characters, nothing that upsets a terminal. */
static void make_clean(char *text) {
        size_t n = utf8_valid_prefix(text, strlen(text));

        text[n] = 0;
        for (size_t i = 0; i < n; i++)
                if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
                        text[i] = '?';
}

static void write_fault(const Layer *layer, size_t line, const char *place, const char *what) {
        char number[32] = "";

        if (!layer->n_reterr)
                return;
        if (line)
                snprintf(number, sizeof(number), ":%zu", line);
        snprintf(layer->reterr, layer->n_reterr, "%s%s: %s%s%s", layer->name, number, place,
                 *place ? ": " : "", what);
        make_clean(layer->reterr);
}

int layer_refuse_at(const Layer *layer, size_t line, const char *what) {
        write_fault(layer, line, "", what);
        return COOPFILE_E_INVALID;
}

int layer_refuse(const Layer *layer, const char *format, ...) {
        char what[256], place[256], item[32] = "";
        va_list args;

        va_start(args, format);
        vsnprintf(what, sizeof(what), format, args);
        va_end(args);
        if (layer->item >= 0)
                snprintf(item, sizeof(item), "[%td]", layer->item);
        snprintf(place, sizeof(place), STR_FMT "%s" STR_FMT "%s", STR_ARG(layer->table),
                 layer->key.n ? "." : "", STR_ARG(layer->key), item);
        write_fault(layer, coopfile_fault_line_of(layer->text, layer->table, layer->key), place, what);
        return COOPFILE_E_INVALID;
}
