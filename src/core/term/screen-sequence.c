/* SPDX-License-Identifier: MIT */
/*
 * What sequences do to the screen. libvterm gets those that move, scroll and erase, written anew; saving and
 * restoring the cursor, character sets, colours, resets and replies are done here, where libvterm's ways
 * differ from those of terminals in use.
 */
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "core/term/screen-internal.h"

/* ---- tab stops ---------------------------------------------------------------------------------- */

static void set_tab(Screen *screen, int col, bool is_set) {
        uint8_t bit = (uint8_t)(1 << col % 8);

        screen->tabs[col / 8] =
                (uint8_t)(is_set ? screen->tabs[col / 8] | bit : screen->tabs[col / 8] & ~bit);
}

bool screen_has_tab(const Screen *screen, int col) {
        return screen->tabs[col / 8] & 1 << col % 8;
}

/* libvterm does the same to columns that a resize adds. */
void screen_reset_tabs(Screen *screen, int from) {
        for (int col = from; col < screen->cols; col++)
                set_tab(screen, col, col % 8 == 0);
}

static void clear_tabs(Screen *screen, unsigned which) {
        if (which == 0)
                set_tab(screen, screen_cursor(screen).col, false);
        else if (which == 3)
                memset(screen->tabs, 0, sizeof(screen->tabs));
        else
                return;
        screen->has_tabs = true;
        screen_send(screen, which ? STR("\x1b[3g") : STR("\x1b[g"));
}

static void set_tab_here(Screen *screen) {
        set_tab(screen, screen_cursor(screen).col, true);
        screen->has_tabs = true;
        screen_send(screen, STR("\x1bH"));
}

/* ---- cursor, buffers, resets -------------------------------------------------------------------- */

static void save_cursor(Screen *screen, bool is_alternate) {
        VTermPos pos = screen_cursor(screen);

        screen->saved[is_alternate] = (SavedCursor){pos.row, pos.col, screen->pen, screen->charsets};
}

static void restore_cursor(Screen *screen, bool is_alternate) {
        const SavedCursor *saved = &screen->saved[is_alternate];

        screen_move(screen, saved->row, saved->col);
        screen->pen = saved->pen;
        screen->pen_is_sent = false;
        screen->charsets = saved->charsets;
}

static bool in_alternate(const Screen *screen) {
        return screen->is_alternate || screen->is_unseen;
}

static void enter_alternate(Screen *screen, bool with_cursor) {
        if (with_cursor && !in_alternate(screen))
                save_cursor(screen, false);
        if (!in_alternate(screen))
                screen->saved[1] = (SavedCursor){.charsets = CHARSETS_NULL};
        if (screen->is_unseen || screen_enable_alternate(screen)) {
                screen->is_unseen = true;
                screen_send(screen, STR("\x1b[2J"));
                return;
        }
        screen_send(screen, STR("\x1b[?1047h")); /* also clears it */
        screen->is_alternate = true;
}

static void leave_alternate(Screen *screen, bool with_cursor) {
        if (screen->is_unseen)
                screen_send(screen, STR("\x1b[0m\x1b[2J")); /* nobody knows what was underneath */
        else if (screen->is_alternate)
                screen_send(screen, STR("\x1b[?1047l"));
        screen->pen_is_sent = false;
        screen->is_alternate = screen->is_unseen = false;
        if (with_cursor)
                restore_cursor(screen, false);
}

static void screen_sequence_hard_reset(Screen *screen) {
        if (screen->is_alternate)
                screen_send(screen, STR("\x1b[?1047l"));
        screen_send(screen, STR("\x1b"
                                "c"));
        screen_forget(screen);
}

static void screen_sequence_soft_reset(Screen *screen) {
        VTermPos pos = screen_cursor(screen);

        screen_send(screen, STR("\x1b[?6l\x1b[r\x1b[4l\x1b[20l\x1b[?7h"));
        screen->top = 0;
        screen->bottom = screen->rows;
        screen_move(screen, pos.row, pos.col);
        screen->pen = PEN_NULL;
        screen->pen_is_sent = false;
        screen->charsets = CHARSETS_NULL;
        screen->saved[in_alternate(screen)] = (SavedCursor){.charsets = CHARSETS_NULL};
}

/* ---- modes -------------------------------------------------------------------------------------- */

/* A wrap that is pending survives being switched on again, and only that. */
static void switch_autowrap(Screen *screen, bool is_on) {
        if (!is_on && screen->will_wrap)
                screen_send(screen, STR("\x1b[?7l"));
        else
                screen_write(screen, is_on ? STR("\x1b[?7h") : STR("\x1b[?7l"));
        if (is_on && !screen->will_wrap)
                screen->n_last = 0;
}

static void switch_private(Screen *screen, unsigned number, bool is_on) {
        switch (number) {
        case 6: screen_send(screen, is_on ? STR("\x1b[?6h") : STR("\x1b[?6l")); break;
        case 7: switch_autowrap(screen, is_on); break;
        case 47:
        case 1047:
        case 1049:
                if (is_on)
                        enter_alternate(screen, number == 1049);
                else
                        leave_alternate(screen, number == 1049);
                break;
        case 1048:
                if (is_on)
                        save_cursor(screen, in_alternate(screen));
                else
                        restore_cursor(screen, in_alternate(screen));
                break;
        default: break;
        }
}

static void switch_ansi(Screen *screen, unsigned number, bool is_on) {
        if (number == 4)
                screen_write(screen, is_on ? STR("\x1b[4h") : STR("\x1b[4l"));
        else if (number == 20)
                screen_write(screen, is_on ? STR("\x1b[20h") : STR("\x1b[20l"));
}

