/* SPDX-License-Identifier: MIT */
#include "core/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "core/watch-internal.h"

enum { READ_MAX = 64 * 1024 };

struct Watch {
        Loop *loop;
        WatchSpec spec;
        char *root;
        int fd;
        LoopFd *readable;
        Timer look; /* for a root that is gone */
        WatchTree tree;
        Buf starts; /* folders to be walked, each with a NUL; empty: none */
        unsigned mark;
        bool is_walking, is_closed, is_told, is_settled;
        bool is_gone; /* the root is not there */
};

static void walk_soon(Watch *watch);

/* ---- telling --------------------------------------------------------------------------------- */

static void tell(Watch *watch, WatchEvent event, Str path, bool is_dir) {
        if (!watch->is_closed && path.n)
                watch->spec.changed(watch->spec.user, event, path, is_dir);
}

static void trouble(Watch *watch, const char *what) {
        if (watch->is_closed || watch->is_told)
                return;
        watch->is_told = true;
        watch->spec.troubled(watch->spec.user, what);
}

/* Forgets what is at or below top and was not seen by the last walk, and tells that it is gone. */
static void forget(Watch *watch, Str top, unsigned mark) {
        WatchNode *node = watch_tree_sweep(&watch->tree, top, mark), *next;

        for (; node; node = next) {
                next = node->next_by_path;
                if (node->wd >= 0 && watch->fd >= 0)
                        (void)inotify_rm_watch(watch->fd, node->wd);
                tell(watch, WATCH_DELETED, (Str){node->path, node->n}, node->is_dir);
                free(node);
        }
}

/* ---- walks ----------------------------------------------------------------------------------- */

typedef struct Job {
        Watch *watch;
        WatchWalk walk;
} Job;

static void watch_free(Watch *watch) {
        watch_tree_deinit(&watch->tree);
        buf_deinit(&watch->starts);
        close_fd(watch->fd);
        if (watch->spec.released)
                watch->spec.released(watch->spec.user);
        free(watch->root);
        free(watch);
}

static void merge(Watch *watch, const WatchFound *found, Str path) {
        WatchNode *node = watch_tree_find(&watch->tree, path);
        bool is_new = !node, is_changed;

        if (is_new && watch->tree.n >= watch->spec.n_max) {
                trouble(watch, "too many files and folders: not all are watched");
                return;
        }
        if (is_new)
                node = watch_tree_add(&watch->tree, path, found->is_dir);
        if (!node)
                return;
        is_changed = !is_new && !found->is_dir && !watch_stamp_eq(node->stamp, found->stamp);
        node->stamp = found->stamp;
        node->is_dir = found->is_dir;
        node->mark = watch->mark;
        if (found->wd >= 0)
                watch_tree_set_wd(&watch->tree, node, found->wd);
        if (watch->is_settled && (is_new || is_changed))
                tell(watch, is_new ? WATCH_CREATED : WATCH_MODIFIED, path, found->is_dir);
}

static void merge_walk(Watch *watch, const WatchWalk *walk) {
        const WatchFound *found = (const WatchFound *)(const void *)walk->found.data;

        watch->mark++;
        for (size_t i = 0; i < watch_walk_n(walk); i++)
                merge(watch, &found[i], str_from(walk->paths.data + found[i].path));
        if (walk->is_cut)
                trouble(watch, "too many files and folders: not all are watched");
        if (walk->is_refused)
                trouble(watch, "the kernel grants no more watches: not all folders are watched");
        for (size_t at = 0; !walk->r && !walk->is_cut && at < walk->starts.n;) {
                Str start = str_from(walk->starts.data + at);
                forget(watch, start, watch->mark);
                at += start.n + 1;
        }
}

static void lose_root(Watch *watch);

static void job_run(void *user) {
        Job *job = user;

        watch_walk_run(&job->walk);
}

static void finish_walk(Watch *watch, const WatchWalk *walk) {
        bool is_first = !watch->is_settled;

        merge_walk(watch, walk);
        watch->is_settled = true;
        if (!watch->is_closed && !watch_tree_find(&watch->tree, STR_NULL))
                lose_root(watch);
        if (!watch->is_closed && is_first && watch->spec.settled)
                watch->spec.settled(watch->spec.user);
}

