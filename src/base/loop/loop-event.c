/* SPDX-License-Identifier: MIT */
/*
 * Signals, children, workers and posts: what reaches the loop from outside its own descriptors.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/loop/loop-internal.h"

/* ---- signals --------------------------------------------------------------------------------- */

struct LoopSignal {
        uv_signal_t uv;
        void (*fn)(void *user);
        void *user;
};

static void on_signal(uv_signal_t *handle, _unused_ int signum) {
        LoopSignal *watch = container_of(handle, LoopSignal, uv);

        watch->fn(watch->user);
}

static void on_signal_closed(uv_handle_t *handle) {
        free(container_of((uv_signal_t *)handle, LoopSignal, uv));
}

int loop_signal_open(Loop *loop, int signum, void (*fn)(void *user), void *user, LoopSignal **ret) {
        LoopSignal *watch = calloc(1, sizeof(*watch));
        int r;

        if (!watch)
                return error_origin(-ENOMEM);
        watch->fn = fn;
        watch->user = user;
        uv_signal_init(&loop->uv, &watch->uv);
        r = uv_signal_start(&watch->uv, on_signal, signum);
        if (r) {
                uv_close((uv_handle_t *)&watch->uv, on_signal_closed);
                return error_origin(r);
        }
        *ret = watch;
        return 0;
}

LoopSignal *loop_signal_close(LoopSignal *watch) {
        if (watch)
                uv_close((uv_handle_t *)&watch->uv, on_signal_closed);
        return NULL;
}

/* A handler in a loop that never runs: as long as libuv has one it leaves the signal alone. */
typedef struct SignalSink {
        uv_loop_t loop;
        uv_signal_t uv;
} SignalSink;

static void on_swallowed(_unused_ uv_signal_t *handle, _unused_ int signum) {}

void loop_signal_swallow(int signum) {
        SignalSink *sink = calloc(1, sizeof(*sink));

        if (sink && !uv_loop_init(&sink->loop) && !uv_signal_init(&sink->loop, &sink->uv) &&
            !uv_signal_start(&sink->uv, on_swallowed, signum))
                return;
        free(sink); /* libuv knows nothing of it */
}

/* ---- children -------------------------------------------------------------------------------- */

struct LoopChild {
        Loop *loop;
        LIST_ENTRY(LoopChild) link; /* is_released: in loop->released */
        bool is_released;
        LoopFd *watch;
        int pidfd;
        pid_t pid;
        void (*fn)(void *user, int status);
        void *user;
};

static void on_child(void *user, _unused_ unsigned events) {
        LoopChild *child = user;
        void (*fn)(void *, int) = child->fn;
        void *fn_user = child->user;
        int status = 0;

        if (waitpid(child->pid, &status, WNOHANG) == 0)
                return; /* not ended after all */
        loop_child_close(child);
        if (fn)
                fn(fn_user, status);
}

int loop_child_open(Loop *loop, pid_t pid, void (*fn)(void *user, int status), void *user, LoopChild **ret) {
        LoopChild *child = calloc(1, sizeof(*child));
        int r;

        if (!child)
                return error_origin(-ENOMEM);
        *child = (LoopChild){.loop = loop,
                             .pid = pid,
                             .fn = fn,
                             .user = user,
                             .pidfd = (int)syscall(SYS_pidfd_open, pid, 0)};
        if (child->pidfd < 0) {
                r = -errno;
                free(child);
                return error_origin(r);
        }
        r = loop_fd_open(loop, child->pidfd, on_child, child, &child->watch);
        if (r) {
                close_fd(child->pidfd);
                free(child);
                return error_trace(r);
        }
        loop_fd_watch(child->watch, LOOP_READ);
        *ret = child;
        return 0;
}

LoopChild *loop_child_close(LoopChild *child) {
        if (!child)
                return NULL;
        if (child->is_released)
                LIST_REMOVE(child, link);
        loop_fd_close(child->watch);
        close_fd(child->pidfd);
        free(child);
        return NULL;
}

LoopChild *loop_child_release(LoopChild *child) {
        if (!child)
                return NULL;
        child->fn = NULL;
        child->is_released = true;
        LIST_INSERT_HEAD(&child->loop->released, child, link);
        return NULL;
}

void loop_children_deinit(Loop *loop) {
        while (!LIST_EMPTY(&loop->released))
                loop_child_close(LIST_FIRST(&loop->released));
}

/* ---- workers --------------------------------------------------------------------------------- */

struct LoopWork {
        uv_work_t uv;
        Loop *loop;
        TAILQ_ENTRY(LoopWork) link;
        LoopWork *next;       /* of those that wait */
        LoopLimited *limited; /* NULL: it runs at once */
        const char *what;
        void (*run)(void *user);
        void (*done)(void *user);
        void *user;
};

/* Some jobs come back at once, some late, so that they also overtake each other. */
static void loop_be_late(unsigned max_ms) {
        uint32_t number = 0;
        struct timespec pause;

        (void)!getrandom(&number, sizeof(number), 0);
        number %= max_ms * 2;
        pause = (struct timespec){.tv_nsec = (long)(number > max_ms ? 0 : number) * 1000000};
        (void)nanosleep(&pause, NULL);
}

