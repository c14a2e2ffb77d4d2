/* SPDX-License-Identifier: MIT */
#include "cli/term/undo.h"

#include "base/error.h"

/* Colours, cursor, character set, wrapping, scroll region (around which the cursor is kept), cursor keys,
 * keypad, mouse in all its forms, focus reports, bracketed paste. */
static const char always[] = "\x1b[0m\x1b[?25h\x1b(B\x0f\x1b[?7h\x1b"
                             "7\x1b[r\x1b"
                             "8\x1b[?1l\x1b>"
                             "\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1005l\x1b[?1006l\x1b[?1015l"
                             "\x1b[?1004l\x1b[?2004l";

/* Terminals keep a keyboard protocol for each screen. */
static int undo_keyboard(const Modes *modes, unsigned screen, Buf *out) {
        unsigned n = modes->n_keyboards[screen];
        int r = n ? buf_printf(out, "\x1b[<%uu", n) : 0;

        if (!r && modes->modify_keys)
                r = buf_append_str(out, STR("\x1b[>4;0m"));
        return error_trace(r);
}

static int undo_screen(const Modes *modes, Buf *out) {
        int r = undo_keyboard(modes, 1, out);

        return error_trace(r ? r : buf_append_str(out, STR("\x1b[?1049l")));
}

/* The alternate screen goes first: the rest is for the one that stays. */
int undo_append(Buf *out, Modes *modes) {
        int r = buf_append_str(out, STR("\x1b\\")); /* ends a string that was cut off */

        if (!r && modes->set & MODE_ALTERNATE)
                r = undo_screen(modes, out);
        if (!r)
                r = undo_keyboard(modes, 0, out);
        if (!r && modes->cursor_shape)
                r = buf_append_str(out, STR("\x1b[0 q"));
        if (!r)
                r = buf_append(out, always, sizeof(always) - 1);
        modes_init(modes);
        return error_trace(r);
}