static void job_done(void *user) {
        Job *job = user;
        Watch *watch = job->watch;

        if (!watch->is_closed)
                finish_walk(watch, &job->walk);
        watch_walk_deinit(&job->walk);
        free(job);
        watch->is_walking = false; /* not before: the owner may have closed it from a callback */
        if (watch->is_closed)
                watch_free(watch);
        else if (watch->starts.n)
                walk_soon(watch);
        else if (watch->readable)
                loop_fd_watch(watch->readable, LOOP_READ);
}

/* Starts a walk of what is to be walked, if none is under way; nothing is read until it is merged. */
static void walk_soon(Watch *watch) {
        Job *job = watch->is_walking ? NULL : calloc(1, sizeof(*job));

        if (!job)
                return;
        job->watch = watch;
        job->walk = (WatchWalk){.fd = watch->fd,
                                .root = str_from(watch->root),
                                .starts = watch->starts,
                                .is_flat = watch->spec.is_flat,
                                .n_max = watch->spec.n_max,
                                .is_ignored = watch->spec.is_ignored,
                                .user = watch->spec.user};
        watch->starts = BUF_NULL;
        if (loop_work(watch->loop, job_run, job_done, job)) {
                watch->starts = job->walk.starts; /* tried again with the next event */
                free(job);
                return;
        }
        watch->is_walking = true;
        loop_fd_watch(watch->readable, 0);
}

/* The root covers everything else. */
static void want_walk(Watch *watch, Str path) {
        if (watch->starts.n && !watch->starts.data[0])
                return;
        if (!path.n)
                watch->starts.n = 0;
        if (buf_append_str(&watch->starts, path) || buf_append(&watch->starts, "", 1))
                trouble(watch, "no memory: not all folders are watched");
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool stat_path(const Watch *watch, Str path, struct stat *st) {
        char full[PATH_MAX];

        if ((size_t)snprintf(full, sizeof(full), "%s/" STR_FMT, watch->root, STR_ARG(path)) >= sizeof(full))
                return false;
        return !lstat(full, st);
}

static void on_present(Watch *watch, Str path, uint32_t mask) {
        WatchNode *node = watch_tree_find(&watch->tree, path);
        bool is_known = node, is_same;
        struct stat st;

        if (!stat_path(watch, path, &st))
                return; /* its end follows */
        if (!node && watch->tree.n < watch->spec.n_max)
                node = watch_tree_add(&watch->tree, path, S_ISDIR(st.st_mode));
        if (!node) {
                trouble(watch, "too many files and folders: not all are watched");
                return;
        }
        is_same = is_known && watch_stamp_eq(node->stamp, watch_stamp(&st));
        node->stamp = watch_stamp(&st);
        node->is_dir = S_ISDIR(st.st_mode);
        if (node->is_dir && !is_known && !watch->spec.is_flat)
                want_walk(watch, path);
        if (!is_known || (mask & (IN_CREATE | IN_MOVED_TO) && !is_same))
                tell(watch, WATCH_CREATED, path, S_ISDIR(st.st_mode));
        if (is_known && !S_ISDIR(st.st_mode) && (mask & IN_MODIFY || !is_same))
                tell(watch, WATCH_MODIFIED, path, false);
}

static void on_absent(Watch *watch, Str path) {
        struct stat st;

        if (!watch_tree_find(&watch->tree, path))
                return;
        if (stat_path(watch, path, &st) && !S_ISDIR(st.st_mode))
                return; /* something else has its name: that event follows */
        forget(watch, path, watch->mark + 1);
}

static void on_event(Watch *watch, const struct inotify_event *event) {
        const WatchNode *dir = watch_tree_by_wd(&watch->tree, event->wd);
        char path[PATH_MAX];
        int n;

        if (event->mask & IN_Q_OVERFLOW)
                want_walk(watch, STR_NULL);
        if (!dir)
                return;
        if (!event->len) {
                if (!dir->n && event->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED))
                        lose_root(watch);
                return;
        }
        n = snprintf(path, sizeof(path), "%s%s%s", dir->path, dir->n ? "/" : "", event->name);
        if (n >= (int)sizeof(path) ||
            (watch->spec.is_ignored &&
             watch->spec.is_ignored(watch->spec.user, (Str){path, (size_t)n}, event->mask & IN_ISDIR)))
                return;
        if (event->mask & (IN_DELETE | IN_MOVED_FROM))
                on_absent(watch, (Str){path, (size_t)n});
        else
                on_present(watch, (Str){path, (size_t)n}, event->mask);
}

