/* SPDX-License-Identifier: MIT */
/*
 * What an event of the kernel means for a Watch. Names are told by what is there now, not by the mask alone:
 * several changes may lie between an event and its reading.
 */
#include <limits.h>
#include <stdio.h>

#include "core/watch/watch-internal.h"

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
                watch_trouble(watch, "too many files and folders: not all are watched");
                return;
        }
        is_same = is_known && watch_stamp_eq(node->stamp, watch_stamp(&st));
        node->stamp = watch_stamp(&st);
        node->is_dir = S_ISDIR(st.st_mode);
        if (node->is_dir && !is_known && !watch->spec.is_flat)
                watch_want_walk(watch, path);
        if (!is_known || (mask & (IN_CREATE | IN_MOVED_TO) && !is_same))
                watch_tell(watch, WATCH_CREATED, path, S_ISDIR(st.st_mode));
        if (is_known && !S_ISDIR(st.st_mode) && (mask & IN_MODIFY || !is_same))
                watch_tell(watch, WATCH_MODIFIED, path, false);
}

static void on_absent(Watch *watch, Str path) {
        struct stat st;

        if (!watch_tree_find(&watch->tree, path))
                return;
        if (stat_path(watch, path, &st) && !S_ISDIR(st.st_mode))
                return; /* something else has its name: that event follows */
        watch_forget(watch, path, watch->mark + 1);
}

void watch_event(Watch *watch, const struct inotify_event *event) {
        const WatchNode *dir = watch_tree_by_wd(&watch->tree, event->wd);
        char path[PATH_MAX];
        int n;

        if (watch->is_gone)
                return;
        if (event->mask & IN_Q_OVERFLOW)
                watch_want_walk(watch, STR_NULL);
        if (!dir)
                return;
        if (!event->len) {
                if (!dir->n && event->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED))
                        watch_lose_root(watch);
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

/* The owner may close the watch meanwhile. */
void watch_replay(Watch *watch) {
        Buf backlog = watch->backlog;

        watch->backlog = BUF_NULL;
        for (size_t at = 0; at < backlog.n && !watch->is_closed;) {
                const struct inotify_event *event = (const void *)(backlog.data + at);
                watch_event(watch, event);
                at += sizeof(*event) + event->len;
        }
        buf_deinit(&backlog);
}
