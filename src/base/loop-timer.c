/* SPDX-License-Identifier: MIT */
/*
 * The loop's clock and timers. One heap, one uv timer: with a frozen clock the heap alone decides, so tests
 * turn time without waiting for it.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "base/loop-internal.h"

static int64_t clock_us(clockid_t id) {
        struct timespec ts;

        clock_gettime(id, &ts);
        return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t loop_now_ms(Loop *loop) {
        return loop->is_frozen ? loop->frozen_ms : clock_us(CLOCK_MONOTONIC) / 1000 + loop->ahead_ms;
}

int64_t loop_wall_us(Loop *loop) {
        return loop->is_frozen ? loop->frozen_wall_us : clock_us(CLOCK_REALTIME);
}

void loop_clock_freeze(Loop *loop, int64_t wall_us) {
        loop->frozen_ms = loop_now_ms(loop);
        loop->frozen_wall_us = wall_us;
        loop->is_frozen = true;
}

void loop_clock_thaw(Loop *loop) {
        loop->ahead_ms = loop->frozen_ms - clock_us(CLOCK_MONOTONIC) / 1000;
        loop->is_frozen = false;
        loop->alarm_ms = INT64_MIN;
        loop_timers_arm(loop);
}

void loop_clock_advance(Loop *loop, int64_t ms) {
        assert(loop->is_frozen);
        loop->frozen_ms += ms;
        loop->frozen_wall_us += ms * 1000;
        loop_timers_arm(loop);
}

/* ---- heap ------------------------------------------------------------------------------------ */

static void put(Loop *loop, size_t at, Timer *timer) {
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
                put(loop, at, loop->heap[parent]);
                at = parent;
        }
        put(loop, at, timer);
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
                put(loop, at, loop->heap[child]);
                at = child;
        }
        put(loop, at, timer);
}

static void take_out(Loop *loop, Timer *timer) {
        size_t at = timer->slot - 1;
        Timer *last = loop->heap[--loop->n_heap];

        timer->slot = 0;
        if (last == timer)
                return;
        put(loop, at, last);
        sift_up(loop, at, last);
        sift_down(loop, last->slot - 1, last);
}

/*
 * Timers set while these run wait for the next turn, even when they are due at once. The uv timer must not
 * be set before they are done: libuv runs one that is due again at once, before it looks at any descriptor.
 */
static void on_alarm(uv_timer_t *handle) {
        Loop *loop = container_of(handle, Loop, alarm);
        int64_t now = loop_now_ms(loop);
        uint64_t end = loop->n_timers_set;

        loop->alarm_ms = INT64_MAX;
        loop->is_running_timers = true;
        while (loop->n_heap && loop->heap[0]->due_ms <= now && loop->heap[0]->number < end) {
                Timer *timer = loop->heap[0];
                take_out(loop, timer);
                timer->fn(timer);
        }
        loop->is_running_timers = false;
}

void loop_timers_arm(Loop *loop) {
        int64_t due = loop->n_heap ? loop->heap[0]->due_ms : INT64_MAX;
        int64_t now;

        if (loop->is_running_timers || (due == loop->alarm_ms && !loop->is_frozen))
                return;
        loop->alarm_ms = due;
        if (due == INT64_MAX) {
                uv_timer_stop(&loop->alarm);
                return;
        }
        now = loop_now_ms(loop);
        if (loop->is_frozen && due > now) { /* only loop_clock_advance() makes it due */
                uv_timer_stop(&loop->alarm);
                return;
        }
        uv_update_time(&loop->uv);
        uv_timer_start(&loop->alarm, on_alarm, due > now ? (uint64_t)(due - now) : 0, 0);
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
        loop_timers_arm(loop);
        return 0;
}

void timer_clear(Timer *timer) {
        if (!timer->slot)
                return;
        take_out(timer->loop, timer);
        loop_timers_arm(timer->loop);
}