void loop_work_late(Loop *loop, unsigned max_ms) {
        loop->late_ms = MIN(max_ms, 999U);
}

static void loop_event_on_work(uv_work_t *req) {
        LoopWork *work = container_of(req, LoopWork, uv);

        work->run(work->user);
        if (work->loop->late_ms)
                loop_be_late(work->loop->late_ms);
}

static void on_work_done(uv_work_t *req, int status);

static int loop_event_submit(LoopWork *work) {
        int r = uv_queue_work(&work->loop->uv, &work->uv, loop_event_on_work, on_work_done);

        if (r)
                return error_origin(r);
        if (work->limited)
                work->limited->n_running++;
        return 0;
}

static void submit_waiting(LoopLimited *limited) {
        while (limited->first && limited->n_running < limited->n_max) {
                LoopWork *work = limited->first;
                limited->first = work->next;
                if (!limited->first)
                        limited->tail = &limited->first;
                (void)loop_event_submit(work); /* it fails for want of a function only */
        }
}

static void on_work_done(uv_work_t *req, _unused_ int status) {
        LoopWork *work = container_of(req, LoopWork, uv);
        Loop *loop = work->loop;

        int64_t since_us = loop_real_us();

        loop->n_work--;
        TAILQ_REMOVE(&loop->works, work, link);
        loop->n_done++;
        if (work->limited) {
                work->limited->n_running--;
                submit_waiting(work->limited);
        }
        work->done(work->user);
        loop_note(loop, "job", NULL, loop_real_us() - since_us);
        free(work);
}

static LoopWork *work_new(Loop *loop, const char *what, void (*run)(void *user), void (*done)(void *user),
                          void *user) {
        LoopWork *work = calloc(1, sizeof(*work));

        if (work)
                *work = (LoopWork){.loop = loop, .what = what, .run = run, .done = done, .user = user};
        return work;
}

static void work_count(Loop *loop, LoopWork *work) {
        loop->n_work++;
        TAILQ_INSERT_TAIL(&loop->works, work, link);
}

int loop_work_as(Loop *loop, const char *what, void (*run)(void *user), void (*done)(void *user),
                 void *user) {
        LoopWork *work = work_new(loop, what, run, done, user);
        int r = work ? loop_event_submit(work) : error_origin(-ENOMEM);

        if (r)
                free(work);
        else
                work_count(loop, work);
        return error_trace(r);
}

static int work_limited(LoopLimited *limited, LoopWork *work) {
        if (!work)
                return error_origin(-ENOMEM);
        work->limited = limited;
        *limited->tail = work;
        limited->tail = &work->next;
        work_count(work->loop, work);
        submit_waiting(limited);
        return 0;
}

int loop_work_slow_as(Loop *loop, const char *what, void (*run)(void *user), void (*done)(void *user),
                      void *user) {
        return work_limited(&loop->slow, work_new(loop, what, run, done, user));
}

int loop_work_heavy_as(Loop *loop, const char *what, void (*run)(void *user), void (*done)(void *user),
                       void *user) {
        return work_limited(&loop->heavy, work_new(loop, what, run, done, user));
}

size_t loop_n_work(Loop *loop) {
        return loop->n_work;
}

const char *loop_work_left(Loop *loop) {
        const LoopWork *oldest = TAILQ_FIRST(&loop->works);

        return oldest ? oldest->what : NULL;
}

uint64_t loop_n_done(Loop *loop) {
        return loop->n_done;
}

/* ---- posts from other threads ---------------------------------------------------------------- */

struct LoopPost {
        LoopPost *next;
        void (*fn)(void *user);
        void *user;
};

static LoopPost *take_posts(Loop *loop) {
        LoopPost *posts;

        pthread_mutex_lock(&loop->post_lock);
        posts = loop->posts;
        loop->posts = NULL;
        loop->post_tail = &loop->posts;
        pthread_mutex_unlock(&loop->post_lock);
        return posts;
}

bool loop_posts_run(Loop *loop) {
        LoopPost *posts = take_posts(loop);
        bool any = posts != NULL;

        while (posts) {
                LoopPost *post = posts;
                posts = post->next;
                post->fn(post->user);
                free(post);
        }
        return any;
}

static void on_async(uv_async_t *handle) {
        (void)loop_posts_run(container_of(handle, Loop, async));
}

int loop_posts_init(Loop *loop) {
        loop->post_tail = &loop->posts;
        pthread_mutex_init(&loop->post_lock, NULL);
        return error_trace(uv_async_init(&loop->uv, &loop->async, on_async));
}

void loop_posts_deinit(Loop *loop) {
        uv_close((uv_handle_t *)&loop->async, NULL);
        pthread_mutex_destroy(&loop->post_lock);
}

int loop_post(Loop *loop, void (*fn)(void *user), void *user) {
        LoopPost *post = malloc(sizeof(*post));

        if (!post)
                return error_origin(-ENOMEM);
        *post = (LoopPost){.fn = fn, .user = user};
        pthread_mutex_lock(&loop->post_lock);
        *loop->post_tail = post;
        loop->post_tail = &post->next;
        pthread_mutex_unlock(&loop->post_lock);
        return error_fold(uv_async_send(&loop->async));
}
