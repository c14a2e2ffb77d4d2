/* SPDX-License-Identifier: MIT */
#include "core/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/macro.h"

/* ---- lines ----------------------------------------------------------------------------------- */

/* The lines of a text, each with its end; the last may have none. changed: not in the other text. */
typedef struct {
        Str *items;
        bool *changed;
        size_t n;
} DiffLines;

static void diff_lines_deinit(DiffLines *lines) {
        free(lines->items);
        free(lines->changed);
}

static Str diff_next_line(Str *text) {
        const char *end = memchr(text->data, '\n', text->n);
        Str line = {text->data, end ? (size_t)(end - text->data) + 1 : text->n};

        *text = (Str){text->data + line.n, text->n - line.n};
        return line;
}

static size_t diff_count_lines(Str text) {
        size_t n = 0;

        while (text.n) {
                (void)diff_next_line(&text);
                n++;
        }
        return n;
}

static int diff_lines_init(DiffLines *lines, Str text) {
        size_t n = diff_count_lines(text);

        *lines = (DiffLines){.items = calloc(n + 1, sizeof(*lines->items)),
                             .changed = calloc(n + 1, sizeof(*lines->changed))};
        if (!lines->items || !lines->changed)
                return error_origin(-ENOMEM);
        while (text.n)
                lines->items[lines->n++] = diff_next_line(&text);
        return 0;
}

/* ---- what differs ---------------------------------------------------------------------------- */

/* The part of both that is compared: what they begin and end with alike is left out. */
typedef struct {
        DiffLines *a, *b;
        size_t first;                  /* in both */
        long n_a, n_b;                 /* from there */
        int *rows[DIFF_EDITS_MAX + 1]; /* furthest x on each diagonal after d edits; 2d + 1 of them */
} DiffSearch;

static bool diff_is_same(const DiffSearch *s, long x, long y) {
        return str_eq(s->a->items[s->first + (size_t)x], s->b->items[s->first + (size_t)y]);
}

static void diff_trim(DiffSearch *s) {
        size_t n = MIN(s->a->n, s->b->n), last = 0;

        while (s->first < n && str_eq(s->a->items[s->first], s->b->items[s->first]))
                s->first++;
        while (last < n - s->first &&
               str_eq(s->a->items[s->a->n - last - 1], s->b->items[s->b->n - last - 1]))
                last++;
        s->n_a = (long)(s->a->n - s->first - last);
        s->n_b = (long)(s->b->n - s->first - last);
}

/* Where the path of d edits that ends on diagonal k came from: down (an insertion) or right (a deletion). */
static bool diff_came_down(const int *before, int d, int k) {
        return k == -d || (k != d && before[k - 1 + d - 1] < before[k + 1 + d - 1]);
}

/* One round of Myers' greedy search. 1: the end is reached; 0: not yet. */
static int diff_round(DiffSearch *s, int d) {
        const int *before = d ? s->rows[d - 1] : NULL;
        int *row = calloc((size_t)(2 * d) + 1, sizeof(*row));

        if (!row)
                return error_origin(-ENOMEM);
        s->rows[d] = row;
        for (int k = -d; k <= d; k += 2) {
                long x = !d                             ? 0
                         : diff_came_down(before, d, k) ? before[k + 1 + d - 1]
                                                        : before[k - 1 + d - 1] + 1;
                long y = x - k;

                while (x < s->n_a && y < s->n_b && diff_is_same(s, x, y))
                        x++, y++;
                row[k + d] = (int)x;
                if (x >= s->n_a && y >= s->n_b)
                        return 1;
        }
        return 0;
}

/* Walks back from the end and marks what was inserted and deleted. */
static void diff_mark(DiffSearch *s, int d) {
        int k = (int)(s->n_a - s->n_b);

        for (; d > 0; d--) {
                const int *before = s->rows[d - 1];

                if (diff_came_down(before, d, k)) {
                        k++;
                        s->b->changed[s->first + (size_t)(before[k + d - 1] - k)] = true;
                } else {
                        k--;
                        s->a->changed[s->first + (size_t)before[k + d - 1]] = true;
                }
        }
}

