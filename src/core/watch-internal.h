#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The parts of a Watch: what is known to be there (WatchTree, on the loop) and what a walk found (WatchWalk,
 * made on the loop, filled on a worker, read on the loop).
 */
#include <sys/inotify.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "core/watch.h"

typedef struct WatchStamp { /* a file that differs in none of these has not changed */
        int64_t mtime_ns, n_bytes;
        uint64_t inode;
} WatchStamp;

typedef struct WatchNode WatchNode;
struct WatchNode {
        WatchNode *next_by_path, *next_by_wd;
        WatchStamp stamp;
        unsigned mark; /* the walk that saw it last */
        int wd;        /* folders: its watch; -1: none */
        bool is_dir;
        size_t n;
        char path[];
};

typedef struct WatchTree {
        WatchNode **by_path, **by_wd;
        size_t n_buckets, n;
} WatchTree;

WatchNode *watch_tree_find(const WatchTree *tree, Str path);
WatchNode *watch_tree_by_wd(const WatchTree *tree, int wd);
WatchNode *watch_tree_add(WatchTree *tree, Str path, bool is_dir); /* NULL without memory */
void watch_tree_set_wd(WatchTree *tree, WatchNode *node, int wd);
/* Takes out `top` and all below it that does not have this mark; the caller frees them. Linked by
 * next_by_path. */
WatchNode *watch_tree_sweep(WatchTree *tree, Str top, unsigned mark);
void watch_tree_deinit(WatchTree *tree);

typedef struct WatchFound {
        WatchStamp stamp;
        int wd;
        bool is_dir;
        size_t path; /* offset in paths, NUL-terminated */
} WatchFound;

typedef struct WatchWalk {
        int fd;                           /* of inotify; not owned */
        Str root;                         /* NUL-terminated */
        Buf starts;                       /* relative paths, each with a NUL */
        bool is_flat, is_cut, is_refused; /* more than n_max; no more watches */
        size_t n_max;
        bool (*is_ignored)(const void *user, Str path, bool is_dir);
        const void *user;
        Buf paths, found; /* of WatchFound */
        int r;
} WatchWalk;

void watch_walk_run(WatchWalk *walk);
void watch_walk_deinit(WatchWalk *walk);
static inline size_t watch_walk_n(const WatchWalk *walk) {
        return walk->found.n / sizeof(WatchFound);
}

WatchStamp watch_stamp(const struct stat *st);
bool watch_stamp_eq(WatchStamp a, WatchStamp b);
