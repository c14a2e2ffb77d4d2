#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Screen: the terminal of one hosted process as a model: what it shows, where the cursor is, which modes are
 * set.
 *
 * It is fed raw output, lazily and in any pieces, and gives a snapshot: bytes that make any terminal of the
 * same size look and behave alike, so that the output that follows can be sent as it is, even when it begins
 * inside a sequence or a character. The grid is libvterm's. libvterm 0.1.4 trusts its input (it can be made
 * to write out of bounds and to loop for ever), so it never sees the program's bytes: sequences are read by
 * VtParser, and what libvterm gets is written by us, whole and in range.
 *
 * Not kept: scrollback, double-width lines, hyperlinks, images, underline colours. Side margins (DECSLRM)
 * are restored but not obeyed. Cost: about 80 KB for 80x24 and 375 KB for 200x50; from the first use of the
 * alternate screen 70 and 360 KB more. Owned by whoever makes one: the host makes it from the
 * recent output for a single question (host-screen.c) and frees it at once.
 */
#include "base/buf.h"
#include "core/term/modes.h"

typedef struct Screen Screen;

enum {
        SCREEN_COLS_MIN = 2, /* a wide character must fit */
        SCREEN_COLS_MAX = 1024,
        SCREEN_ROWS_MAX = 512,
        SCREEN_REPLIES_MAX = 4096,
};

/* Sizes out of range are brought into it. modes: those in force before the first byte that will be fed;
 * NULL: none. */
int screen_new(Screen **ret, unsigned cols, unsigned rows, const Modes *modes);
Screen *screen_free(Screen *screen);
void screen_freep(Screen **screen);

/* 10 to 25 MB/s, plain text much more: cut large histories into slices of 64 KiB or so, one per turn of the
 * loop. */
void screen_feed(Screen *screen, Str bytes);
/* A line feed can move half a million cells. When what is fed from now on has changed n_cells, the rest of
 * it is passed over; whoever sees that starts again with less. */
void screen_set_budget(Screen *screen, int64_t n_cells);
bool screen_is_spent(const Screen *screen);
/* Fails without memory, with the old size kept. Lines are not reflowed. */
int screen_resize(Screen *screen, unsigned cols, unsigned rows);
/*
 * For a screen whose history was cut in front: the modes are those that a Modes says which has seen all of
 * it. If the program was in the alternate screen since before the cut, what was drawn is taken as its
 * content, and there is nothing underneath.
 */
void screen_set_modes(Screen *screen, const Modes *modes);
const Modes *screen_modes(const Screen *screen);

/* Appends the snapshot. Fails without memory; what was appended until then is of no use. */
int screen_snapshot(Screen *screen, Buf *out);

/* What it shows as plain text: a line for each row without the blanks at its end, without the empty rows at the end; and
 * where the cursor is, from 0. Fails without memory. (screen-plain.c) */
int screen_plain(Screen *screen, Buf *out, unsigned *ret_row, unsigned *ret_col);

/*
 * Moves the answers to queries (DA, DSR, DECRQM, keyboard flags, colours) to the end of out. They belong to
 * the process's input, and only when no terminal is attached that answers itself. More than
 * SCREEN_REPLIES_MAX bytes of them are dropped.
 */
int screen_take_replies(Screen *screen, Buf *out);
