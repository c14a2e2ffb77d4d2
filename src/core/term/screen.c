/* SPDX-License-Identifier: MIT */
#include "core/term/screen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/macro.h"
#include "core/term/screen-internal.h"

/* ---- talking to libvterm ------------------------------------------------------------------------ */

enum { DAMAGE_COST = 4 }; /* of each change, in cells that are moved with others */

static int on_damage(VTermRect rect, void *user) {
        Screen *screen = user;

        screen->n_budget -=
                DAMAGE_COST + (int64_t)(rect.end_row - rect.start_row) * (rect.end_col - rect.start_col);
        if (!screen->is_peeking)
                screen->last_put = rect;
        return 1;
}

/* Refusing keeps libvterm's state layer from clearing a buffer that was only looked at. */
static int on_property(VTermProp prop, VTermValue *value, void *user) {
        Screen *screen = user;

        (void)value;
        return prop != VTERM_PROP_ALTSCREEN || !screen->is_peeking;
}

static const VTermScreenCallbacks callbacks = {.damage = on_damage, .settermprop = on_property};

static void write_pen(Screen *screen) {
        char sgr[PEN_SGR_MAX];

        if (screen->pen_is_sent)
                return;
        vterm_input_write(screen->vt, sgr, pen_sgr(sgr, &screen->pen, true));
        screen->pen_is_sent = true;
}

void screen_flush(Screen *screen) {
        if (!screen->n_text)
                return;
        write_pen(screen);
        vterm_input_write(screen->vt, screen->text, screen->n_text);
        screen->n_text = screen->n_marks = 0;
        /* The last thing that text damages is the last character. */
        screen->will_wrap = screen->modes.set & MODE_AUTOWRAP && screen->last_put.end_col >= screen->cols;
}

VTermPos screen_cursor(const Screen *screen) {
        VTermPos pos;

        vterm_state_get_cursorpos(screen->state, &pos);
        return pos;
}

static void write_move(Screen *screen, int row, int col) {
        char sequence[32];
        int n;

        row = MIN(MAX(row, 0), screen->rows - 1);
        col = MIN(MAX(col, 0), screen->cols - 1);
        if (screen->modes.set & MODE_ORIGIN)
                row = MAX(row - screen->top, 0);
        n = snprintf(sequence, sizeof(sequence), "\x1b[%d;%dH", row + 1, col + 1);
        vterm_input_write(screen->vt, sequence, (size_t)n);
        screen->will_wrap = false;
        screen->n_last = 0;
}

void screen_move(Screen *screen, int row, int col) {
        screen_flush(screen);
        write_move(screen, row, col);
}

void screen_write(Screen *screen, Str sequences) {
        screen_flush(screen);
        vterm_input_write(screen->vt, sequences.data, sequences.n);
}

/* Whatever changes the grid ends a pending wrap. libvterm keeps it in some cases, with the character gone
 * that made it. */
void screen_send(Screen *screen, Str sequences) {
        screen_flush(screen);
        if (screen->will_wrap) {
                VTermPos pos = screen_cursor(screen);
                write_move(screen, pos.row, pos.col);
        }
        write_pen(screen);
        vterm_input_write(screen->vt, sequences.data, sequences.n);
        screen->n_last = 0;
}

/* ---- life --------------------------------------------------------------------------------------- */

static void *allocate(size_t n, void *user) {
        (void)user;
        return calloc(1, n);
}

static void screen_release(void *block, void *user) {
        (void)user;
        free(block);
}

static VTermAllocatorFunctions allocator = {.malloc = allocate, .free = screen_release};

/* libvterm does not look whether it got memory, so we look before it asks. A cell is less than 40 bytes. */
int screen_probe_memory(int cols, int rows, int n_buffers) {
        void *block = malloc((size_t)cols * (size_t)rows * 40 * (size_t)n_buffers + (16 << 10));

        if (!block)
                return error_origin(-ENOMEM);
        free(block);
        return 0;
}

int screen_enable_alternate(Screen *screen) {
        int r;

        if (screen->has_alternate)
                return 0;
        r = screen_probe_memory(screen->cols, screen->rows, 1);
        if (r)
                return error_trace(r);
        vterm_screen_enable_altscreen(screen->grid, 1);
        screen->has_alternate = true;
        return 0;
}

