/* SPDX-License-Identifier: MIT */
#include "core/watch/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "core/watch/watch-internal.h"

/* ---- telling --------------------------------------------------------------------------------- */

void watch_tell(Watch *watch, WatchEvent event, Str path, bool is_dir) {
        if (!watch->is_closed && path.n)
                watch->spec.changed(watch->spec.user, event, path, is_dir);
}

void watch_trouble(Watch *watch, const char *what) {
        if (watch->is_closed || watch->is_told)
                return;
        watch->is_told = true;
        watch->spec.troubled(watch->spec.user, what);
}

/* Forgets what is at or below top and was not seen by the last walk, and tells that it is gone. */
void watch_forget(Watch *watch, Str top, unsigned mark) {
        WatchNode *node = watch_tree_sweep(&watch->tree, top, mark), *next;

        for (; node; node = next) {
                next = node->next_by_path;
                if (node->wd >= 0)
                        watch_hub_give_back(watch->hub, node->wd);
                watch_tell(watch, WATCH_DELETED, (Str){node->path, node->n}, node->is_dir);
                free(node);
        }
}

/* ---- walks ----------------------------------------------------------------------------------- */

typedef struct Job {
        Watch *watch;
        WatchWalk walk;
} Job;

/* Its folders are given back, too, if others have none of them. */
static void drop_tree(Watch *watch) {
        WatchNode *node = watch_tree_sweep(&watch->tree, STR_NULL, watch->mark + 1), *next;

        for (; node; node = next) {
                next = node->next_by_path;
                if (node->wd >= 0)
                        watch_hub_give_back(watch->hub, node->wd);
                free(node);
        }
        watch_tree_deinit(&watch->tree);
}

void watch_free(Watch *watch) {
        if (watch->hub) {
                drop_tree(watch);
                watch_hub_leave(watch);
        }
        buf_deinit(&watch->starts);
        buf_deinit(&watch->backlog);
        if (watch->spec.released)
                watch->spec.released(watch->spec.user);
        free(watch->root);
        free(watch);
}

static void watch_take_number(Watch *watch, WatchNode *node, int wd) {
        int old = node->wd;

        watch_tree_set_wd(&watch->tree, node, wd);
        if (old >= 0 && old != wd)
                watch_hub_give_back(watch->hub, old);
}

