/* SPDX-License-Identifier: MIT */
/*
 * Text on its way to libvterm: whole and valid UTF-8 only, translated from the character set in use, at most
 * SCREEN_MARKS_MAX marks on a character, no C1 controls (libvterm takes them to be -1 columns wide). It is
 * held back until something other than text comes, so that how the output was cut makes no difference.
 */
#include "base/macro.h"
#include "core/term/screen-internal.h"

enum { MARKS_ROOM = 4 * SCREEN_MARKS_MAX };

static const char replacement[] = "\xef\xbf\xbd";

/* What 5f-7e stand for in the line drawing set. */
static const uint16_t drawing[0x20] = {
        0x00a0, 0x25c6, 0x2592, 0x2409, 0x240c, 0x240d, 0x240a, 0x00b0, 0x00b1, 0x2424, 0x240b,
        0x2518, 0x2510, 0x250c, 0x2514, 0x253c, 0x23ba, 0x23bb, 0x2500, 0x23bc, 0x23bd, 0x251c,
        0x2524, 0x2534, 0x252c, 0x2502, 0x2264, 0x2265, 0x03c0, 0x2260, 0x00a3, 0x00b7,
};

static void screen_text_append(Screen *screen, const char *bytes, size_t n) {
        memcpy(screen->text + screen->n_text, bytes, n);
        screen->n_text += (uint16_t)n;
}

/* Room is kept for the marks of the last character, so that they are never torn from it. */
static void append_base(Screen *screen, const char *bytes, size_t n) {
        if (screen->n_text + (int)n > SCREEN_TEXT_MAX - MARKS_ROOM)
                screen_flush(screen);
        screen_text_append(screen, bytes, n);
        screen->n_marks = 0;
        memcpy(screen->last, bytes, n);
        screen->n_last = (uint8_t)n;
}

/* A mark without its character right before it would take a cell of its own: dropped. */
static void append_mark(Screen *screen, const char *bytes, size_t n) {
        if (!screen->n_text || screen->n_marks == SCREEN_MARKS_MAX)
                return;
        screen_text_append(screen, bytes, n);
        screen->n_marks++;
}

/* One valid character of several bytes. */
static void append_character(Screen *screen, const char *bytes, size_t n) {
        int32_t character;

        utf8_next((Str){bytes, n}, &character);
        if (character < 0xa0)
                return; /* C1 */
        switch (character < 0x300 ? GLYPH_NARROW : screen_glyph(screen, (uint32_t)character)) {
        case GLYPH_MARK: append_mark(screen, bytes, n); break;
        case GLYPH_BAD: break;
        default: append_base(screen, bytes, n); break;
        }
}

static void append_ascii(Screen *screen, char c) {
        char set = screen->charsets.g[screen->charsets.gl], bytes[4];
        uint32_t character = (unsigned char)c;

        if (set == '0' && c >= 0x5f && c <= 0x7e)
                character = drawing[c - 0x5f];
        else if (set == 'A' && c == '#')
                character = 0xa3;
        append_base(screen, bytes, utf8_put(bytes, character));
}

/* ---- UTF-8, as the Encoding Standard decodes it ------------------------------------------------- */

static void give_up_character(Screen *screen) {
        screen->open.n = 0;
        append_base(screen, replacement, 3);
}

/* False: the byte does not belong to the open character, which is given up. */
static bool continue_character(Screen *screen, char c) {
        Utf8Open *open = &screen->open;

        if (!utf8_more(open, c)) {
                give_up_character(screen);
                return false;
        }
        if (!open->n_more) {
                append_character(screen, open->bytes, open->n);
                open->n = 0;
        }
        return true;
}

static void take_high(Screen *screen, char c) {
        if (screen->open.n && continue_character(screen, c))
                return;
        if (!utf8_begin(&screen->open, c))
                append_base(screen, replacement, 3);
}

/* ---- runs --------------------------------------------------------------------------------------- */

static bool is_ascii(char c) {
        return c >= 0x20 && c < 0x7f;
}

/* Plain ASCII in the plain set goes in one piece. */
static size_t take_ascii(Screen *screen, Str bytes) {
        size_t room, n = 1;

        if (screen->charsets.g[screen->charsets.gl] != 'B') {
                append_ascii(screen, bytes.data[0]);
                return 1;
        }
        append_base(screen, bytes.data, 1);
        room = (size_t)(SCREEN_TEXT_MAX - MARKS_ROOM - screen->n_text);
        while (n < bytes.n && n <= room && is_ascii(bytes.data[n]))
                n++;
        screen_text_append(screen, bytes.data + 1, n - 1);
        screen->last[0] = bytes.data[n - 1];
        return n;
}

/* Takes text from the front of bytes. 0: what stands there is none. */
size_t screen_take_text(Screen *screen, Str bytes) {
        size_t n = 0;

        while (n < bytes.n) {
                char c = bytes.data[n];

                if ((unsigned char)c >= 0x80) {
                        take_high(screen, c);
                        n++;
                        continue;
                }
                if (screen->open.n)
                        give_up_character(screen);
                if (!is_ascii(c))
                        break;
                n += take_ascii(screen, (Str){bytes.data + n, bytes.n - n});
        }
        return n;
}

void screen_repeat(Screen *screen, unsigned count) {
        unsigned most = (unsigned)(screen->cols * screen->rows);
        size_t n = screen->n_last;
        char last[4];

        memcpy(last, screen->last, sizeof(last));
        for (unsigned i = 0; n && i < MIN(count, most); i++)
                append_base(screen, last, n);
}

/* ---- passing over ------------------------------------------------------------------------------- */

/* Start of a line at column 0, with at least n_lines whole ones behind it; 0 when there is none. */
static size_t line_before(Str text, unsigned n_lines) {
        size_t at = text.n;

        while (at) {
                const char *lf = memrchr(text.data, '\n', at);

                if (!lf)
                        return 0;
                at = (size_t)(lf - text.data);
                if (n_lines > 0)
                        n_lines--;
                else if (at && lf[-1] == '\r')
                        return at + 1;
        }
        return 0;
}

static size_t length_of_text(Str bytes) {
        static const char ends[] = {'\x1b', '\x0e', '\x0f'};

        for (size_t i = 0; i < sizeof(ends); i++) {
                const char *end = memchr(bytes.data, ends[i], bytes.n);
                if (end)
                        bytes.n = (size_t)(end - bytes.data);
        }
        return bytes.n;
}

/* Scrolling is what libvterm is slow at. Of a long text without sequences only the last lines stay: after
 * twice as many line ends as there are rows, nothing before them is left. Returns how many bytes need not be
 * looked at; *ret_n: length of the text. */
size_t screen_pass_over(Screen *screen, Str bytes, size_t *ret_n) {
        bool is_scrolling = screen->top == 0 && screen->bottom == screen->rows && !screen->open.n;
        size_t n = 0;

        *ret_n = length_of_text(bytes);
        if (is_scrolling && *ret_n > SCREEN_TEXT_MAX)
                n = line_before((Str){bytes.data, *ret_n}, 2 * (unsigned)screen->rows);
        if (n)
                screen_send(screen, STR("\r"));
        return n;
}