static void diff_mark_all(DiffSearch *s) {
        memset(s->a->changed + s->first, true, (size_t)s->n_a);
        memset(s->b->changed + s->first, true, (size_t)s->n_b);
}

static int diff_compare(DiffLines *a, DiffLines *b) {
        _cleanup_(freep) DiffSearch *s = calloc(1, sizeof(*s));
        int d = 0, r = 0;

        if (!s)
                return error_origin(-ENOMEM);
        *s = (DiffSearch){.a = a, .b = b};
        diff_trim(s);
        while (d <= DIFF_EDITS_MAX && !(r = diff_round(s, d)))
                d++;
        if (r > 0)
                diff_mark(s, d);
        else if (!r)
                diff_mark_all(s);
        for (int i = 0; i <= DIFF_EDITS_MAX; i++)
                free(s->rows[i]);
        return r < 0 ? error_trace(r) : 0;
}

/* ---- making ---------------------------------------------------------------------------------- */

typedef struct {
        Buf *out;
        const DiffLines *a, *b;
        size_t i, j; /* the next lines of both */
} DiffPrint;

static int diff_print_line(Buf *out, char mark, Str line) {
        int r = buf_append(out, &mark, 1);

        if (!r)
                r = buf_append_str(out, line);
        if (!r && (!line.n || line.data[line.n - 1] != '\n'))
                r = buf_append_str(out, STR("\n\\ No newline at end of file\n"));
        return error_trace(r);
}

static bool diff_is_change(const DiffPrint *p, size_t i, size_t j) {
        return (i < p->a->n && p->a->changed[i]) || (j < p->b->n && p->b->changed[j]);
}

static void diff_skip_change(const DiffPrint *p, size_t *i, size_t *j) {
        while (*i < p->a->n && p->a->changed[*i])
                ++*i;
        while (*j < p->b->n && p->b->changed[*j])
                ++*j;
}

/* Where the hunk ends that begins with the change at i, j: changes that are near belong to it. */
static void diff_hunk_end(const DiffPrint *p, size_t *i, size_t *j) {
        for (;;) {
                size_t n = 0;

                diff_skip_change(p, i, j);
                while (n <= (size_t)2 * DIFF_CONTEXT && *i + n < p->a->n && *j + n < p->b->n &&
                       !diff_is_change(p, *i + n, *j + n))
                        n++;
                if (n > (size_t)2 * DIFF_CONTEXT || !diff_is_change(p, *i + n, *j + n)) {
                        *i += MIN(n, (size_t)DIFF_CONTEXT);
                        *j += MIN(n, (size_t)DIFF_CONTEXT);
                        return;
                }
                *i += n;
                *j += n;
        }
}

static int diff_print_hunk(DiffPrint *p, size_t i_end, size_t j_end) {
        size_t n_a = i_end - p->i, n_b = j_end - p->j;
        int r = buf_printf(p->out, "@@ -%zu,%zu +%zu,%zu @@\n", p->i + (n_a > 0), n_a, p->j + (n_b > 0),
                           n_b);

        while (!r && (p->i < i_end || p->j < j_end)) {
                if (p->i < i_end && p->a->changed[p->i])
                        r = diff_print_line(p->out, '-', p->a->items[p->i++]);
                else if (p->j < j_end && p->b->changed[p->j])
                        r = diff_print_line(p->out, '+', p->b->items[p->j++]);
                else {
                        r = diff_print_line(p->out, ' ', p->a->items[p->i++]);
                        p->j++;
                }
        }
        return error_trace(r);
}

