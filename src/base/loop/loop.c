/* SPDX-License-Identifier: MIT */
#include "base/loop/loop.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "base/loop/loop-internal.h"

struct LoopFd {
        uv_poll_t poll;
        LoopFdFn fn;
        void *user;
        unsigned events;
};

static void ignore_idle(_unused_ uv_idle_t *handle) {}

static void wake(Loop *loop) {
        (void)uv_idle_start(&loop->keep_awake, ignore_idle);
}

/* Runs what was deferred up to now; what these calls defer again waits for the next turn, so none can starve
 * the loop. */
static void run_deferred(Loop *loop) {
        Deferred *batch = loop->deferred;

        if (batch) {
                batch->link = &batch;
                *loop->deferred_tail = NULL;
                loop->deferred = NULL;
                loop->deferred_tail = &loop->deferred;
        }
        while (batch) {
                Deferred *d = batch;
                batch = d->next;
                if (batch)
                        batch->link = &batch;
                d->link = NULL;
                d->next = NULL;
                d->fn(d);
        }
        for (size_t i = 0; i < loop->n_garbage; i++)
                free(loop->garbage[i]);
        loop->n_garbage = 0;
}

/* What is done before every wait. */
static void on_prepare(uv_prepare_t *handle) {
        Loop *loop = container_of(handle, Loop, prepare);

        loop_timers_run(loop);
        run_deferred(loop);
        if (loop_timers_arm(loop))
                wake(loop);
        else if (!loop->deferred && !loop->is_stopping)
                (void)uv_idle_stop(&loop->keep_awake);
        loop_meter_end(loop);
}

static void loop_on_check(uv_check_t *handle) {
        loop_meter_begin(container_of(handle, Loop, check));
}

/* What was opened is closed, and told so by a last turn. */
static void close_handles(Loop *loop) {
        uv_close((uv_handle_t *)&loop->prepare, NULL);
        uv_close((uv_handle_t *)&loop->check, NULL);
        uv_close((uv_handle_t *)&loop->keep_awake, NULL);
        uv_run(&loop->uv, UV_RUN_DEFAULT);
}

static int open_handles(Loop *loop) {
        int r;

        uv_prepare_init(&loop->uv, &loop->prepare);
        uv_idle_init(&loop->uv, &loop->keep_awake);
        uv_prepare_start(&loop->prepare, on_prepare);
        uv_check_init(&loop->uv, &loop->check);
        uv_check_start(&loop->check, loop_on_check);
        r = loop_timers_init(loop);
        if (!r) {
                r = loop_posts_init(loop);
                if (r)
                        loop_timers_close(loop);
        }
        if (r)
                close_handles(loop);
        return error_trace(r);
}

int loop_new(Loop **ret, Log *log) {
        Loop *loop = calloc(1, sizeof(*loop));
        int r;

        if (!loop)
                return error_origin(-ENOMEM);
        loop->log = log;
        loop->deferred_tail = &loop->deferred;
        loop->slow = (LoopLimited){.n_max = LOOP_SLOW_MAX, .tail = &loop->slow.first};
        loop->heavy = (LoopLimited){.n_max = LOOP_HEAVY_MAX, .tail = &loop->heavy.first};
        TAILQ_INIT(&loop->works);
        r = uv_loop_init(&loop->uv);
        if (r) {
                free(loop);
                return error_origin(r);
        }
        r = open_handles(loop);
        if (r) {
                uv_loop_close(&loop->uv);
                free(loop);
                return error_trace(r);
        }
        *ret = loop;
        return 0;
}

Loop *loop_free(Loop *loop) {
        if (!loop)
                return NULL;
        loop_children_deinit(loop);
        while (loop_posts_run(loop) || loop->deferred || loop->n_garbage)
                run_deferred(loop);
        loop_posts_deinit(loop);
        loop_timers_close(loop);
        close_handles(loop); /* jobs that still ran are done by then, and may have cleared or set timers */
        int r = uv_loop_close(&loop->uv);
        assert(r == 0); /* otherwise somebody left a handle open */
        (void)r;
        loop_timers_deinit(loop);
        free(loop->garbage);
        free(loop);
        return NULL;
}

