#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The inside of Screen, for its own files and its tests.
 */
#include <vterm.h>

#include "base/utf8.h"
#include "core/term/pen.h"
#include "core/term/screen.h"

enum {
        SCREEN_TEXT_MAX =
                1024, /* bytes of text given to libvterm at a time; it puts four times that on the stack */
        SCREEN_MARKS_MAX = VTERM_MAX_CHARS_PER_CELL - 1,
        SCREEN_GLYPHS = 256, /* cached */
};

typedef enum GlyphKind { GLYPH_UNKNOWN, GLYPH_NARROW, GLYPH_WIDE, GLYPH_MARK, GLYPH_BAD } GlyphKind;

typedef struct Charsets {
        char g[4];  /* 'B', '0' (line drawing) or 'A' */
        uint8_t gl; /* which of them is in use */
} Charsets;

#define CHARSETS_NULL ((Charsets){.g = {'B', 'B', 'B', 'B'}})

/* What DECSC keeps. */
typedef struct SavedCursor {
        int row, col;
        Pen pen;
        Charsets charsets;
} SavedCursor;

struct Screen {
        VTerm *vt;
        VTermState *state;
        VTermScreen *grid;
        VTerm *probe; /* tells how wide libvterm takes a character to be */
        int cols, rows;
        int top, bottom; /* scroll region: first line, line behind the last */
        Modes modes;
        Pen pen;
        Charsets charsets;
        SavedCursor saved[2]; /* of the main and the alternate screen */
        bool pen_is_sent;     /* libvterm has it */
        bool has_alternate;   /* libvterm has the second buffer */
        bool is_alternate;    /* libvterm is in it */
        bool is_unseen; /* the alternate screen was entered before our time: it stands in the main buffer */
        bool is_peeking;
        int64_t n_budget; /* cells that may still be changed */
        bool will_wrap;   /* the last column has just been printed to */
        bool has_tabs;    /* other than every eight columns */
        VTermRect last_put;
        Utf8Open open;   /* the character that is not yet whole; n is 0: there is none */
        uint8_t n_marks; /* on the last character of text */
        uint16_t n_text;
        uint8_t n_last;
        char last[4]; /* the character at last_put, for REP; none after anything but text */
        char text[SCREEN_TEXT_MAX];
        uint8_t tabs[SCREEN_COLS_MAX / 8];
        Buf replies;
        VTermScreenCell *cells; /* one row, for whoever needs it */
        struct {
                uint32_t character;
                uint8_t kind;
        } glyphs[SCREEN_GLYPHS];
};

/* screen.c */
void screen_flush(Screen *screen); /* text that libvterm has not seen yet */
void screen_send(Screen *screen, Str sequences);
void screen_write(Screen *screen, Str sequences); /* that leave cells and cursor alone */
VTermPos screen_cursor(const Screen *screen);
void screen_move(Screen *screen, int row, int col);
void screen_forget(Screen *screen); /* as after RIS, but for the grid and the modes */
int screen_enable_alternate(Screen *screen);
int screen_in_range(unsigned value, int low, int high);
int screen_probe_memory(int cols, int rows, int n_buffers); /* before libvterm asks, which does not check */

/* screen-text.c */
size_t screen_take_text(Screen *screen, Str bytes);
size_t screen_pass_over(Screen *screen, Str bytes, size_t *ret_n);
void screen_repeat(Screen *screen, unsigned count);

/* screen-glyph.c */
GlyphKind screen_glyph(Screen *screen, uint32_t character);
/*
 * One row as a terminal would show it: halves of overwritten wide characters are blank. cells[].width: 0 for
 * the right half of a wide one. Blank cells have chars[0] == 0 and no attributes but a background.
 */
void screen_row(Screen *screen, int row, VTermScreenCell *cells);
Pen screen_cell_pen(const VTermScreenCell *cell);
/* Before so many cells at the cursor are deleted: blanks what would be halves of wide characters. */
void screen_mend(Screen *screen, int n_deleted);
/* Makes screen_row() show the main screen while the alternate one is in use, and back. */
void screen_peek(Screen *screen, bool at_main);

/* screen-reply.c */
void screen_reply_status(Screen *screen);
void screen_reply_mode(Screen *screen);
void screen_reply_attributes(Screen *screen, char leader);
void screen_reply_colour(Screen *screen);
void screen_reply_keyboard(Screen *screen);

/* screen-sequence.c */
void screen_control(Screen *screen, char c);
void screen_escape(Screen *screen);
void screen_csi(Screen *screen);
void screen_reset_tabs(Screen *screen, int from);
bool screen_has_tab(const Screen *screen, int col);