static int diff_print_hunks(DiffPrint *p) {
        while (p->i < p->a->n || p->j < p->b->n) {
                size_t n_before = MIN(MIN(p->i, p->j), (size_t)DIFF_CONTEXT), i = p->i, j = p->j;
                int r;

                if (!diff_is_change(p, i, j)) {
                        p->i++, p->j++;
                        continue;
                }
                diff_hunk_end(p, &i, &j);
                p->i -= n_before, p->j -= n_before;
                r = diff_print_hunk(p, i, j);
                if (r)
                        return error_trace(r);
        }
        return 0;
}

int diff_make(Buf *out, Str name, Str before, Str after) {
        _cleanup_(diff_lines_deinit) DiffLines a = {0};
        _cleanup_(diff_lines_deinit) DiffLines b = {0};
        DiffPrint print = {.out = out, .a = &a, .b = &b};
        int r = diff_lines_init(&a, before);

        if (!r)
                r = diff_lines_init(&b, after);
        if (!r)
                r = diff_compare(&a, &b);
        if (!r)
                r = buf_printf(out,
                               "===================================================================\n"
                               "--- a/" STR_FMT "\t\n+++ b/" STR_FMT "\t\n",
                               STR_ARG(name), STR_ARG(name));
        return r ? error_trace(r) : error_trace(diff_print_hunks(&print));
}

/* ---- applying -------------------------------------------------------------------------------- */

typedef struct {
        DiffLines old, made; /* what a hunk wants to find, and what it puts there */
        size_t at;           /* line of the text where it was, from 0 */
} DiffHunk;

static void diff_hunk_deinit(DiffHunk *hunk) {
        diff_lines_deinit(&hunk->old);
        diff_lines_deinit(&hunk->made);
}

static bool diff_number(Str *text, size_t *ret) {
        size_t n = 0;

        *ret = 0;
        while (n < text->n && text->data[n] >= '0' && text->data[n] <= '9' && n < 9)
                *ret = *ret * 10 + (size_t)(text->data[n++] - '0');
        *text = (Str){text->data + n, text->n - n};
        return n > 0;
}

static bool diff_word(Str *text, Str word) {
        if (!str_starts(*text, word))
                return false;
        *text = (Str){text->data + word.n, text->n - word.n};
        return true;
}

/* "12,3": a missing count is one. */
static bool diff_range(Str *text, size_t *first, size_t *n) {
        *n = 1;
        return diff_number(text, first) && (!diff_word(text, STR(",")) || diff_number(text, n));
}

/* "@@ -1,2 +3,4 @@": where, and how many lines of both follow. */
static bool diff_hunk_head(Str line, size_t *at, size_t *n_old, size_t *n_new) {
        size_t first_new;

        if (!diff_word(&line, STR("@@ -")) || !diff_range(&line, at, n_old) ||
            !diff_word(&line, STR(" +")) || !diff_range(&line, &first_new, n_new) ||
            !diff_word(&line, STR(" @@")))
                return false;
        if (*n_old)
                *at = *at ? *at - 1 : 0;
        return true;
}

/* The line without its mark, and without its end when the next one says that it has none. */
static Str diff_hunk_text(Str line, Str *rest) {
        Str text = {line.data + 1, line.n - 1};

        if (!str_starts(*rest, STR("\\")))
                return text;
        (void)diff_next_line(rest);
        return (Str){text.data, text.n - (text.n && text.data[text.n - 1] == '\n')};
}

static int diff_hunk_fill(DiffHunk *hunk, Str *patch, size_t n_old, size_t n_new) {
        while (hunk->old.n < n_old || hunk->made.n < n_new) {
                Str line = diff_next_line(patch), text;
                char mark = line.n ? line.data[0] : 0;

                if (mark != ' ' && mark != '-' && mark != '+')
                        return DIFF_E_SYNTAX;
                if ((mark != '+' && hunk->old.n == n_old) || (mark != '-' && hunk->made.n == n_new))
                        return DIFF_E_SYNTAX;
                text = diff_hunk_text(line, patch);
                if (mark != '+')
                        hunk->old.items[hunk->old.n++] = text;
                if (mark != '-')
                        hunk->made.items[hunk->made.n++] = text;
        }
        return 0;
}

