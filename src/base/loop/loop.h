#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Loop: the one thread that owns all state, on top of libuv. Nothing called from it may block.
 *
 * This header is all that the rest of the tree knows of the loop: descriptors, timers, deferred calls,
 * signals, children, workers and posts from other threads. After a close or cancel returns, the callback
 * never runs again. Time comes from the loop's clock, which tests can stop and turn. No wake-up happens
 * unless something is due, or was before it was cleared or moved.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macro.h"

typedef struct Log Log;
typedef struct Loop Loop;

int loop_new(Loop **ret, Log *log);
Loop *loop_free(Loop *loop); /* every handle must have been closed */
int loop_run(Loop *loop);    /* until loop_stop() */
void loop_stop(Loop *loop);
void loop_turn(Loop *loop);      /* one turn without waiting, for tests */
void loop_turn_wait(Loop *loop); /* one that waits until something happens, for tests */
Log *loop_log(Loop *loop);

/* Clock. */
int64_t loop_now_ms(Loop *loop);                     /* monotonic */
int64_t loop_wall_us(Loop *loop);                    /* since 1970 */
void loop_clock_freeze(Loop *loop, int64_t wall_us); /* from now on time stands still … */
void loop_clock_thaw(Loop *loop);                    /* … or runs again, from where it stands */
void loop_clock_advance(Loop *loop, int64_t ms); /* … and moves when told; due timers run in the next turn */

/* Descriptors: level-triggered readiness. */
typedef struct LoopFd LoopFd;
enum {
        LOOP_READ = 1,
        LOOP_WRITE = 2,
        LOOP_HANGUP = 4, /* the other side has closed, or shut down its sending */
};
typedef void (*LoopFdFn)(void *user, unsigned events); /* an error or hang-up counts as both */
int loop_fd_open(Loop *loop, int fd, LoopFdFn fn, void *user, LoopFd **ret); /* does not own fd */
void loop_fd_watch(LoopFd *watch, unsigned events);                          /* 0: none */
LoopFd *loop_fd_close(LoopFd *watch); /* before the fd is closed; NULL is fine; returns NULL */

/* Timers: embedded, one shot, armed again from their callback if wanted. */
typedef struct Timer Timer;
typedef void (*TimerFn)(Timer *timer);
struct Timer {
        Loop *loop;
        TimerFn fn;
        int64_t due_ms;
        uint64_t number; /* order of setting: of equal times, first set is first run */
        size_t slot;     /* position in the heap + 1; 0: not armed */
};
void timer_init(Timer *timer, Loop *loop, TimerFn fn);
int timer_set(Timer *timer, int64_t after_ms); /* arms or moves; 0 or -ENOMEM */
void timer_clear(Timer *timer);
static inline bool timer_is_set(const Timer *timer) {
        return timer->slot != 0;
}

/* Deferred calls: embedded, run once, after the callbacks of this turn and before the loop waits again. */
typedef struct Deferred Deferred;
typedef void (*DeferredFn)(Deferred *deferred);
struct Deferred {
        Loop *loop;
        DeferredFn fn;
        Deferred *next, **link; /* link != NULL: scheduled */
};
void deferred_init(Deferred *deferred, Loop *loop, DeferredFn fn);
void deferred_schedule(Deferred *deferred); /* once; scheduling again before it ran changes nothing */
void deferred_cancel(Deferred *deferred);

/* Frees memory after the current callbacks are done: for objects that a callback of their own destroys. */
void loop_defer_free(Loop *loop, void *memory);

/* Signals. */
typedef struct LoopSignal LoopSignal;
int loop_signal_open(Loop *loop, int signum, void (*fn)(void *user), void *user, LoopSignal **ret);
LoopSignal *loop_signal_close(LoopSignal *watch);
/* From now on until the process ends this signal does nothing. Unlike SIG_IGN behind loop_signal_close(), it leaves
 * no instant in which it would end the process. */
void loop_signal_swallow(int signum);

/* Children, by pidfd. fn runs once, when the child has ended and was reaped; status as from waitpid(2). */
typedef struct LoopChild LoopChild;
int loop_child_open(Loop *loop, pid_t pid, void (*fn)(void *user, int status), void *user, LoopChild **ret);
LoopChild *loop_child_close(LoopChild *child);   /* stops watching; does not signal or reap */
LoopChild *loop_child_release(LoopChild *child); /* nobody is told of its end, but it is reaped */

/* Worker pool: run() on another thread, then done() on the loop. what: its name, for loop_work_left(); not copied. */
int loop_work_as(Loop *loop, const char *what, void (*run)(void *user), void (*done)(void *user),
                 void *user);
#define loop_work(loop, run, done, user) loop_work_as(loop, #run, run, done, user)
/* The same for jobs that wait for others: for a name server, for processes that end. Only LOOP_SLOW_MAX of
 * them run at a time, the others wait in order, so that those that only want the disk have threads left. */
enum { LOOP_SLOW_MAX = 2 };
int loop_work_slow_as(Loop *loop, const char *what, void (*run)(void *user), void (*done)(void *user),
                      void *user);
#define loop_work_slow(loop, run, done, user) loop_work_slow_as(loop, #run, run, done, user)
/* The same for jobs that compute for long: over megabytes that somebody sent. However many of these there are,
 * a job that only wants the disk does not wait for them. */
enum { LOOP_HEAVY_MAX = 1 };
int loop_work_heavy_as(Loop *loop, const char *what, void (*run)(void *user), void (*done)(void *user),
                       void *user);
#define loop_work_heavy(loop, run, done, user) loop_work_heavy_as(loop, #run, run, done, user)
/* For tests: half of the jobs come back up to so many milliseconds late. */
void loop_work_late(Loop *loop, unsigned max_ms);
size_t loop_n_work(Loop *loop); /* jobs not done yet, of all kinds */
/* What the oldest of them is called; NULL: there is none. */
const char *loop_work_left(Loop *loop);
uint64_t loop_n_done(Loop *loop); /* … and those that were, ever */

/* How long it is held: a turn is what happens between two waits. Of those that took longer than LOOP_LONG_US
 * the one is kept that took most of the processor's time, which other programs on the machine do not change.
 */
enum {
        LOOP_LONG_US = 5000,
        LOOP_HELD_US = 20000, /* nothing should take longer: such turns are counted */
};
typedef struct LoopHeld {
        int64_t cpu_us, wall_us;
        const char *kind; /* static */
        char name[64];    /* may be empty */
} LoopHeld;
const LoopHeld *loop_longest(const Loop *loop); /* NULL: none was long */
uint64_t loop_n_held(const Loop *loop);
int64_t loop_real_us(void); /* of the monotonic clock itself, which no test turns */
/* What has just taken so long; both texts outlive the turn. The one that explains most of the turn is kept.
 */
void loop_note(Loop *loop, const char *kind, const char *name, int64_t us);
void loop_mark(Loop *loop, const char *name); /* what this turn is about, if nobody notes more */

/* The only call that other threads may make: fn(user) will run on the loop. */
int loop_post(Loop *loop, void (*fn)(void *user), void *user);