static void on_readable(void *user, _unused_ unsigned events) {
        _Alignas(struct inotify_event) char data[READ_MAX];
        Watch *watch = user;
        ssize_t n = read(watch->fd, data, sizeof(data));
        int fd = watch->fd;

        watch->is_walking = true; /* keeps it alive while the owner may close it */
        for (ssize_t at = 0; at < n && !watch->is_closed && watch->fd == fd;) {
                const struct inotify_event *event = (const void *)(data + at);
                on_event(watch, event);
                at += (ssize_t)(sizeof(*event) + event->len);
        }
        watch->is_walking = false;
        if (watch->is_closed)
                watch_free(watch);
        else if (watch->starts.n)
                walk_soon(watch);
}

/* ---- the root -------------------------------------------------------------------------------- */

static int open_inotify(Watch *watch) {
        int r;

        watch->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        if (watch->fd < 0)
                return error_origin(-errno);
        r = loop_fd_open(watch->loop, watch->fd, on_readable, watch, &watch->readable);
        if (r)
                watch->fd = close_fd(watch->fd);
        return error_trace(r);
}

/* The watches of a folder that was moved would go with it, so they are all given back. */
static void lose_root(Watch *watch) {
        watch->readable = loop_fd_close(watch->readable);
        watch->fd = close_fd(watch->fd);
        watch->starts.n = 0;
        watch->is_gone = true;
        forget(watch, STR_NULL, watch->mark + 1);
        if (!watch->is_closed && timer_set(&watch->look, WATCH_LOOK_MS))
                trouble(watch, "no memory: the folder is not looked for any more");
}

static void on_look(Timer *timer) {
        Watch *watch = container_of(timer, Watch, look);
        struct stat st;

        if (stat(watch->root, &st) || !S_ISDIR(st.st_mode) || open_inotify(watch)) {
                (void)timer_set(timer, WATCH_LOOK_MS);
                return;
        }
        watch->is_gone = false;
        want_walk(watch, STR_NULL);
        walk_soon(watch);
}

/* ---- life ------------------------------------------------------------------------------------ */

int watch_open(Watch **ret, Loop *loop, const WatchSpec *spec) {
        Watch *watch;
        struct stat st;
        int r = 0;

        if (stat(spec->root, &st))
                return error_origin(-errno);
        if (!S_ISDIR(st.st_mode))
                return error_origin(-ENOTDIR);
        watch = calloc(1, sizeof(*watch));
        if (!watch)
                return error_origin(-ENOMEM);
        *watch = (Watch){.loop = loop, .spec = *spec, .root = strdup(spec->root), .fd = -1};
        timer_init(&watch->look, loop, on_look);
        if (!watch->spec.n_max)
                watch->spec.n_max = WATCH_ENTRIES_MAX;
        r = watch->root ? open_inotify(watch) : -ENOMEM;
        if (r) {
                watch->spec.released = NULL; /* it stays the caller's */
                watch_free(watch);
                return error_trace(r);
        }
        want_walk(watch, STR_NULL);
        walk_soon(watch);
        if (!watch->is_walking) {
                watch->spec.released = NULL;
                watch_close(watch);
                return error_origin(-ENOMEM);
        }
        *ret = watch;
        return 0;
}

Watch *watch_close(Watch *watch) {
        if (!watch || watch->is_closed)
                return NULL;
        watch->is_closed = true;
        timer_clear(&watch->look);
        watch->readable = loop_fd_close(watch->readable);
        if (!watch->is_walking)
                watch_free(watch);
        return NULL;
}

size_t watch_n_entries(const Watch *watch) {
        return watch->tree.n;
}

bool watch_is_settled(const Watch *watch) {
        return watch->is_settled && !watch->is_walking && !watch->is_gone;
}

const char *watch_event_name(WatchEvent event) {
        static const char *const names[] = {"create", "modify", "delete"};

        return names[event];
}
