#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Watch: tells what changes in a folder and everything below it, by inotify. New folders are followed,
 * symbolic links are not. It says nothing about what was there when it began.
 *
 * Walks run on a worker; events that come meanwhile are kept. All watches share one instance of inotify, and
 * so its queue: when the kernel lost some (the queue was full) every watch walks all of its own again and
 * tells the differences. A root that is deleted or moved
 * away is told as deleted with all that was in it; from then on it is looked for every WATCH_LOOK_MS, and
 * told as created when it is there again.
 *
 * Bounds: n_max files and folders. What is found beyond them, or beyond the number of watches that the
 * kernel grants, is not watched; troubled() says so once. Paths are relative to the root and as the file
 * system spells them, which need not be UTF-8. Owned by whoever opened it.
 */
#include "base/loop/loop.h"
#include "base/str.h"

typedef struct Watch Watch;
typedef struct WatchHub WatchHub;
typedef enum WatchEvent { WATCH_CREATED, WATCH_MODIFIED, WATCH_DELETED } WatchEvent;

enum { WATCH_ENTRIES_MAX = 65536, WATCH_LOOK_MS = 1000 };

typedef struct WatchSpec {
        const char *root; /* copied; must be a folder now */
        bool is_flat;     /* what is in the folder itself only */
        size_t n_max;     /* 0: WATCH_ENTRIES_MAX */
        /* Whether to leave something out, a folder with all that is in it. Also called on workers. */
        bool (*is_ignored)(const void *user, Str path, bool is_dir);
        void (*changed)(void *user, WatchEvent event, Str path, bool is_dir); /* may close the watch */
        void (*troubled)(void *user, const char *what);
        void (*settled)(void *user);  /* once: the first walk is done, every change from now on is told; may
                                         be NULL */
        void (*released)(void *user); /* after watch_close(), when no worker uses `user` any more */
        void *user;
} WatchSpec;

/* Fails with -ENOENT, -ENOTDIR when the root is no folder, -EMFILE when the kernel grants no more. hub: a
 * place that all watches share, NULL at first; it outlives them. */
int watch_open(Watch **ret, WatchHub **hub, Loop *loop, const WatchSpec *spec);
Watch *watch_close(Watch *watch); /* nothing is told any more; returns NULL */
size_t watch_n_entries(const Watch *watch);
bool watch_is_settled(const Watch *watch); /* the first walk is done: from now on every change is told */
const char *watch_event_name(WatchEvent event); /* create, modify, delete */
