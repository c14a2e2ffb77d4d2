/* SPDX-License-Identifier: MIT */
/*
 * Changes that do not come through the stream: another size, and modes that somebody else has kept.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/macro.h"
#include "core/term/screen-internal.h"

/* Of a main screen that becomes lower no more lines leave at the top than the cursor needs; libvterm keeps
 * the last line with something in it instead. */
static void cut_below(Screen *screen, int row, int rows) {
        int from = MAX(row + 1, rows);

        if (from >= screen->rows)
                return;
        screen_move(screen, from, 0);
        screen_send(screen, STR("\x1b[J"));
}

/* The new size also ends the scroll region, as in other terminals; libvterm would keep one that does not
 * fit. */
static void set_size(Screen *screen, int cols, int rows) {
        VTermPos pos;
        int old_cols = screen->cols;

        screen_flush(screen);
        pos = screen_cursor(screen);
        screen_send(screen, STR("\x1b[r\x1b[0m"));
        screen->top = 0;
        screen->pen_is_sent = false;
        modes_resized(&screen->modes);
        cut_below(screen, pos.row, rows);
        screen_move(screen, pos.row, pos.col);
        vterm_set_size(screen->vt, rows, cols);
        screen->cols = cols;
        screen->rows = screen->bottom = rows;
        screen_reset_tabs(screen, old_cols);
        pos = screen_cursor(screen); /* may be above the top */
        screen_move(screen, pos.row, pos.col);
}

int screen_resize(Screen *screen, unsigned cols, unsigned rows) {
        int new_cols = screen_in_range(cols, SCREEN_COLS_MIN, SCREEN_COLS_MAX);
        int new_rows = screen_in_range(rows, 1, SCREEN_ROWS_MAX);
        VTermScreenCell *cells;

        if (new_cols == screen->cols && new_rows == screen->rows)
                return 0;
        cells = calloc((size_t)new_cols, sizeof(*cells));
        if (!cells || screen_probe_memory(new_cols, new_rows, 2)) {
                free(cells);
                return error_origin(-ENOMEM);
        }
        free(screen->cells);
        screen->cells = cells;
        set_size(screen, new_cols, new_rows);
        return 0;
}

/* ---- modes from elsewhere ----------------------------------------------------------------------- */

static void send_switches(Screen *screen) {
        uint32_t set = screen->modes.set;

        screen_send(screen, set & MODE_AUTOWRAP ? STR("\x1b[?7h") : STR("\x1b[?7l"));
        screen_send(screen, set & MODE_INSERT ? STR("\x1b[4h") : STR("\x1b[4l"));
        screen_send(screen, set & MODE_NEWLINE ? STR("\x1b[20h") : STR("\x1b[20l"));
        screen_send(screen, set & MODE_ORIGIN ? STR("\x1b[?6h") : STR("\x1b[?6l"));
}

static void send_region(Screen *screen) {
        int top = MAX(screen->modes.top, 1) - 1, bottom = screen->modes.bottom;
        char sequence[32];
        int n;

        if (!bottom || bottom > screen->rows)
                bottom = screen->rows;
        if (bottom - top < 2)
                top = 0, bottom = screen->rows;
        screen->top = top;
        screen->bottom = bottom;
        n = snprintf(sequence, sizeof(sequence), "\x1b[%d;%dr", top + 1, bottom);
        screen_send(screen, (Str){sequence, (size_t)n});
}

static bool differs(const Modes *a, const Modes *b) {
        uint32_t drawing = MODE_AUTOWRAP | MODE_INSERT | MODE_NEWLINE | MODE_ORIGIN;

        return (a->set ^ b->set) & drawing || a->top != b->top || a->bottom != b->bottom;
}

void screen_set_modes(Screen *screen, const Modes *modes) {
        VtParser parser = screen->modes.parser;
        bool is_other = differs(&screen->modes, modes), is_alternate = modes->set & MODE_ALTERNATE;
        VTermPos pos;

        screen_flush(screen);
        pos = screen_cursor(screen);
        if (is_other)
                screen_move(screen, pos.row, pos.col);
        if (screen->is_alternate && !is_alternate)
                screen_send(screen, STR("\x1b[?1047l"));
        screen->is_alternate = screen->is_alternate && is_alternate;
        screen->is_unseen = is_alternate && !screen->is_alternate;
        screen->modes = *modes;
        screen->modes.parser = parser;
        if (!is_other)
                return;
        send_region(screen);
        send_switches(screen);
        screen_move(screen, pos.row, pos.col);
}

const Modes *screen_modes(const Screen *screen) {
        return &screen->modes;
}
