/* SPDX-License-Identifier: MIT */
/*
 * Answers to what programs ask their terminal. They are kept until somebody takes them, up to
 * SCREEN_REPLIES_MAX bytes.
 */
#include <stdio.h>

#include "base/error.h"
#include "core/term/screen-internal.h"

static void screen_reply_reply(Screen *screen, const char *text, int n) {
        if (screen->replies.n + (size_t)n <= SCREEN_REPLIES_MAX)
                (void)buf_append(&screen->replies, text,
                                 (size_t)n); /* lost without memory, as when there are too many */
}

void screen_reply_status(Screen *screen) {
        const VtParser *vt = &screen->modes.parser;
        VTermPos pos = screen_cursor(screen);
        char text[48];
        int row = pos.row - (screen->modes.set & MODE_ORIGIN ? screen->top : 0);

        if (vt_param(vt, 0, 0) == 6)
                screen_reply_reply(screen, text,
                                   snprintf(text, sizeof(text), "\x1b[%s%d;%dR", vt->leader ? "?" : "",
                                            row + 1, pos.col + 1));
        else if (vt_param(vt, 0, 0) == 5 && !vt->leader)
                screen_reply_reply(screen, "\x1b[0n", 4);
}

void screen_reply_mode(Screen *screen) {
        unsigned number = vt_param(&screen->modes.parser, 0, 0);
        char text[48];

        screen_reply_reply(
                screen, text,
                snprintf(text, sizeof(text), "\x1b[?%u;%u$y", number, modes_report(&screen->modes, number)));
}

/* A VT100 with advanced video, as libvterm says. */
void screen_reply_attributes(Screen *screen, char leader) {
        if (vt_param(&screen->modes.parser, 0, 0) != 0)
                return;
        if (!leader)
                screen_reply_reply(screen, "\x1b[?1;2c", 7);
        else if (leader == '>')
                screen_reply_reply(screen, "\x1b[>0;100;0c", 11);
}

void screen_reply_keyboard(Screen *screen) {
        char text[48];

        screen_reply_reply(screen, text,
                           snprintf(text, sizeof(text), "\x1b[?%uu", modes_keyboard(&screen->modes)));
}

/* Light on dark, as most people have it who have not said otherwise. */
void screen_reply_colour(Screen *screen) {
        unsigned number = modes_colour_query(&screen->modes.parser);
        char text[48];

        if (number)
                screen_reply_reply(
                        screen, text,
                        snprintf(text, sizeof(text), "\x1b]%u;rgb:%s%s", number,
                                 number == 11 ? "0000/0000/0000" : "e5e5/e5e5/e5e5",
                                 screen->modes.parser.final == '\\' ? "\x1b\\" : "\a")); /* ended as asked */
}

int screen_take_replies(Screen *screen, Buf *out) {
        int r = buf_append_str(out, buf_str(&screen->replies));

        if (r)
                return error_trace(r);
        screen->replies.n = 0;
        return 0;
}
