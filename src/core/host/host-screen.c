/* SPDX-License-Identifier: MIT */
/*
 * What a viewer who has lost track needs: the screen as it is now, made from the recent output when somebody
 * asks. And what a program needs that asks its terminal something while no terminal is there: an answer.
 *
 * A screen of half a million cells takes a tenth of a second to draw, so both are done on a worker, from a
 * copy of what they are made of, when their turn has come (wire/turns.h): a screen in that of the client
 * that asked first, an answer in that of the process. Who asks for a screen before that gets the same one.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "base/macro.h"
#include "core/host/host-internal.h"
#include "core/term/screen.h"

/* Bytes of output that the screen is made from: a few milliseconds; for an answer, which may be asked for
 * often, one or two; in how many bytes before that questions are answered. */
enum { SNAPSHOT_TAIL = 128 << 10, ANSWER_TAIL = 32 << 10, ANSWER_ASKED = 64 << 10 };
/* Cells that may be changed on the way: some milliseconds. Output that scrolls a large screen again and
 * again takes more; then a sixteenth of it has to do. */
enum { DRAW_CELLS = 4 << 20, DRAW_LESS = 16 };

/* What a screen is drawn from. */
typedef struct Still {
        Buf bytes;
        ShimSize sizes[SHIM_SIZES + 1]; /* position: in bytes, up to which this size holds */
        unsigned n_sizes;
        unsigned cols, rows; /* at the end */
        bool is_whole;       /* nothing was printed before */
        Modes modes;         /* at the end; of an answer: before what is asked */
        size_t n_asked;      /* of an answer: bytes at the end in which something is asked */
} Still;

struct Drawing {
        Daemon *daemon;
        Hosted *hosted; /* until the still is taken, and of an answer; NULL: it is gone */
        bool is_answer;
        bool is_away; /* with a worker */
        bool has_still;
        int r; /* of taking it */
        Turn turn;
        LIST_HEAD(, ScreenWait) waits;
        HostFrame frame; /* of the first that waited */
        Still still;
        ScreenDrawn drawn;
        Buf answer;
        int64_t took_us;
};

static unsigned or_usual(unsigned side, unsigned usual) {
        return side ? side : usual;
}

