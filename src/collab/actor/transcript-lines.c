/* SPDX-License-Identifier: MIT */
#include "collab/actor/transcript-lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"

enum { RULER_MIN = 20, BLOCK_MIN = 3, BLOCK_MAX = 60 };

/* ---- one line -------------------------------------------------------------------------------- */

int line_put(Line *line, size_t col, uint32_t c) {
        if (col >= line->n_allocated) {
                size_t n = (col + 1) * 3 / 2 + 16;
                uint32_t *cells = realloc(line->cells, n * sizeof(*cells));
                if (!cells)
                        return error_origin(-ENOMEM);
                line->cells = cells;
                line->n_allocated = (uint32_t)n;
        }
        while (line->n < col)
                line->cells[line->n++] = ' ';
        line->cells[col] = c;
        if (line->n == col)
                line->n++;
        return 0;
}

void line_cut(Line *line, size_t n) {
        if (line->n > n)
                line->n = (uint32_t)n;
}

void line_blank(Line *line, size_t n) {
        for (size_t i = 0; i < n && i < line->n; i++)
                line->cells[i] = ' ';
}

void line_trim(Line *line) {
        while (line->n && (line->cells[line->n - 1] == ' ' || line->cells[line->n - 1] == '\t' ||
                           line->cells[line->n - 1] == 0xa0))
                line->n--;
}

void line_free(Line *line) {
        free(line->cells);
        *line = (Line){0};
}

/* ---- repetition ------------------------------------------------------------------------------ */

static bool is_ruler(const Line *line) {
        for (size_t i = 0; i < line->n; i++) {
                uint32_t c = line->cells[i];
                if (c != '-' && c != '=' && c != 0x2500 && c != 0x2501 && c != 0x2550)
                        return false;
        }
        return line->n >= RULER_MIN;
}

static bool transcript_lines_equal(const Line *a, const Line *b) {
        if (a->n == b->n && (!a->n || !memcmp(a->cells, b->cells, a->n * sizeof(*a->cells))))
                return true;
        return is_ruler(a) && is_ruler(b);
}

static bool blocks_equal(const Line *a, const Line *b, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (!transcript_lines_equal(&a[i], &b[i]))
                        return false;
        return true;
}

/* The length of a block at the end that stands before it as well; 0: none. */
static size_t repeated(const Lines *lines) {
        const Line *end = lines->items + lines->n;

        for (size_t k = BLOCK_MIN; k <= BLOCK_MAX && 2 * k <= lines->n; k++)
                if (blocks_equal(end - 2 * k, end - k, k))
                        return k;
        return 0;
}

/* ---- many lines ------------------------------------------------------------------------------ */

static int transcript_lines_reserve(Lines *lines) {
        size_t n = lines->n_allocated ? lines->n_allocated * 2 : 256;
        Line *items;

        if (lines->n < lines->n_allocated)
                return 0;
        items = realloc(lines->items, n * sizeof(*items));
        if (!items)
                return error_origin(-ENOMEM);
        lines->items = items;
        lines->n_allocated = n;
        return 0;
}

int lines_add(Lines *lines, Line *line, bool is_compact) {
        int r = transcript_lines_reserve(lines);

        if (r || (is_compact && lines->n && transcript_lines_equal(&lines->items[lines->n - 1], line))) {
                line_free(line);
                return error_trace(r);
        }
        if (!line->n)
                line_free(line);
        lines->items[lines->n++] = *line;
        lines->n_chars += line->n + 1;
        *line = (Line){0};
        for (size_t k = is_compact ? repeated(lines) : 0; k; k--) {
                lines->n_chars -= lines->items[--lines->n].n + 1;
                line_free(&lines->items[lines->n]);
        }
        return 0;
}

void lines_keep_last(Lines *lines, size_t n_chars) {
        size_t first = lines->n, n = 0;

        if (lines->n_chars / 2 <= n_chars)
                return;
        while (first && (n <= n_chars || lines->n - first < (size_t)2 * BLOCK_MAX))
                n += lines->items[--first].n + 1;
        for (size_t i = 0; i < first; i++)
                line_free(&lines->items[i]);
        lines->n -= first;
        lines->n_chars = n;
        memmove(lines->items, lines->items + first, lines->n * sizeof(*lines->items));
}

void lines_deinit(Lines *lines) {
        for (size_t i = 0; i < lines->n; i++)
                line_free(&lines->items[i]);
        free(lines->items);
        *lines = (Lines){0};
}

/* ---- text ------------------------------------------------------------------------------------ */

int lines_write(const Lines *lines, Buf *out) {
        int r = 0;

        for (size_t i = 0; !r && i < lines->n; i++) {
                const Line *line = &lines->items[i];

                if (i)
                        r = buf_append(out, "\n", 1);
                for (size_t k = 0; !r && k < line->n; k++) {
                        char bytes[4];
                        r = buf_append(out, bytes, utf8_put(bytes, line->cells[k]));
                }
        }
        return error_trace(r);
}
