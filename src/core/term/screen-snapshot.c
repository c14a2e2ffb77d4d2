/* SPDX-License-Identifier: MIT */
/*
 * The snapshot. In order: everything off that could disturb the drawing; the main screen if the alternate
 * one hides it, with its saved cursor; the alternate screen; the screen in use; tab stops, margins, saved
 * cursor; cursor, pen, character sets; modes; and what the program has begun to say and not finished.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "base/macro.h"
#include "core/term/screen-internal.h"

typedef struct Painter {
        Screen *screen;
        Buf *out;
        VTermScreenCell *cells; /* the screen's */
        int r;                  /* first failure */
        Pen pen;                /* as the receiver has it */
        Charsets charsets;
        int skip;       /* columns to move right before the next character */
        bool is_unsure; /* the receiver may be in another column: it knows other widths than we do */
} Painter;

static void screen_snapshot_put(Painter *painter, Str bytes) {
        if (!painter->r)
                painter->r = buf_append_str(painter->out, bytes);
}

static void put_format(Painter *painter, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put_format(Painter *painter, const char *format, ...) {
        char text[64];
        va_list ap;
        int n;

        va_start(ap, format);
        n = vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);
        screen_snapshot_put(painter, (Str){text, (size_t)n});
}

static void put_pen(Painter *painter, Pen pen) {
        char sgr[PEN_SGR_MAX];

        if (pen_eq(pen, painter->pen))
                return;
        screen_snapshot_put(painter, (Str){sgr, pen_sgr(sgr, &pen, false)});
        painter->pen = pen;
}

static void put_charsets(Painter *painter, Charsets charsets) {
        static const char *const shifts[4] = {"\x0f", "\x0e", "\x1bn", "\x1bo"};

        for (unsigned i = 0; i < 4; i++)
                if (charsets.g[i] != painter->charsets.g[i])
                        put_format(painter, "\x1b%c%c", "()*+"[i], charsets.g[i]);
        if (charsets.gl != painter->charsets.gl)
                screen_snapshot_put(painter, str_from(shifts[charsets.gl]));
        painter->charsets = charsets;
}

static void put_position(Painter *painter, int row, int col) {
        put_format(painter, "\x1b[%d;%dH", MIN(row, painter->screen->rows - 1) + 1,
                   MIN(col, painter->screen->cols - 1) + 1);
}

/* ---- cells -------------------------------------------------------------------------------------- */

static bool screen_snapshot_is_blank(const VTermScreenCell *cell) {
        return !cell->chars[0];
}

static bool screen_snapshot_is_empty(const VTermScreenCell *cell) {
        return screen_snapshot_is_blank(cell) && screen_cell_pen(cell).bg == PEN_DEFAULT;
}

static void put_skip(Painter *painter, int col) {
        if (painter->is_unsure)
                put_format(painter, "\x1b[%dG", col + 1);
        else if (painter->skip)
                put_format(painter, "\x1b[%dC", painter->skip);
        painter->skip = 0;
        painter->is_unsure = false;
}

/* Terminals agree on the width of single characters up to here, and on lines and blocks. */
static bool is_well_known(const VTermScreenCell *cell) {
        uint32_t character = cell->chars[0];

        return !cell->chars[1] && (character < 0x300 || (character >= 0x2500 && character < 0x25a0));
}

static void put_glyph(Painter *painter, const VTermScreenCell *cell) {
        char bytes[4 * VTERM_MAX_CHARS_PER_CELL];
        size_t n = 0;

        for (size_t i = 0; i < VTERM_MAX_CHARS_PER_CELL && cell->chars[i]; i++)
                n += utf8_put(bytes + n, cell->chars[i]);
        put_pen(painter, screen_cell_pen(cell));
        screen_snapshot_put(painter, (Str){bytes, n});
        painter->is_unsure = !is_well_known(cell);
}

