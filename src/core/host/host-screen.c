/* SPDX-License-Identifier: MIT */
/*
 * What a viewer who has lost track needs: the screen as it is now, made from the recent output when somebody
 * asks. And what a program needs that asks its terminal something while no terminal is there: an answer.
 */
#include "base/error.h"
#include "base/macro.h"
#include "core/host/host-internal.h"
#include "core/host/screen.h"

/* Bytes of output that the screen is made from: a few milliseconds; for an answer, which may be asked for
 * often, one or two. */
enum { SNAPSHOT_TAIL = 128 << 10, ANSWER_TAIL = 32 << 10 };
/* Cells that may be changed on the way: some milliseconds. Output that scrolls a large screen again and
 * again takes more; then a sixteenth of it has to do. */
enum { DRAW_CELLS = 4 << 20, DRAW_LESS = 16 };

static Str less_of(Str bytes) {
        size_t n = bytes.n / DRAW_LESS;

        return (Str){bytes.data + (bytes.n - n), n};
}

/* The replies to what is asked in the last n bytes. before: the modes in front of them. */
static int replies_in(const Hosted *hosted, const Modes *before, Str all, size_t n, Buf *out,
                      bool *ret_is_spent) {
        Str old = {all.data, all.n - MIN(n, all.n)};
        Screen *screen;
        int r = screen_new(&screen, hosted->cols ? hosted->cols : 80, hosted->rows ? hosted->rows : 24,
                           NULL);

        if (r)
                return error_trace(r);
        screen_set_budget(screen, DRAW_CELLS);
        screen_feed(screen, old);
        if (hosted->shown_out > all.n)
                screen_set_modes(screen, before); /* switched on before the part that was fed */
        r = screen_take_replies(screen, out);     /* those of old times */
        out->n = 0;
        screen_feed(screen, (Str){all.data + old.n, all.n - old.n});
        if (!r)
                r = screen_take_replies(screen, out);
        *ret_is_spent = screen_is_spent(screen);
        screen_free(screen);
        return error_trace(r);
}

static int replies(const Hosted *hosted, const Modes *before, size_t n, Buf *out) {
        Str all = hosted_recent(hosted, ANSWER_TAIL + n);
        bool is_spent = true;
        int r = 0;

        for (; !r && is_spent && all.n; all = less_of(all)) {
                out->n = 0;
                r = replies_in(hosted, before, all, n, out, &is_spent);
        }
        return error_trace(r);
}

void hosted_follow(Hosted *hosted, Str bytes, bool may_answer) {
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        Modes before;

        if (!may_answer || hosted->n_terminals || hosted->kind != SHIM_PTY) {
                modes_feed(&hosted->modes, bytes);
                return;
        }
        before = hosted->modes;
        modes_feed(&hosted->modes, bytes);
        if (hosted->modes.n_queries != before.n_queries && !replies(hosted, &before, bytes.n, &out) && out.n)
                (void)host_write(hosted, buf_str(&out)); /* one that does not read its input gets no more */
}

static unsigned or_usual(unsigned side, unsigned usual) {
        return side ? side : usual;
}

/* Each part at the size at which it was printed. */
static int host_screen_draw(const Hosted *hosted, Str bytes, Screen **ret) {
        uint64_t begin = hosted->shown_out - bytes.n, until;
        ShimSize size = hosted_size_at(hosted, begin, &until);
        Screen *screen;
        int r = screen_new(&screen, or_usual(size.cols, 80), or_usual(size.rows, 24), NULL);

        if (r)
                return error_trace(r);
        screen_set_budget(screen, DRAW_CELLS);
        for (uint64_t at = begin; at < hosted->shown_out; at = until) {
                size = hosted_size_at(hosted, at, &until);
                until = MIN(until, hosted->shown_out);
                (void)screen_resize(screen, or_usual(size.cols, 80), or_usual(size.rows, 24));
                screen_feed(screen, (Str){bytes.data + (at - begin), (size_t)(until - at)});
        }
        r = screen_resize(screen, or_usual(hosted->cols, 80), or_usual(hosted->rows, 24));
        *ret = r ? screen_free(screen) : screen;
        return error_trace(r);
}

static int host_screen_snapshot(const Hosted *hosted, Str bytes, Buf *out) {
        Screen *screen = NULL;
        int r = host_screen_draw(hosted, bytes, &screen);

        while (!r && screen_is_spent(screen) && bytes.n) {
                screen = screen_free(screen);
                bytes = less_of(bytes);
                r = host_screen_draw(hosted, bytes, &screen);
        }
        if (r)
                return error_trace(r);
        screen_set_modes(screen, &hosted->modes); /* switched on before the part that was fed */
        r = screen_snapshot(screen, out);
        screen_free(screen);
        return error_trace(r);
}

void hosted_forget_snapshot(Hosted *hosted) {
        deferred_cancel(&hosted->forget);
        buf_deinit(&hosted->drawn);
}

/* Of many viewers that have lost track some come back in the same turn, at the end of a process all: it is
 * drawn once for them. */
int hosted_snapshot(Hosted *hosted, Buf *out) {
        Str bytes = hosted_scrollback(hosted, SNAPSHOT_TAIL);
        HostedDrawn of = {hosted->shown_out, bytes.n, hosted->cols, hosted->rows};
        int r;

        if (!hosted->drawn.n || memcmp(&of, &hosted->drawn_of, sizeof(of)) != 0) {
                hosted_forget_snapshot(hosted);
                r = host_screen_snapshot(hosted, bytes, &hosted->drawn);
                if (r) {
                        hosted_forget_snapshot(hosted);
                        return error_trace(r);
                }
                hosted->drawn_of = of;
                deferred_schedule(&hosted->forget);
        }
        r = buf_append_str(out, buf_str(&hosted->drawn));
        return error_trace(r);
}