static void watch_merge(Watch *watch, const WatchFound *found, Str path) {
        WatchNode *node = watch_tree_find(&watch->tree, path);
        bool is_new = !node, is_changed;

        if (is_new && watch->tree.n >= watch->spec.n_max) {
                watch_trouble(watch, "too many files and folders: not all are watched");
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
                watch_take_number(watch, node, found->wd);
        if (watch->is_settled && (is_new || is_changed))
                watch_tell(watch, is_new ? WATCH_CREATED : WATCH_MODIFIED, path, found->is_dir);
}

static void merge_walk(Watch *watch, const WatchWalk *walk) {
        const WatchFound *found = (const WatchFound *)(const void *)walk->found.data;

        watch->mark++;
        for (size_t i = 0; i < watch_walk_n(walk); i++)
                watch_merge(watch, &found[i], str_from(walk->paths.data + found[i].path));
        if (walk->is_cut)
                watch_trouble(watch, "too many files and folders: not all are watched");
        if (walk->is_refused)
                watch_trouble(watch, "the kernel grants no more watches: not all folders are watched");
        for (size_t at = 0; !walk->r && !walk->is_cut && at < walk->starts.n;) {
                Str start = str_from(walk->starts.data + at);
                watch_forget(watch, start, watch->mark);
                at += start.n + 1;
        }
}

static void watch_job_run(void *user) {
        Job *job = user;

        watch_walk_run(&job->walk);
}

static void finish_walk(Watch *watch, const WatchWalk *walk) {
        bool is_first = !watch->is_settled;

        merge_walk(watch, walk);
        watch->is_settled = true;
        if (!watch->is_closed && !watch_tree_find(&watch->tree, STR_NULL))
                watch_lose_root(watch);
        if (!watch->is_closed && is_first && watch->spec.settled)
                watch->spec.settled(watch->spec.user);
}

/* What the walk has watched and the tree did not take. */
static void give_back_rest(Watch *watch, const WatchWalk *walk) {
        const WatchFound *found = (const WatchFound *)(const void *)walk->found.data;

        for (size_t i = 0; i < watch_walk_n(walk); i++)
                if (found[i].wd >= 0)
                        watch_hub_give_back(watch->hub, found[i].wd);
}

static void watch_job_done(void *user) {
        Job *job = user;
        Watch *watch = job->watch;

        if (!watch->is_closed)
                finish_walk(watch, &job->walk);
        give_back_rest(watch, &job->walk);
        watch_hub_end_walk(watch->hub);
        watch_walk_deinit(&job->walk);
        free(job);
        watch_replay(watch);
        watch->is_walking = false; /* not before: the owner may have closed it from a callback */
        if (watch->is_closed)
                watch_free(watch);
        else if (watch->starts.n)
                watch_walk_soon(watch);
}

/* Starts a walk of what is to be walked, if none is under way; events wait until it is merged. */
void watch_walk_soon(Watch *watch) {
        Job *job = watch->is_walking ? NULL : calloc(1, sizeof(*job));

        if (!job)
                return;
        job->watch = watch;
        job->walk = (WatchWalk){.fd = watch->hub->fd,
                                .root = str_from(watch->root),
                                .starts = watch->starts,
                                .is_flat = watch->spec.is_flat,
                                .n_max = watch->spec.n_max,
                                .is_ignored = watch->spec.is_ignored,
                                .user = watch->spec.user};
        watch->starts = BUF_NULL;
        if (loop_work(watch->loop, watch_job_run, watch_job_done, job)) {
                watch->starts = job->walk.starts; /* tried again with the next event */
                free(job);
                return;
        }
        watch->is_walking = true;
        watch_hub_begin_walk(watch->hub);
}

/* The root covers everything else. */
void watch_want_walk(Watch *watch, Str path) {
        if (watch->starts.n && !watch->starts.data[0])
                return;
        if (!path.n)
                watch->starts.n = 0;
        if (buf_append_str(&watch->starts, path) || buf_append(&watch->starts, "", 1))
                watch_trouble(watch, "no memory: not all folders are watched");
}

/* ---- the root -------------------------------------------------------------------------------- */

/* The watches of a folder that was moved would go with it, so they are all given back. */
void watch_lose_root(Watch *watch) {
        watch->starts.n = 0;
        watch->is_gone = true;
        watch_forget(watch, STR_NULL, watch->mark + 1);
        if (!watch->is_closed && timer_set(&watch->look, WATCH_LOOK_MS))
                watch_trouble(watch, "no memory: the folder is not looked for any more");
}

static void watch_on_look(Timer *timer) {
        Watch *watch = container_of(timer, Watch, look);
        struct stat st;

        if (stat(watch->root, &st) || !S_ISDIR(st.st_mode)) {
                (void)timer_set(timer, WATCH_LOOK_MS);
                return;
        }
        watch->is_gone = false;
        watch_want_walk(watch, STR_NULL);
        watch_walk_soon(watch);
}

/* ---- life ------------------------------------------------------------------------------------ */

int watch_open(Watch **ret, WatchHub **hub, Loop *loop, const WatchSpec *spec) {
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
        *watch = (Watch){.loop = loop, .spec = *spec, .root = strdup(spec->root)};
        timer_init(&watch->look, loop, watch_on_look);
        if (!watch->spec.n_max)
                watch->spec.n_max = WATCH_ENTRIES_MAX;
        r = watch->root ? watch_hub_join(hub, watch) : -ENOMEM;
        if (r) {
                watch->spec.released = NULL; /* it stays the caller's */
                watch_free(watch);
                return error_trace(r);
        }
        watch_want_walk(watch, STR_NULL);
        watch_walk_soon(watch);
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
        if (!watch->is_walking && !watch->hub->is_dispatching)
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