/* Blank cells from col on with the same background; returns how many. Only coloured ones need a word. */
static int screen_snapshot_put_blanks(Painter *painter, int col, int end) {
        uint32_t bg = screen_cell_pen(&painter->cells[col]).bg;
        int n = 1;

        while (col + n < end && screen_snapshot_is_blank(&painter->cells[col + n]) &&
               screen_cell_pen(&painter->cells[col + n]).bg == bg)
                n++;
        if (bg != PEN_DEFAULT) {
                put_skip(painter, col);
                put_pen(painter, (Pen){.bg = bg});
                put_format(painter, "\x1b[%dX", n);
        }
        painter->skip += n;
        return n;
}

static void put_row(Painter *painter, int row) {
        int end = painter->screen->cols, col = 0;

        screen_row(painter->screen, row, painter->cells);
        while (end && painter->cells[end - 1].width && screen_snapshot_is_empty(&painter->cells[end - 1]))
                end--;
        if (!end)
                return;
        put_format(painter, "\x1b[%dH", row + 1);
        painter->skip = 0;
        painter->is_unsure = false;
        while (col < end) {
                const VTermScreenCell *cell = &painter->cells[col];
                if (screen_snapshot_is_blank(cell)) {
                        col += screen_snapshot_put_blanks(painter, col, end);
                        continue;
                }
                put_skip(painter, col);
                put_glyph(painter, cell);
                col += cell->width;
        }
}

static void put_rows(Painter *painter) {
        put_charsets(painter, CHARSETS_NULL);
        for (int row = 0; row < painter->screen->rows && !painter->r; row++)
                put_row(painter, row);
}

/* ---- state -------------------------------------------------------------------------------------- */

static void put_saved(Painter *painter, const SavedCursor *saved) {
        put_position(painter, saved->row, saved->col);
        put_pen(painter, saved->pen);
        put_charsets(painter, saved->charsets);
        screen_snapshot_put(painter, STR("\x1b"
                                         "7"));
}

/* ST ends whatever string or sequence the receiver may be in. */
static void put_reset(Painter *painter) {
        screen_snapshot_put(
                painter, STR("\x1b\\\x1b[?1049l\x1b[?5;6;69l\x1b[?7h\x1b[4l\x1b[20l\x1b[r\x1b[0m\x1b(B\x1b)"
                             "B\x1b*B\x1b+B\x0f"
                             "\x1b[H\x1b[2J"));
        painter->pen = PEN_NULL;
        painter->charsets = CHARSETS_NULL;
}

/* The two screens have keyboard flags of their own. */
static void put_keyboard(Painter *painter, bool is_alternate) {
        const Modes *modes = &painter->screen->modes;

        if (modes->keyboards[is_alternate][0])
                put_format(painter, "\x1b[=%u;1u", modes->keyboards[is_alternate][0]);
        for (unsigned i = 1; i <= modes->n_keyboards[is_alternate]; i++)
                put_format(painter, "\x1b[>%uu", modes->keyboards[is_alternate][i]);
}

static void put_hidden_main(Painter *painter) {
        Screen *screen = painter->screen;

        if (screen->is_alternate) {
                screen_peek(screen, true);
                put_rows(painter);
                screen_peek(screen, false);
        }
        put_saved(painter, &screen->saved[0]);
        put_keyboard(painter, false);
        screen_snapshot_put(painter, STR("\x1b[?1049h"));
        put_pen(painter, PEN_NULL);
        screen_snapshot_put(painter, STR("\x1b[H\x1b[2J")); /* not all terminals do */
}

static void put_tabs(Painter *painter) {
        if (!painter->screen->has_tabs)
                return;
        screen_snapshot_put(painter, STR("\x1b[3g"));
        for (int col = 0; col < painter->screen->cols; col++)
                if (screen_has_tab(painter->screen, col))
                        put_format(painter, "\x1b[1;%dH\x1bH", col + 1);
}

static void put_margins(Painter *painter) {
        const Screen *screen = painter->screen;
        const Modes *modes = &screen->modes;

        if (screen->top != 0 || screen->bottom != screen->rows)
                put_format(painter, "\x1b[%d;%dr", screen->top + 1, screen->bottom);
        if (modes->set & MODE_SIDE_MARGINS)
                screen_snapshot_put(painter, STR("\x1b[?69h"));
        if (modes->right)
                put_format(painter, "\x1b[%d;%ds", modes->left, modes->right);
        else if (modes->left)
                put_format(painter, "\x1b[%ds", modes->left);
        if (modes->set & MODE_ORIGIN)
                screen_snapshot_put(painter, STR("\x1b[?6h"));
}