void screen_forget(Screen *screen) {
        screen->top = 0;
        screen->bottom = screen->rows;
        screen->pen = PEN_NULL;
        screen->pen_is_sent = false;
        screen->charsets = CHARSETS_NULL;
        for (size_t i = 0; i < ARRAY_SIZE(screen->saved); i++)
                screen->saved[i] = (SavedCursor){.charsets = CHARSETS_NULL};
        screen->is_alternate = screen->is_unseen = screen->will_wrap = screen->has_tabs = false;
        screen->n_last = 0;
        screen_reset_tabs(screen, 0);
}

static void screen_start(Screen *screen) {
        screen->vt = vterm_new_with_allocator(screen->rows, screen->cols, &allocator, NULL);
        vterm_set_utf8(screen->vt, 1);
        screen->state = vterm_obtain_state(screen->vt);
        screen->grid = vterm_obtain_screen(screen->vt);
        vterm_screen_set_callbacks(screen->grid, &callbacks, screen);
        vterm_screen_reset(screen->grid, 1);
        screen->probe = vterm_new_with_allocator(1, 8, &allocator, NULL);
        vterm_set_utf8(screen->probe, 1);
        vterm_screen_reset(vterm_obtain_screen(screen->probe), 1);
}

int screen_in_range(unsigned value, int low, int high) {
        return value > (unsigned)high ? high : MAX((int)value, low);
}

int screen_new(Screen **ret, unsigned cols, unsigned rows, const Modes *modes) {
        _cleanup_(screen_freep) Screen *screen = calloc(1, sizeof(*screen));
        int r;

        if (!screen)
                return error_origin(-ENOMEM);
        screen->cols = screen_in_range(cols, SCREEN_COLS_MIN, SCREEN_COLS_MAX);
        screen->rows = screen_in_range(rows, 1, SCREEN_ROWS_MAX);
        r = screen_probe_memory(screen->cols, screen->rows, 1);
        if (r)
                return error_trace(r);
        screen->cells = calloc((size_t)screen->cols, sizeof(*screen->cells));
        if (!screen->cells)
                return error_origin(-ENOMEM);
        screen_start(screen);
        screen_set_budget(screen, INT64_MAX);
        modes_init(&screen->modes);
        screen_forget(screen);
        if (modes)
                screen_set_modes(screen, modes);
        *ret = steal(&screen);
        return 0;
}

Screen *screen_free(Screen *screen) {
        if (!screen)
                return NULL;
        if (screen->vt)
                vterm_free(screen->vt);
        if (screen->probe)
                vterm_free(screen->probe);
        buf_deinit(&screen->replies);
        free(screen->cells);
        free(screen);
        return NULL;
}

void screen_freep(Screen **screen) {
        *screen = screen_free(*screen);
}

/* ---- feeding ------------------------------------------------------------------------------------ */

void screen_set_budget(Screen *screen, int64_t n_cells) {
        screen->n_budget = n_cells;
}

bool screen_is_spent(const Screen *screen) {
        return screen->n_budget <= 0;
}

static void screen_obey(Screen *screen, VtEvent event, char c) {
        if (event == VT_EVENT_NONE)
                return;
        if (event == VT_EVENT_CONTROL) {
                screen_control(screen, c);
                return;
        }
        screen_flush(screen); /* before the modes change under it */
        modes_apply(&screen->modes, event);
        if (event == VT_EVENT_ESCAPE)
                screen_escape(screen);
        else if (event == VT_EVENT_CSI)
                screen_csi(screen);
        else if (event == VT_EVENT_STRING)
                screen_reply_colour(screen);
}

/* One byte, or a run of text. Returns what was taken. */
static size_t feed_some(Screen *screen, Str bytes) {
        VtParser *parser = &screen->modes.parser;
        size_t n = parser->state == VT_GROUND ? screen_take_text(screen, bytes) : 0;
        VtEvent event;

        if (n)
                return n;
        event = vt_next(parser, bytes.data[0]);
        if (event == VT_EVENT_PRINT)
                return 0; /* the sequence was given up: the byte is looked at again, as text */
        screen_obey(screen, event, bytes.data[0]);
        return 1;
}

void screen_feed(Screen *screen, Str bytes) {
        size_t n_tried = 0; /* known to be text that cannot be passed over */

        while (bytes.n && !screen_is_spent(screen)) {
                size_t n = 0;

                if (!n_tried && screen->modes.parser.state == VT_GROUND)
                        n = screen_pass_over(screen, bytes, &n_tried);
                if (!n)
                        n = feed_some(screen, bytes);
                n_tried -= MIN(n, n_tried);
                bytes = (Str){bytes.data + n, bytes.n - n};
        }
}