int loop_run(Loop *loop) {
        loop->is_stopping = false;
        while (!loop->is_stopping)
                uv_run(&loop->uv,
                       UV_RUN_DEFAULT); /* with UV_RUN_ONCE every deferred call costs an idle poll */
        return 0;
}

void loop_stop(Loop *loop) {
        loop->is_stopping = true;
        uv_stop(&loop->uv);
        wake(loop);
}

void loop_turn(Loop *loop) {
        uv_run(&loop->uv, UV_RUN_NOWAIT);
}

void loop_turn_wait(Loop *loop) {
        uv_run(&loop->uv, UV_RUN_ONCE);
}

Log *loop_log(Loop *loop) {
        return loop->log;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static void on_poll(uv_poll_t *handle, int status, int events) {
        LoopFd *watch = container_of(handle, LoopFd, poll);
        unsigned got = 0;

        if (status < 0) {
                got = LOOP_READ | LOOP_WRITE;
                watch->events = 0; /* libuv does not watch it any more: whoever asks again is told again */
        }
        if (events & UV_READABLE)
                got |= LOOP_READ;
        if (events & UV_WRITABLE)
                got |= LOOP_WRITE;
        if (events & UV_DISCONNECT)
                got |= LOOP_HANGUP;
        watch->fn(watch->user, got);
}

int loop_fd_open(Loop *loop, int fd, LoopFdFn fn, void *user, LoopFd **ret) {
        LoopFd *watch = calloc(1, sizeof(*watch));
        int r;

        if (!watch)
                return error_origin(-ENOMEM);
        r = uv_poll_init(&loop->uv, &watch->poll, fd);
        if (r) {
                free(watch);
                return error_origin(r);
        }
        watch->fn = fn;
        watch->user = user;
        *ret = watch;
        return 0;
}

void loop_fd_watch(LoopFd *watch, unsigned events) {
        int uv_events = 0;

        if (events == watch->events)
                return;
        watch->events = events;
        if (!events) {
                uv_poll_stop(&watch->poll);
                return;
        }
        if (events & LOOP_READ)
                uv_events |= UV_READABLE;
        if (events & LOOP_WRITE)
                uv_events |= UV_WRITABLE;
        if (events & LOOP_HANGUP)
                uv_events |= UV_DISCONNECT;
        uv_poll_start(&watch->poll, uv_events, on_poll);
}

static void on_fd_closed(uv_handle_t *handle) {
        free(container_of((uv_poll_t *)handle, LoopFd, poll));
}

LoopFd *loop_fd_close(LoopFd *watch) {
        if (watch)
                uv_close((uv_handle_t *)&watch->poll, on_fd_closed);
        return NULL;
}

/* ---- deferred calls and memory --------------------------------------------------------------- */

void deferred_init(Deferred *deferred, Loop *loop, DeferredFn fn) {
        *deferred = (Deferred){.loop = loop, .fn = fn};
}

void deferred_schedule(Deferred *deferred) {
        Loop *loop = deferred->loop;

        if (deferred->link)
                return;
        deferred->link = loop->deferred_tail;
        deferred->next = NULL;
        *loop->deferred_tail = deferred;
        loop->deferred_tail = &deferred->next;
        wake(loop);
}

void deferred_cancel(Deferred *deferred) {
        if (!deferred->link)
                return;
        *deferred->link = deferred->next;
        if (deferred->next)
                deferred->next->link = deferred->link;
        else if (deferred->loop->deferred_tail == &deferred->next)
                deferred->loop->deferred_tail = deferred->link;
        deferred->link = NULL;
        deferred->next = NULL;
}

void loop_defer_free(Loop *loop, void *memory) {
        if (!memory)
                return;
        if (loop->n_garbage == loop->garbage_cap) {
                size_t cap = loop->garbage_cap ? loop->garbage_cap * 2 : 16;
                void **garbage = realloc(loop->garbage, cap * sizeof(*garbage));
                if (!garbage)
                        return; /* leaking one object is the only safe answer here */
                loop->garbage = garbage;
                loop->garbage_cap = cap;
        }
        loop->garbage[loop->n_garbage++] = memory;
        wake(loop);
}
