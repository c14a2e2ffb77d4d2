#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Whether two screens show and would do the same; for the unit test and the fuzzer only.
 */
#include <stdlib.h>

#include "core/term/screen-internal.h"

static bool same_cell(const VTermScreenCell *a, const VTermScreenCell *b) {
        if (a->width != b->width)
                return false;
        if (a->width == 0)
                return true;
        for (size_t i = 0; i < VTERM_MAX_CHARS_PER_CELL; i++) {
                if (a->chars[i] != b->chars[i])
                        return false;
                if (!a->chars[i])
                        break;
        }
        return pen_eq(screen_cell_pen(a), screen_cell_pen(b));
}

static bool same_rows(Screen *a, Screen *b) {
        VTermScreenCell *cells_a = calloc((size_t)a->cols, sizeof(*cells_a)),
                        *cells_b = calloc((size_t)a->cols, sizeof(*cells_b));
        bool is_same = cells_a && cells_b;

        for (int row = 0; is_same && row < a->rows; row++) {
                screen_row(a, row, cells_a);
                screen_row(b, row, cells_b);
                for (int col = 0; is_same && col < a->cols; col++)
                        is_same = same_cell(&cells_a[col], &cells_b[col]);
        }
        free(cells_a);
        free(cells_b);
        return is_same;
}

static bool same_charsets(Charsets a, Charsets b) {
        return !memcmp(a.g, b.g, sizeof(a.g)) && a.gl == b.gl;
}

/* Positions are brought inside when they are used. */
static bool same_saved(const Screen *screen, const SavedCursor *a, const SavedCursor *b) {
        int last_row = screen->rows - 1, last_col = screen->cols - 1;

        return (a->row < last_row ? a->row : last_row) == (b->row < last_row ? b->row : last_row) &&
               (a->col < last_col ? a->col : last_col) == (b->col < last_col ? b->col : last_col) &&
               pen_eq(a->pen, b->pen) && same_charsets(a->charsets, b->charsets);
}

static bool same_tabs(const Screen *a, const Screen *b) {
        for (int col = 0; col < a->cols; col++)
                if (screen_has_tab(a, col) != screen_has_tab(b, col))
                        return false;
        return true;
}

static bool same_keyboards(const Modes *a, const Modes *b, bool is_alternate) {
        return a->n_keyboards[is_alternate] == b->n_keyboards[is_alternate] &&
               !memcmp(a->keyboards[is_alternate], b->keyboards[is_alternate],
                       (size_t)a->n_keyboards[is_alternate] + 1);
}

/* What the receiver of a snapshot has. */
static const char *compare_modes(const Modes *a, const Modes *b) {
        if (a->set != b->set)
                return "modes";
        if (a->cursor_shape != b->cursor_shape)
                return "cursor shape";
        if (a->modify_keys != b->modify_keys || !same_keyboards(a, b, false))
                return "keyboard";
        if (a->set & MODE_ALTERNATE && !same_keyboards(a, b, true))
                return "keyboard of the alternate screen";
        if (a->left != b->left || a->right != b->right)
                return "side margins";
        if (a->n_title != b->n_title || memcmp(a->title, b->title, a->n_title) != 0)
                return "title";
        return NULL;
}

/* NULL when they are the same, else what differs first. */
static const char *compare_screens(Screen *a, Screen *b) {
        VTermPos pos_a, pos_b;
        bool is_alternate = a->modes.set & MODE_ALTERNATE, is_same;
        const char *modes = compare_modes(&a->modes, &b->modes);

        screen_flush(a);
        screen_flush(b);
        pos_a = screen_cursor(a), pos_b = screen_cursor(b);
        if (modes)
                return modes;
        if (!same_rows(a, b))
                return "cells";
        if (pos_a.row != pos_b.row || pos_a.col != pos_b.col)
                return "cursor";
        if (a->will_wrap != b->will_wrap)
                return "pending wrap";
        if (!pen_eq(a->pen, b->pen) || !same_charsets(a->charsets, b->charsets))
                return "pen or character sets";
        if (a->top != b->top || a->bottom != b->bottom)
                return "scroll region";
        if (!same_saved(a, &a->saved[0], &b->saved[0]) ||
            (is_alternate && !same_saved(a, &a->saved[1], &b->saved[1])))
                return "saved cursor";
        if (!same_tabs(a, b))
                return "tab stops";
        if (a->is_alternate != b->is_alternate)
                return a->is_unseen ? NULL : "buffer in use";
        screen_peek(a, true), screen_peek(b, true);
        is_same = same_rows(a, b);
        screen_peek(a, false), screen_peek(b, false);
        return is_same ? NULL : "cells of the main screen";
}
