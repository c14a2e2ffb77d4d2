/* SPDX-License-Identifier: MIT */
/*
 * Characters and cells as libvterm has them. Its table of widths is private, so it is asked: a terminal of
 * one line, and where the cursor is after a character.
 */
#include "base/macro.h"
#include "core/term/screen-internal.h"

/* Where the cursor is after the prefix and the character. */
static int probe(Screen *screen, Str prefix, uint32_t character) {
        char bytes[16];
        VTermPos pos;
        size_t n = prefix.n;

        memcpy(bytes, prefix.data, n);
        n += utf8_put(bytes + n, character);
        vterm_input_write(screen->probe, bytes, n);
        vterm_state_get_cursorpos(vterm_obtain_state(screen->probe), &pos);
        return pos.col;
}

static GlyphKind screen_glyph_ask(Screen *screen, uint32_t character) {
        int width = probe(screen, STR("\rA\r"), character);
        VTermScreenCell cell;

        probe(screen, STR("\r   \rA"), character);
        if (!vterm_screen_get_cell(vterm_obtain_screen(screen->probe), (VTermPos){0, 0}, &cell))
                return GLYPH_BAD;
        if (cell.chars[0] == 'A' && cell.chars[1])
                return width == 0 ? GLYPH_MARK
                                  : GLYPH_BAD; /* a mark that libvterm would widen its cell for */
        return width == 1 ? GLYPH_NARROW : width == 2 ? GLYPH_WIDE : GLYPH_BAD;
}

GlyphKind screen_glyph(Screen *screen, uint32_t character) {
        size_t i = (character ^ character >> 8) % SCREEN_GLYPHS;

        if (character < 0x300)
                return GLYPH_NARROW;
        if (screen->glyphs[i].character != character) {
                screen->glyphs[i].kind = (uint8_t)screen_glyph_ask(screen, character);
                screen->glyphs[i].character = character;
        }
        return (GlyphKind)screen->glyphs[i].kind;
}

/* ---- cells -------------------------------------------------------------------------------------- */

static const uint32_t right_half = (uint32_t)-1;

static uint32_t colour(const VTermColor *from) {
        if (from->type & VTERM_COLOR_DEFAULT_MASK)
                return PEN_DEFAULT;
        if (VTERM_COLOR_IS_INDEXED(from))
                return PEN_INDEXED | from->indexed.idx;
        return PEN_RGB | (uint32_t)from->rgb.red << 16 | (uint32_t)from->rgb.green << 8 | from->rgb.blue;
}

Pen screen_cell_pen(const VTermScreenCell *cell) {
        const VTermScreenCellAttrs *attrs = &cell->attrs;
        Pen pen = {.bg = colour(&cell->bg)};

        if (!cell->chars[0])
                return pen;
        pen.fg = colour(&cell->fg);
        pen.underline = (uint8_t)attrs->underline;
        pen.attrs = (uint8_t)((attrs->bold ? PEN_BOLD : 0) | (attrs->italic ? PEN_ITALIC : 0) |
                              (attrs->blink ? PEN_BLINK : 0) | (attrs->reverse ? PEN_REVERSE : 0) |
                              (attrs->strike ? PEN_STRIKE : 0) | (attrs->font & 1 ? PEN_DIM : 0) |
                              (attrs->font & 2 ? PEN_CONCEAL : 0) | (attrs->font & 4 ? PEN_OVERLINE : 0));
        return pen;
}

/* libvterm does not write the colours of a right half, so there are none to keep. */
static void make_blank(VTermScreenCell *cell) {
        if (cell->chars[0] == right_half)
                cell->bg.type = VTERM_COLOR_DEFAULT_BG;
        cell->chars[0] = 0;
        cell->width = 1;
}

void screen_row(Screen *screen, int row, VTermScreenCell *cells) {
        int cols = screen->cols;

        for (int col = 0; col < cols; col++)
                vterm_screen_get_cell(screen->grid, (VTermPos){row, col}, &cells[col]);
        for (int col = 0; col < cols; col++) {
                VTermScreenCell *cell = &cells[col];
                bool is_wide =
                        cell->chars[0] != right_half && screen_glyph(screen, cell->chars[0]) == GLYPH_WIDE;

                if (is_wide && col + 1 < cols && cells[col + 1].chars[0] == right_half) {
                        cell->width = 2;
                        cells[++col].width = 0;
                } else if (is_wide || cell->chars[0] == right_half) {
                        make_blank(cell);
                } else {
                        cell->width = 1;
                }
        }
}

static void blank(Screen *screen, int row, int col) {
        Pen pen = {.bg = screen_cell_pen(&screen->cells[col]).bg};
        char sgr[PEN_SGR_MAX];

        screen_move(screen, row, col);
        screen_write(screen, (Str){sgr, pen_sgr(sgr, &pen, true)});
        screen_write(screen, STR("\x1b[X"));
        screen->pen_is_sent = false;
}

static bool is_torn(Screen *screen, int row, int col) {
        VTermScreenCell cell;

        vterm_screen_get_cell(screen->grid, (VTermPos){row, col}, &cell);
        return cell.chars[0] && !screen->cells[col].chars[0];
}

/* libvterm lets any left half meet any right half again, so there must be none left when cells are moved
 * together. */
void screen_mend(Screen *screen, int n_deleted) {
        VTermPos pos = screen_cursor(screen);
        int end = pos.col + n_deleted;

        screen_row(screen, pos.row, screen->cells);
        for (int col = 0; col < screen->cols; col++) {
                bool is_cut_after = (col + 1 == pos.col || col + 1 == end) && screen->cells[col].width == 2;
                bool is_cut_before = (col == pos.col || col == end) && screen->cells[col].width == 0;

                if (is_cut_after || is_cut_before || is_torn(screen, pos.row, col))
                        blank(screen, pos.row, col);
        }
        screen_move(screen, pos.row, pos.col);
}

static void show_buffer(Screen *screen, bool is_alternate) {
        VTermValue value = {.boolean = is_alternate};

        vterm_state_set_termprop(screen->state, VTERM_PROP_ALTSCREEN, &value);
}

void screen_peek(Screen *screen, bool at_main) {
        if (!screen->is_alternate)
                return;
        screen->is_peeking = true;
        show_buffer(screen, !at_main);
        screen->is_peeking = false;
}