static int diff_hunk_read(DiffHunk *hunk, Str *patch) {
        size_t n_old, n_new;

        *hunk = (DiffHunk){0};
        if (!diff_hunk_head(diff_next_line(patch), &hunk->at, &n_old, &n_new))
                return DIFF_E_SYNTAX;
        if (n_old > patch->n || n_new > patch->n) /* each line has its mark */
                return DIFF_E_SYNTAX;
        hunk->old.items = calloc(n_old + 1, sizeof(*hunk->old.items));
        hunk->made.items = calloc(n_new + 1, sizeof(*hunk->made.items));
        if (!hunk->old.items || !hunk->made.items)
                return error_origin(-ENOMEM);
        return error_trace(diff_hunk_fill(hunk, patch, n_old, n_new));
}

static bool diff_stands_at(const DiffLines *text, const DiffLines *old, size_t at) {
        if (at > text->n || old->n > text->n - at)
                return false;
        for (size_t i = 0; i < old->n; i++)
                if (!str_eq(text->items[at + i], old->items[i]))
                        return false;
        return true;
}

/* The place nearest to where a hunk is expected, not before first. */
static bool diff_find(const DiffLines *text, const DiffLines *old, size_t first, size_t expected,
                      size_t *ret) {
        expected = MIN(MAX(expected, first), text->n);
        for (size_t off = 0; off <= text->n; off++) {
                if (diff_stands_at(text, old, expected + off)) {
                        *ret = expected + off;
                        return true;
                }
                if (off <= expected - first && diff_stands_at(text, old, expected - off)) {
                        *ret = expected - off;
                        return true;
                }
        }
        return false;
}

static int diff_copy(Buf *out, const DiffLines *lines, size_t from, size_t to) {
        int r = 0;

        for (size_t i = from; !r && i < to; i++)
                r = buf_append_str(out, lines->items[i]);
        return error_trace(r);
}

/* done: lines of the text that are in out; moved: how far the hunk before it had moved. */
static int diff_apply_hunk(Buf *out, const DiffLines *text, Str *patch, size_t *done, long *moved) {
        _cleanup_(diff_hunk_deinit) DiffHunk hunk = {0};
        int r = diff_hunk_read(&hunk, patch);
        long expected = (long)hunk.at + *moved;
        size_t at;

        if (r)
                return error_trace(r);
        if (!diff_find(text, &hunk.old, *done, expected > 0 ? (size_t)expected : 0, &at))
                return DIFF_E_NO_PLACE;
        *moved = (long)at - (long)hunk.at;
        r = diff_copy(out, text, *done, at);
        *done = at + hunk.old.n;
        return r ? error_trace(r) : error_trace(diff_copy(out, &hunk.made, 0, hunk.made.n));
}

/* Lines before the first hunk: there has to be a head. */
static bool diff_skip_head(Str *patch) {
        bool has_head = false;

        while (patch->n && !str_starts(*patch, STR("@@ "))) {
                Str line = diff_next_line(patch);

                has_head |= str_starts(line, STR("+++ "));
        }
        return has_head;
}

static int diff_apply_all(Buf *out, Str patch, const DiffLines *text) {
        size_t done = 0;
        long moved = 0;

        if (!diff_skip_head(&patch))
                return DIFF_E_SYNTAX;
        while (patch.n) {
                int r = diff_apply_hunk(out, text, &patch, &done, &moved);

                if (r)
                        return error_trace(r);
        }
        return error_trace(diff_copy(out, text, done, text->n));
}

int diff_apply(Buf *out, Str patch, Str before) {
        _cleanup_(diff_lines_deinit) DiffLines text = {0};
        size_t mark = out->n;
        int r = diff_lines_init(&text, before);

        if (!r)
                r = diff_apply_all(out, patch, &text);
        if (r)
                out->n = mark;
        return error_trace(r);
}