static int64_t host_screen_cpu_us(void) {
        struct timespec ts;

        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
        return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* ---- the still, on the loop ------------------------------------------------------------------- */

static int still_take(Still *still, const Hosted *hosted, Str bytes, uint64_t begin) {
        uint64_t end = begin + bytes.n, until;
        int r = buf_append_str(&still->bytes, bytes);

        if (r)
                return error_trace(r);
        for (uint64_t at = begin; at < end && still->n_sizes < ARRAY_SIZE(still->sizes); at = until) {
                ShimSize size = hosted_size_at(hosted, at, &until);

                until = MIN(until, end);
                size.position = until - begin;
                still->sizes[still->n_sizes++] = size;
        }
        still->cols = hosted->cols;
        still->rows = hosted->rows;
        still->is_whole = !begin;
        return 0;
}

static int drawing_take_screen(Drawing *drawing, const Hosted *hosted) {
        Str bytes = hosted_scrollback(hosted, SNAPSHOT_TAIL);

        drawing->still.modes = hosted->modes;
        drawing->drawn.position = hosted->shown_out;
        memcpy(drawing->drawn.id, hosted->id, sizeof(drawing->drawn.id));
        return still_take(&drawing->still, hosted, bytes, hosted->shown_out - bytes.n);
}

static int drawing_take_answer(Drawing *drawing, Hosted *hosted) {
        HostedAsked *asked = &hosted->asked;
        uint64_t n_later = hosted->shown_out - asked->until;
        uint64_t n_asked = MIN(asked->until - asked->from, (uint64_t)ANSWER_ASKED);
        Str bytes = hosted_recent(hosted, (size_t)(ANSWER_TAIL + n_asked + n_later));

        bytes.n -= MIN(bytes.n, (size_t)n_later);
        drawing->still.modes = asked->modes;
        drawing->still.n_asked = MIN(bytes.n, (size_t)n_asked);
        asked->from = asked->until;
        asked->is_open = false;
        return still_take(&drawing->still, hosted, bytes, asked->until - bytes.n);
}

static void drawing_take_still(Drawing *drawing) {
        Hosted *hosted = drawing->hosted;

        drawing->r = drawing->is_answer ? drawing_take_answer(drawing, hosted)
                                        : drawing_take_screen(drawing, hosted);
        drawing->has_still = true;
        if (drawing->is_answer)
                return;
        hosted->drawing = NULL; /* who asks from now on wants what comes after it */
        drawing->hosted = NULL;
}

/* ---- drawing, on a worker --------------------------------------------------------------------- */

/* From byte `from` to byte `to` of the still, each part at the size at which it was printed. */
static void still_feed(const Still *still, Screen *screen, size_t from, size_t to) {
        size_t at = from;

        for (unsigned i = 0; i < still->n_sizes && at < to; i++) {
                const ShimSize *size = &still->sizes[i];
                size_t until = MIN((size_t)size->position, to);

                if (until <= at)
                        continue;
                (void)screen_resize(screen, or_usual(size->cols, 80), or_usual(size->rows, 24));
                screen_feed(screen, (Str){still->bytes.data + at, until - at});
                at = until;
        }
}

static int still_start(const Still *still, size_t from, Screen **ret) {
        unsigned cols = still->cols, rows = still->rows;
        int r;

        for (unsigned i = still->n_sizes; i-- && still->sizes[i].position > from;) {
                cols = still->sizes[i].cols;
                rows = still->sizes[i].rows;
        }
        r = screen_new(ret, or_usual(cols, 80), or_usual(rows, 24), NULL);
        if (!r)
                screen_set_budget(*ret, DRAW_CELLS);
        return error_trace(r);
}

static int still_draw(const Still *still, size_t from, Screen **ret) {
        Screen *screen;
        int r = still_start(still, from, &screen);

        if (r)
                return error_trace(r);
        still_feed(still, screen, from, still->bytes.n);
        r = screen_resize(screen, or_usual(still->cols, 80), or_usual(still->rows, 24));
        *ret = r ? screen_free(screen) : screen;
        return error_trace(r);
}

static int still_snapshot(const Still *still, Buf *out) {
        Screen *screen = NULL;
        size_t n = still->bytes.n;
        int r = still_draw(still, 0, &screen);

        while (!r && screen_is_spent(screen) && n) {
                screen = screen_free(screen);
                n /= DRAW_LESS;
                r = still_draw(still, still->bytes.n - n, &screen);
        }
        if (r)
                return error_trace(r);
        screen_set_modes(screen, &still->modes); /* switched on before the part that was fed */
        r = screen_snapshot(screen, out);
        screen_free(screen);
        return error_trace(r);
}

/* The replies to what is asked in the last bytes. */
static int still_replies(const Still *still, size_t from, Buf *out, bool *ret_is_spent) {
        size_t asked = MAX(still->bytes.n - still->n_asked, from);
        Screen *screen;
        int r = still_start(still, from, &screen);

        if (r)
                return error_trace(r);
        still_feed(still, screen, from, asked);
        if (from || !still->is_whole)
                screen_set_modes(screen, &still->modes); /* switched on before the part that was fed */
        r = screen_take_replies(screen, out);            /* those of old times */
        out->n = 0;
        still_feed(still, screen, asked, still->bytes.n);
        if (!r)
                r = screen_take_replies(screen, out);
        *ret_is_spent = screen_is_spent(screen);
        screen_free(screen);
        return error_trace(r);
}

static void drawing_run(void *user) {
        Drawing *drawing = user;
        const Still *still = &drawing->still;
        int64_t since_us = host_screen_cpu_us();
        bool is_spent = true;
        int r = 0;

        if (!drawing->is_answer) {
                if (!still_snapshot(still, &drawing->drawn.text)) {
                        drawing->drawn.output.bytes = buf_str(&drawing->drawn.text);
                        (void)output_framed(&drawing->drawn.output, drawing->frame);
                }
        } else
                for (size_t n = still->bytes.n; !r && is_spent && n; n /= DRAW_LESS) {
                        drawing->answer.n = 0;
                        r = still_replies(still, still->bytes.n - n, &drawing->answer, &is_spent);
                }
        if (r)
                drawing->answer.n = 0;
        drawing->took_us = host_screen_cpu_us() - since_us;
}

/* ---- its life, on the loop -------------------------------------------------------------------- */

static void drawing_free(Drawing *drawing) {
        turns_leave(&drawing->daemon->turns, &drawing->turn);
        if (drawing->hosted && !drawing->is_answer)
                drawing->hosted->drawing = NULL;
        else if (drawing->hosted)
                drawing->hosted->asked.drawing = NULL;
        buf_deinit(&drawing->still.bytes);
        buf_deinit(&drawing->answer);
        output_deinit(&drawing->drawn.output);
        buf_deinit(&drawing->drawn.text);
        free(drawing);
}

/* One that does not read its input gets no more. */
static void drawing_give_answer(Drawing *drawing) {
        Hosted *hosted = drawing->hosted;

        if (hosted && drawing->answer.n)
                (void)hosted_put_input(hosted, buf_str(&drawing->answer));
}

static void drawing_done(void *user) {
        Drawing *drawing = user;
        Hosted *asked = drawing->is_answer ? drawing->hosted : NULL;

        if (drawing->is_away)
                turns_come_back(&drawing->daemon->turns, drawing->turn.peer, drawing->took_us);
        drawing_give_answer(drawing);
        while (!LIST_EMPTY(&drawing->waits)) {
                ScreenWait *wait = LIST_FIRST(&drawing->waits);

                screen_wait_leave(wait);
                wait->drawn(wait, &drawing->drawn);
        }
        drawing_free(drawing);
        if (asked)
                hosted_answer(asked); /* more was asked meanwhile */
}

static void drawing_on_turn(Turn *turn) {
        Drawing *drawing = container_of(turn, Drawing, turn);
        Daemon *daemon = drawing->daemon;

        if (!drawing->has_still)
                drawing_take_still(drawing);
        if (!drawing->r && !loop_work(daemon->loop, drawing_run, drawing_done, drawing)) {
                drawing->is_away = true;
                turns_go_away(&daemon->turns);
        } else
                drawing_done(drawing); /* without memory there is nothing to show */
}

static Drawing *drawing_new(Hosted *hosted, uint32_t peer, bool is_answer) {
        Drawing *drawing = calloc(1, sizeof(*drawing));

        if (!drawing)
                return NULL;
        drawing->daemon = hosted->host->daemon;
        drawing->hosted = hosted;
        drawing->is_answer = is_answer;
        drawing->turn = (Turn){.peer = peer, .is_long = true, .run = drawing_on_turn};
        turns_wait(&hosted->host->daemon->turns, &drawing->turn);
        return drawing;
}

/* ---- screens ---------------------------------------------------------------------------------- */

int screen_wait(ScreenWait *wait, Hosted *hosted, uint32_t peer) {
        Drawing *drawing = hosted->drawing;

        if (!drawing) {
                drawing = hosted->drawing = drawing_new(hosted, peer, false);
                if (!drawing)
                        return error_origin(-ENOMEM);
                drawing->frame = wait->frame;
        }
        wait->drawing = drawing;
        LIST_INSERT_HEAD(&drawing->waits, wait, link);
        return 0;
}

void screen_wait_leave(ScreenWait *wait) {
        Drawing *drawing = wait->drawing;

        if (!drawing)
                return;
        LIST_REMOVE(wait, link);
        wait->drawing = NULL;
        if (LIST_EMPTY(&drawing->waits) && drawing->turn.is_waiting)
                drawing_free(drawing);
}

/* ---- answers ---------------------------------------------------------------------------------- */

/* One at a time, so that they stay in order. */
void hosted_answer(Hosted *hosted) {
        HostedAsked *asked = &hosted->asked;

        if (asked->is_open && !asked->drawing)
                asked->drawing = drawing_new(hosted, (uint32_t)hosted->pid, true);
}

void hosted_follow(Hosted *hosted, Str bytes, bool may_answer) {
        HostedAsked *asked = &hosted->asked;
        Modes before;

        if (!may_answer || hosted->n_terminals || hosted->kind != SHIM_PTY) {
                modes_feed(&hosted->modes, bytes);
                return;
        }
        before = hosted->modes;
        modes_feed(&hosted->modes, bytes);
        if (hosted->modes.n_queries == before.n_queries)
                return;
        if (!asked->is_open) {
                asked->is_open = true;
                asked->from = hosted->shown_out - bytes.n;
                asked->modes = before;
        }
        asked->until = hosted->shown_out;
        hosted_answer(hosted);
}

void hosted_forget_drawings(Hosted *hosted) {
        Drawing *answer = hosted->asked.drawing;

        if (hosted->drawing)
                drawing_take_still(hosted->drawing);
        if (answer && answer->is_away)
                answer->hosted = NULL;
        else if (answer)
                drawing_free(answer);
        hosted->asked = (HostedAsked){0};
}
