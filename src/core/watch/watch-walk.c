/* SPDX-License-Identifier: MIT */
/*
 * The walk of a Watch, on a worker. Each folder is watched before it is read, so that what comes in between
 * is seen twice rather than not at all.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "core/watch/watch-internal.h"

enum {
        MASK = IN_CREATE | IN_DELETE | IN_MODIFY | IN_ATTRIB | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF |
               IN_MOVE_SELF | IN_ONLYDIR | IN_DONT_FOLLOW | IN_EXCL_UNLINK,
};

WatchStamp watch_stamp(const struct stat *st) {
        return (WatchStamp){.mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
                            .n_bytes = st->st_size,
                            .inode = st->st_ino};
}

bool watch_stamp_eq(WatchStamp a, WatchStamp b) {
        return a.mtime_ns == b.mtime_ns && a.n_bytes == b.n_bytes && a.inode == b.inode;
}

void watch_walk_deinit(WatchWalk *walk) {
        buf_deinit(&walk->starts);
        buf_deinit(&walk->paths);
        buf_deinit(&walk->found);
}

/* Returns the offset of the path that was added, or a negative number. */
static int watch_walk_add(WatchWalk *walk, Str dir, const char *name, const struct stat *st, int wd) {
        WatchFound found = {
                .stamp = watch_stamp(st), .wd = wd, .is_dir = S_ISDIR(st->st_mode), .path = walk->paths.n};
        int r = buf_append_str(&walk->paths, dir);

        if (!r && dir.n && name[0])
                r = buf_append_str(&walk->paths, STR("/"));
        if (!r)
                r = buf_append(&walk->paths, name, strlen(name) + 1);
        if (!r)
                r = buf_append(&walk->found, &found, sizeof(found));
        return error_trace(r);
}

static void take_entry(WatchWalk *walk, int fd, Str dir, const char *name) {
        size_t n_found = walk->found.n, n_paths = walk->paths.n;
        struct stat st;
        Str path;

        if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW))
                return; /* gone again */
        if (watch_walk_n(walk) >= walk->n_max) {
                walk->is_cut = true;
                return;
        }
        walk->r = watch_walk_add(walk, dir, name, &st, -1);
        if (walk->r)
                return;
        path = str_from(walk->paths.data + n_paths);
        if (walk->is_ignored && walk->is_ignored(walk->user, path, S_ISDIR(st.st_mode))) {
                walk->found.n = n_found;
                walk->paths.n = n_paths;
        }
}

static int add_watch(WatchWalk *walk, const char *path) {
        int wd = inotify_add_watch(walk->fd, path, MASK);

        if (wd < 0 && (errno == ENOSPC || errno == ENOMEM))
                walk->is_refused = true;
        return wd;
}

/* One folder; those in it are found, and walked later. */
static void walk_dir(WatchWalk *walk, size_t index) {
        WatchFound *found = (WatchFound *)(void *)walk->found.data + index;
        _cleanup_(buf_deinit) Buf path = BUF_NULL, full = BUF_NULL;
        struct dirent *entry;
        DIR *dir;

        walk->r = buf_append_str(&path, str_from(walk->paths.data + found->path));
        if (!walk->r)
                walk->r = buf_printf(&full, "%s%s%.*s", walk->root.data, path.n ? "/" : "", (int)path.n,
                                     path.data ? path.data : "");
        if (walk->r || !buf_cstr(&full))
                return;
        found->wd = add_watch(walk, full.data);
        dir = found->wd < 0 ? NULL : opendir(full.data);
        if (!dir)
                return;
        while (!walk->r && !walk->is_cut && (entry = readdir(dir)))
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                        take_entry(walk, dirfd(dir), buf_str(&path), entry->d_name);
        closedir(dir);
}

static void walk_from(WatchWalk *walk, const char *start) {
        char full[PATH_MAX];
        size_t first = watch_walk_n(walk);
        struct stat st;

        if ((size_t)snprintf(full, sizeof(full), "%s%s%s", walk->root.data, start[0] ? "/" : "", start) >=
                    sizeof(full) ||
            lstat(full, &st) || !S_ISDIR(st.st_mode))
                return;
        walk->r = watch_walk_add(walk, str_from(start), "", &st, -1);
        for (size_t i = first; !walk->r && i < watch_walk_n(walk); i++) {
                bool is_dir = ((WatchFound *)(void *)walk->found.data)[i].is_dir;
                if (is_dir && (i == first || !walk->is_flat))
                        walk_dir(walk, i);
        }
}

void watch_walk_run(WatchWalk *walk) {
        for (size_t at = 0; !walk->r && at < walk->starts.n; at += strlen(walk->starts.data + at) + 1)
                walk_from(walk, walk->starts.data + at);
}
