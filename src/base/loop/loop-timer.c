/* SPDX-License-Identifier: MIT */
/*
 * The loop's clock and timers. One heap, one timerfd that rings when its top is due: with a frozen clock the
 * heap alone decides, so tests turn time without waiting for it. Not a timeout of the poll call, which the
 * kernel would set up and take down for every request that comes in between.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/loop/loop-internal.h"

static int64_t loop_timer_clock_us(clockid_t id) {
        struct timespec ts;

        clock_gettime(id, &ts);
        return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t loop_now_ms(Loop *loop) {
        return loop->is_frozen ? loop->frozen_ms
                               : loop_timer_clock_us(CLOCK_MONOTONIC) / 1000 + loop->ahead_ms;
}

int64_t loop_wall_us(Loop *loop) {
        return loop->is_frozen ? loop->frozen_wall_us : loop_timer_clock_us(CLOCK_REALTIME);
}

void loop_clock_freeze(Loop *loop, int64_t wall_us) {
        loop->frozen_ms = loop_now_ms(loop);
        loop->frozen_wall_us = wall_us;
        loop->is_frozen = true;
        loop->alarm_ms = INT64_MAX; /* it may still ring, by a clock that does not count any more */
}

void loop_clock_thaw(Loop *loop) {
        loop->ahead_ms = loop->frozen_ms - loop_timer_clock_us(CLOCK_MONOTONIC) / 1000;
        loop->is_frozen = false;
        loop->alarm_ms = INT64_MAX;
}

void loop_clock_advance(Loop *loop, int64_t ms) {
        assert(loop->is_frozen);
        loop->frozen_ms += ms;
        loop->frozen_wall_us += ms * 1000;
}

/* ---- heap ------------------------------------------------------------------------------------ */

static void loop_timer_put(Loop *loop, size_t at, Timer *timer) {
        loop->heap[at] = timer;
        timer->slot = at + 1;
}

static bool is_before(const Timer *a, const Timer *b) {
        return a->due_ms < b->due_ms || (a->due_ms == b->due_ms && a->number < b->number);
}

static void sift_up(Loop *loop, size_t at, Timer *timer) {
        while (at) {
                size_t parent = (at - 1) / 2;
                if (is_before(loop->heap[parent], timer))
                        break;
                loop_timer_put(loop, at, loop->heap[parent]);
                at = parent;
        }
        loop_timer_put(loop, at, timer);
}

static void sift_down(Loop *loop, size_t at, Timer *timer) {
        for (;;) {
                size_t child = at * 2 + 1;
                if (child >= loop->n_heap)
                        break;
                if (child + 1 < loop->n_heap && is_before(loop->heap[child + 1], loop->heap[child]))
                        child++;
                if (is_before(timer, loop->heap[child]))
                        break;
                loop_timer_put(loop, at, loop->heap[child]);
                at = child;
        }
        loop_timer_put(loop, at, timer);
}

static void loop_timer_take_out(Loop *loop, Timer *timer) {
        size_t at = timer->slot - 1;
        Timer *last = loop->heap[--loop->n_heap];

        timer->slot = 0;
        if (last == timer)
                return;
        loop_timer_put(loop, at, last);
        sift_up(loop, at, last);
        sift_down(loop, last->slot - 1, last);
}

/* ---- alarm ----------------------------------------------------------------------------------- */

/* Only wakes the loop: what is due runs before the next wait. */
static void on_alarm(void *user, _unused_ unsigned events) {
        Loop *loop = user;
        uint64_t n_rung;

        (void)!read(loop->alarm_fd, &n_rung, sizeof(n_rung));
        loop->alarm_ms = INT64_MAX;
}

/* Whether the alarm does not ring early enough for the top: not set, or it rang. */
static bool is_unguarded(const Loop *loop) {
        return loop->n_heap && loop->heap[0]->due_ms < loop->alarm_ms;
}

/* Timers set while these run wait for the next turn, even when they are due at once. */
void loop_timers_run(Loop *loop) {
        int64_t now;
        uint64_t end = loop->n_timers_set;

        if (!is_unguarded(loop))
                return;
        now = loop_now_ms(loop);
        while (loop->n_heap && loop->heap[0]->due_ms <= now && loop->heap[0]->number < end) {
                Timer *timer = loop->heap[0];
                loop_timer_take_out(loop, timer);
                timer->fn(timer);
        }
}

/* An alarm that rings too early, for a timer that was moved or cleared, is left: it rings once, and is set
 * anew. None is set for what is due now: the kernel may ring late, on another processor. */
bool loop_timers_arm(Loop *loop) {
        struct itimerspec at = {0};
        int64_t due, ms;

        if (!is_unguarded(loop))
                return false;
        due = loop->heap[0]->due_ms;
        if (due <= loop_now_ms(loop))
                return true;
        if (loop->is_frozen)
                return false;          /* only loop_clock_advance() makes it due */
        ms = due - loop->ahead_ms + 1; /* now_ms is rounded down: never before its time */
        at.it_value = (struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
        if (!timerfd_settime(loop->alarm_fd, TFD_TIMER_ABSTIME, &at, NULL))
                loop->alarm_ms = due;
        return false;
}

int loop_timers_init(Loop *loop) {
        int r;

        loop->alarm_ms = INT64_MAX;
        loop->alarm_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        if (loop->alarm_fd < 0)
                return error_origin(-errno);
        r = loop_fd_open(loop, loop->alarm_fd, on_alarm, loop, &loop->alarm);
        if (r) {
                loop->alarm_fd = close_fd(loop->alarm_fd);
                return error_trace(r);
        }
        loop_fd_watch(loop->alarm, LOOP_READ);
        return 0;
}

void loop_timers_close(Loop *loop) {
        loop->alarm = loop_fd_close(loop->alarm);
        loop->alarm_fd = close_fd(loop->alarm_fd);
}

void loop_timers_deinit(Loop *loop) {
        assert(loop->n_heap == 0);
        free(loop->heap);
}

/* ---- timers ---------------------------------------------------------------------------------- */

void timer_init(Timer *timer, Loop *loop, TimerFn fn) {
        *timer = (Timer){.loop = loop, .fn = fn};
}

static int heap_reserve(Loop *loop) {
        size_t cap = loop->heap_cap ? loop->heap_cap * 2 : 16;
        Timer **heap;

        if (loop->n_heap < loop->heap_cap)
                return 0;
        heap = realloc(loop->heap, cap * sizeof(*heap));
        if (!heap)
                return error_origin(-ENOMEM);
        loop->heap = heap;
        loop->heap_cap = cap;
        return 0;
}

int timer_set(Timer *timer, int64_t after_ms) {
        Loop *loop = timer->loop;
        int r;

        timer_clear(timer);
        r = heap_reserve(loop);
        if (r)
                return error_trace(r);
        timer->due_ms = loop_now_ms(loop) + MAX(after_ms, 0);
        timer->number = loop->n_timers_set++;
        sift_up(loop, loop->n_heap++, timer);
        return 0;
}

void timer_clear(Timer *timer) {
        if (timer->slot)
                loop_timer_take_out(timer->loop, timer);
}
