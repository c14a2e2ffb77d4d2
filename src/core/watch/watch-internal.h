#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The parts of a Watch: what is known to be there (WatchTree, on the loop), what a walk found (WatchWalk,
 * made on the loop, filled on a worker, read on the loop), and the WatchHub: one instance of inotify for
 * all watches, of which a user gets few. A folder that several watches look at has one number in it.
 */
#include <sys/inotify.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/siphash.h"
#include "core/watch/watch.h"

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
        SipKey key; /* whoever makes files chooses their names: they must not meet in one bucket */
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

struct Watch {
        Watch *next; /* of the hub */
        WatchHub *hub;
        Loop *loop;
        WatchSpec spec;
        char *root;
        Timer look; /* for a root that is gone */
        WatchTree tree;
        Buf starts;  /* folders to be walked, each with a NUL; empty: none */
        Buf backlog; /* events that came while it walks */
        unsigned mark;
        bool is_walking, is_closed, is_told, is_settled;
        bool is_gone; /* the root is not there */
};

enum { WATCH_BACKLOG_MAX = 256 * 1024 }; /* bytes; more: everything is walked again */

/* watch-hub.c. Made with the first watch of the slot, gone with the last one. */
struct WatchHub {
        WatchHub **slot;
        Loop *loop;
        int fd;
        LoopFd *readable;
        Watch *watches;
        unsigned n_walks;    /* under way: their workers add folders that no tree has yet */
        Buf unused;          /* numbers that no tree had when it was last looked; walks may have them */
        bool is_dispatching; /* watches that are closed stay until it is over */
};

int watch_hub_join(WatchHub **slot, Watch *watch); /* -EMFILE: the kernel grants no more */
void watch_hub_leave(Watch *watch);                /* its tree is empty */
/* A number has left a tree; the kernel gets it back if that was the last one. */
void watch_hub_give_back(WatchHub *hub, int wd);
void watch_hub_begin_walk(WatchHub *hub);
void watch_hub_end_walk(WatchHub *hub);

/* watch-event.c */
void watch_event(Watch *watch, const struct inotify_event *event);
void watch_replay(Watch *watch); /* the backlog */

/* watch.c */
void watch_tell(Watch *watch, WatchEvent event, Str path, bool is_dir);
void watch_trouble(Watch *watch, const char *what);
void watch_forget(Watch *watch, Str top, unsigned mark);
void watch_want_walk(Watch *watch, Str path);
void watch_walk_soon(Watch *watch);
void watch_lose_root(Watch *watch);
void watch_free(Watch *watch);