static void switch_all(Screen *screen, bool is_on) {
        const VtParser *vt = &screen->modes.parser;

        for (unsigned i = 0; i < vt->n_params; i++)
                if (vt->leader == '?')
                        switch_private(screen, vt_param(vt, i, 0), is_on);
                else
                        switch_ansi(screen, vt_param(vt, i, 0), is_on);
}

static void set_region(Screen *screen) {
        const VtParser *vt = &screen->modes.parser;
        int top = (int)MAX(vt_param(vt, 0, 1), 1u) - 1, bottom = (int)vt_param(vt, 1, 0);
        char sequence[32];
        int n;

        if (!bottom || bottom > screen->rows)
                bottom = screen->rows;
        if (bottom - top < 2 && !(top == 0 && bottom == screen->rows))
                return;
        n = snprintf(sequence, sizeof(sequence), "\x1b[%d;%dr", top + 1, bottom);
        screen_send(screen, (Str){sequence, (size_t)n});
        screen->top = top;
        screen->bottom = bottom;
}

/* ---- dispatch ----------------------------------------------------------------------------------- */

/* Moving, erasing, inserting, deleting, scrolling: the same sequence, with at most its two numbers. */
static void forward(Screen *screen) {
        const VtParser *vt = &screen->modes.parser;
        char sequence[32];
        int n;

        if (vt->final == 'T' && vt->n_params > 1)
                return; /* mouse tracking, not scrolling */
        if (vt->final == 'P')
                screen_mend(screen, (int)MAX(vt_param(vt, 0, 1), 1u));
        n = snprintf(sequence, sizeof(sequence), "\x1b[%u;%u%c", vt_param(vt, 0, 0), vt_param(vt, 1, 0),
                     vt->final);
        screen_send(screen, (Str){sequence, (size_t)n});
}

static void plain_csi(Screen *screen) {
        const VtParser *vt = &screen->modes.parser;

        if (strchr("@ABCDEFGHIJKLMPSTXZ`adefjk", vt->final)) {
                forward(screen);
                return;
        }
        switch (vt->final) {
        case 'b': screen_repeat(screen, MAX(vt_param(vt, 0, 1), 1u)); break;
        case 'c': screen_reply_attributes(screen, 0); break;
        case 'g': clear_tabs(screen, vt_param(vt, 0, 0)); break;
        case 'h': switch_all(screen, true); break;
        case 'l': switch_all(screen, false); break;
        case 'm':
                pen_apply(&screen->pen, vt);
                screen->pen_is_sent = false;
                break;
        case 'n': screen_reply_status(screen); break;
        case 'r': set_region(screen); break;
        case 's':
                if (!(screen->modes.set & MODE_SIDE_MARGINS))
                        save_cursor(screen, in_alternate(screen));
                break;
        case 'u': restore_cursor(screen, in_alternate(screen)); break;
        default: break;
        }
}

static void private_csi(Screen *screen) {
        const VtParser *vt = &screen->modes.parser;

        if (vt->leader == '>' && vt->final == 'c')
                screen_reply_attributes(screen, '>');
        if (vt->leader != '?')
                return;
        switch (vt->final) {
        case 'J': /* selective, but nothing is protected here */
        case 'K': forward(screen); break;
        case 'h': switch_all(screen, true); break;
        case 'l': switch_all(screen, false); break;
        case 'n': screen_reply_status(screen); break;
        case 'u': screen_reply_keyboard(screen); break;
        default: break;
        }
}

void screen_csi(Screen *screen) {
        const VtParser *vt = &screen->modes.parser;

        if (vt->intermediate == '!' && vt->final == 'p' && !vt->leader)
                screen_sequence_soft_reset(screen);
        else if (vt->intermediate == '$' && vt->final == 'p' && vt->leader == '?')
                screen_reply_mode(screen);
        else if (!vt->intermediate && vt->leader)
                private_csi(screen);
        else if (!vt->intermediate)
                plain_csi(screen);
}

static void designate(Screen *screen, unsigned g, char set) {
        screen->charsets.g[g] = set == '0' || set == 'A' ? set : 'B';
}

static void plain_escape(Screen *screen, char final) {
        switch (final) {
        case '7': save_cursor(screen, in_alternate(screen)); break;
        case '8': restore_cursor(screen, in_alternate(screen)); break;
        case 'D':
                screen_send(screen, STR("\x1b"
                                        "D"));
                break;
        case 'E':
                screen_send(screen, STR("\x1b"
                                        "E"));
                break;
        case 'H': set_tab_here(screen); break;
        case 'M': screen_send(screen, STR("\x1bM")); break;
        case 'c': screen_sequence_hard_reset(screen); break;
        case 'n': screen->charsets.gl = 2; break;
        case 'o': screen->charsets.gl = 3; break;
        default: break;
        }
}

void screen_escape(Screen *screen) {
        const VtParser *vt = &screen->modes.parser;

        if (!vt->intermediate)
                plain_escape(screen, vt->final);
        else if (vt->intermediate >= '(' && vt->intermediate <= '+')
                designate(screen, vt->intermediate - '(', vt->final);
        else if (vt->intermediate == '#' && vt->final == '8')
                screen_send(screen, STR("\x1b#8"));
}

void screen_control(Screen *screen, char c) {
        if (c >= '\b' && c <= '\r')
                screen_send(screen, (Str){&c, 1});
        else if (c == '\x0e' || c == '\x0f')
                screen->charsets.gl = c == '\x0e';
}
