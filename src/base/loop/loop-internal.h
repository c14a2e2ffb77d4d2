#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the loop share. Included by src/base/loop*.c only; nobody else sees libuv.
 */
#include <pthread.h>
#include <sys/queue.h>
#include <uv.h>

#include "base/loop/loop.h"

typedef struct LoopPost LoopPost;
typedef struct LoopWork LoopWork;

typedef struct LoopMeter {
        uint64_t began_ms; /* this turn, in libuv's time; 0: none did */
        int64_t sampled_us, sampled_cpu_us;
        int64_t note_us;
        const char *note_kind, *note_name, *mark;
        LoopHeld longest;
        uint64_t n_held;
} LoopMeter;

/* Jobs of a kind of which only so many run at a time. */
typedef struct LoopLimited {
        size_t n_max, n_running;
        LoopWork *first, **tail; /* those that wait for one of these to end */
} LoopLimited;

struct Loop {
        uv_loop_t uv;
        Log *log;
        bool is_stopping;

        /* Clock: the real one, or a frozen one that tests turn. */
        bool is_frozen;
        int64_t frozen_ms, frozen_wall_us;
        int64_t ahead_ms; /* of the real one, after it was turned and runs again */

        /* Timers: a binary heap by due_ms and number; the alarm rings for its top. */
        Timer **heap;
        size_t n_heap, heap_cap;
        int alarm_fd; /* timerfd */
        LoopFd *alarm;
        int64_t alarm_ms;      /* when it rings, or earlier than the top; INT64_MAX: not set */
        uint64_t n_timers_set; /* ever */

        /* Deferred calls and memory: run in the prepare phase, right before the loop waits. */
        Deferred *deferred;
        Deferred **deferred_tail;
        void **garbage;
        size_t n_garbage, garbage_cap;
        uv_prepare_t prepare;
        uv_check_t check; /* the callbacks of a poll are over */
        LoopMeter meter;
        uv_idle_t
                keep_awake; /* active while something is deferred: the loop then polls instead of waiting */

        /* Posts from other threads. */
        uv_async_t async;
        pthread_mutex_t post_lock;
        LoopPost *posts, **post_tail;

        unsigned late_ms; /* tests: a job comes back up to so much later than it was done */
        size_t n_work;
        TAILQ_HEAD(, LoopWork) works; /* all of them, oldest first */
        uint64_t n_done;              /* jobs, ever */
        LoopLimited slow, heavy;
        LIST_HEAD(, LoopChild) released; /* children that are only to be reaped */
};

int loop_timers_init(Loop *loop);
void loop_timers_run(Loop *loop); /* those that are due */
bool loop_timers_arm(Loop *loop); /* sets the alarm for the top of the heap; true: that is due already */
void loop_timers_close(Loop *loop);
void loop_timers_deinit(Loop *loop);   /* after the last job was done */
void loop_children_deinit(Loop *loop); /* those that were released and still run */
void loop_meter_begin(Loop *loop);
void loop_meter_end(Loop *loop);
int loop_posts_init(Loop *loop);
bool loop_posts_run(Loop *loop); /* returns whether there were any */
void loop_posts_deinit(Loop *loop);