/* Prints the last character once more: only so does a cursor come to wait behind the last column, and REP
 * know what to repeat. */
static void put_last(Painter *painter, int top) {
        Screen *screen = painter->screen;
        int row = screen->last_put.start_row, col = screen->last_put.start_col;

        if (!(screen->modes.set & MODE_AUTOWRAP))
                screen_snapshot_put(painter, STR("\x1b[?7l"));
        put_position(painter, row - top, col);
        screen_row(screen, row, painter->cells);
        put_charsets(painter, CHARSETS_NULL);
        put_glyph(painter, &painter->cells[col]);
}

static void put_cursor(Painter *painter) {
        Screen *screen = painter->screen;
        VTermPos pos = screen_cursor(screen);
        int top = screen->modes.set & MODE_ORIGIN ? screen->top : 0;

        if (screen->n_last)
                put_last(painter, top);
        else
                put_position(painter, pos.row - top, pos.col);
        put_pen(painter, screen->pen);
        put_charsets(painter, screen->charsets);
}

static bool is_sent_last(const ModeInfo *info, const Modes *modes, bool is_on) {
        uint32_t elsewhere = MODE_ORIGIN | MODE_SIDE_MARGINS | (is_on ? MODE_AUTOWRAP : 0);

        return !(info->flag & elsewhere) && (!info->is_optional || modes->seen & info->flag);
}

/* Those that are off first: some of them switch others off as well. */
static void put_switches(Painter *painter, bool is_on) {
        const Modes *modes = &painter->screen->modes;
        bool is_first = true;

        for (size_t i = 0; i < ARRAY_SIZE(mode_infos); i++) {
                const ModeInfo *info = &mode_infos[i];
                if (!!(modes->set & info->flag) != is_on || !is_sent_last(info, modes, is_on))
                        continue;
                put_format(painter, is_first ? "\x1b[?%u" : ";%u", info->number);
                is_first = false;
        }
        if (!is_first)
                screen_snapshot_put(painter, is_on ? STR("h") : STR("l"));
}

static void put_modes(Painter *painter) {
        const Modes *modes = &painter->screen->modes;

        put_switches(painter, false);
        put_switches(painter, true);
        screen_snapshot_put(painter, modes->set & MODE_KEYPAD ? STR("\x1b=") : STR("\x1b>"));
        screen_snapshot_put(painter, modes->set & MODE_INSERT ? STR("\x1b[4h") : STR(""));
        screen_snapshot_put(painter, modes->set & MODE_NEWLINE ? STR("\x1b[20h") : STR(""));
        put_format(painter, "\x1b[%u q", modes->cursor_shape);
        if (modes->modify_keys)
                put_format(painter, "\x1b[>4;%um", modes->modify_keys);
        put_keyboard(painter, modes->set & MODE_ALTERNATE);
        if (modes->n_title) {
                screen_snapshot_put(painter, STR("\x1b]2;"));
                screen_snapshot_put(painter, (Str){modes->title, modes->n_title});
                screen_snapshot_put(painter, STR("\a"));
        }
}

static void put_open(Painter *painter) {
        Screen *screen = painter->screen;

        screen_snapshot_put(painter, (Str){screen->open.bytes, screen->open.n});
        if (!painter->r)
                painter->r = vt_append_open(&screen->modes.parser, painter->out);
}

static void paint(Painter *painter) {
        const Screen *screen = painter->screen;
        bool is_alternate = screen->modes.set & MODE_ALTERNATE;

        put_reset(painter);
        if (is_alternate)
                put_hidden_main(painter);
        put_rows(painter);
        put_saved(painter, &screen->saved[is_alternate]);
        put_tabs(painter);
        put_margins(painter);
        put_cursor(painter);
        put_modes(painter);
        put_open(painter);
}

int screen_snapshot(Screen *screen, Buf *out) {
        Painter painter = {.screen = screen, .out = out, .cells = screen->cells};

        screen_flush(screen);
        paint(&painter);
        return error_trace(painter.r);
}
