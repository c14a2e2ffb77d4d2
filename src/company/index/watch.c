/* SPDX-License-Identifier: MIT */
/* Which files were written since they were last looked at: the kernel is asked, not every file. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "company/index/index-internal.h"

enum {
        WATCH_BLOCK = 16 << 10,
        WATCH_TELLS = IN_MODIFY | IN_ATTRIB | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
                      IN_ONLYDIR | IN_DONT_FOLLOW,
};

typedef struct IndexWatched {
        IndexFolder role;
        const IndexLeaf *leaves;
        size_t n_path;
        char path[];
} IndexWatched;

/* ---- its life -------------------------------------------------------------------------------- */

/* File systems that nobody writes to without this kernel. */
static bool watch_is_local(int root) {
        static const unsigned kinds[] = {0xef53 /* ext4 */,        0x58465342 /* xfs */,
                                         0x9123683e /* btrfs */,   0x01021994 /* tmpfs */,
                                         0x794c7630 /* overlay */, 0xf2f52010 /* f2fs */,
                                         0x2fc12fc1 /* zfs */,     0xca451a4e /* bcachefs */};
        struct statfs of;

        if (fstatfs(root, &of))
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
                if ((unsigned)of.f_type == kinds[i])
                        return true;
        return false;
}

void index_watch_end(IndexWatch *watch) {
        if (watch->fd >= 0) {
                close(watch->fd);
                if (watch->n_open)
                        atomic_fetch_sub(watch->n_open, 1);
        }
        for (size_t i = 0; i < watch->n; i++)
                free(watch->folders[i]);
        free(watch->folders);
        watch->folders = NULL;
        watch->n = watch->n_room = 0;
        watch->fd = -1;
}

void index_watch_begin(IndexWatch *watch, int root) {
        index_watch_end(watch);
        if (watch->is_refused || !watch_is_local(root))
                return;
        if (watch->n_open && atomic_fetch_add(watch->n_open, 1) >= INDEX_INSTANCES_MAX) {
                atomic_fetch_sub(watch->n_open, 1);
                return;
        }
        watch->root = root;
        watch->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        if (watch->fd < 0 && watch->n_open)
                atomic_fetch_sub(watch->n_open, 1);
}

/* ---- folders --------------------------------------------------------------------------------- */

/* A number is given out once, so there is a place for each up to the highest. */
static int watch_put(IndexWatch *watch, size_t wd, IndexWatched *folder) {
        if (wd >= watch->n_room) {
                const size_t n_room = MAX(wd + 1, 2 * watch->n_room);
                IndexWatched **more = realloc(watch->folders, n_room * sizeof(*more));

                if (!more)
                        return error_origin(-ENOMEM);
                watch->folders = more;
                watch->n_room = n_room;
        }
        while (watch->n <= wd)
                watch->folders[watch->n++] = NULL;
        free(watch->folders[wd]);
        watch->folders[wd] = folder;
        return 0;
}

static void watch_refuse(IndexWatch *watch) {
        index_watch_end(watch);
        watch->is_refused = true;
}

void index_watch_add(IndexWatch *watch, int at, const char *name, Str path, IndexFolder role,
                     const IndexLeaf *leaves) {
        char place[600];
        IndexWatched *folder;
        int wd;

        if (!watch || watch->fd < 0 ||
            snprintf(place, sizeof(place), "/proc/self/fd/%d/%s", at, name) >= (int)sizeof(place))
                return;
        wd = inotify_add_watch(watch->fd, place, WATCH_TELLS);
        if (wd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
                return;
        folder = wd > 0 && watch->n < INDEX_WATCHES_MAX ? malloc(sizeof(*folder) + path.n + 1) : NULL;
        if (!folder) {
                watch_refuse(watch);
                return;
        }
        *folder = (IndexWatched){.role = role, .leaves = leaves, .n_path = path.n};
        if (path.n)
                memcpy(folder->path, path.data, path.n);
        folder->path[path.n] = '\0';
        if (watch_put(watch, (size_t)wd, folder)) {
                free(folder);
                watch_refuse(watch);
        }
}

/* ---- what it tells --------------------------------------------------------------------------- */

static int watch_push(IndexPaths *paths, Arena *arena, const char *folder, Str name) {
        if (paths->n == paths->n_room) {
                const size_t n_room = paths->n_room ? 2 * paths->n_room : 64;
                Str *more = arena_alloc(arena, n_room * sizeof(*more));

                if (!more)
                        return error_origin(-ENOMEM);
                if (paths->n)
                        memcpy(more, paths->items, paths->n * sizeof(*more));
                paths->items = more;
                paths->n_room = n_room;
        }
        paths->items[paths->n] = arena_printf(arena, "%s/" STR_FMT, folder, STR_ARG(name));
        return paths->items[paths->n++].data ? 0 : error_origin(-ENOMEM);
}

static bool watch_has_leaf(const IndexWatched *folder, Str name) {
        const IndexLeaf *leaf = folder->leaves;

        while (leaf && leaf->name && !str_is(name, leaf->name))
                leaf++;
        return leaf && leaf->name;
}

/* A new folder of files: they may have been there before it was watched, so they count as written. */
static int watch_new_pair(IndexWatch *watch, const IndexWatched *folder, Str name, Arena *arena,
                          IndexPaths *paths) {
        const Str path = arena_printf(arena, "%s/" STR_FMT, folder->path, STR_ARG(name));
        const IndexLeaf *leaf = folder->leaves;
        int r = path.data ? 0 : error_origin(-ENOMEM);

        if (!r)
                index_watch_add(watch, watch->root, path.data, path, INDEX_FOLDER_PAIR, leaf);
        for (; !r && leaf->name; leaf++)
                r = watch_push(paths, arena, path.data, str_from(leaf->name));
        return !r && watch->fd < 0 ? INDEX_WATCH_E_LOST : r;
}

static int watch_on_folder(IndexWatch *watch, const IndexWatched *folder, uint32_t mask, Str name,
                           Arena *arena, IndexPaths *paths) {
        if (name.data[0] == '.' && folder->role != INDEX_FOLDER_PARTS)
                return 0;
        switch (folder->role) {
        case INDEX_FOLDER_PARTS:
                return !(mask & IN_ATTRIB) && watch_has_leaf(folder, name) ? INDEX_WATCH_E_LOST : 0;
        case INDEX_FOLDER_MANY: return mask & IN_ATTRIB ? 0 : INDEX_WATCH_E_LOST;
        case INDEX_FOLDER_PAIRS:
                if (mask & (IN_DELETE | IN_MOVED_FROM))
                        return INDEX_WATCH_E_LOST;
                return mask & (IN_CREATE | IN_MOVED_TO) ? watch_new_pair(watch, folder, name, arena, paths)
                                                        : 0;
        default: return 0;
        }
}

static int watch_on_event(IndexWatch *watch, const struct inotify_event *event, Arena *arena,
                          IndexPaths *paths) {
        const size_t wd = (size_t)event->wd;
        const IndexWatched *folder = event->wd > 0 && wd < watch->n ? watch->folders[wd] : NULL;
        const Str name = event->len ? str_from(event->name) : STR_NULL;

        if (!folder || event->mask & (IN_Q_OVERFLOW | IN_IGNORED | IN_UNMOUNT))
                return INDEX_WATCH_E_LOST;
        if (!name.n)
                return 0;
        if (event->mask & IN_ISDIR)
                return watch_on_folder(watch, folder, event->mask, name, arena, paths);
        if (folder->role == INDEX_FOLDER_FILES
                    ? index_takes(name.data, folder->leaves->name)
                    : folder->role == INDEX_FOLDER_PAIR && watch_has_leaf(folder, name))
                return watch_push(paths, arena, folder->path, name);
        return 0;
}

static int watch_compare(const void *a, const void *b) {
        return strcmp(((const Str *)a)->data, ((const Str *)b)->data);
}

static void watch_sort(IndexPaths *paths) {
        size_t n = 0;

        if (paths->n)
                qsort(paths->items, paths->n, sizeof(*paths->items), watch_compare);
        for (size_t i = 0; i < paths->n; i++)
                if (!n || !str_eq(paths->items[n - 1], paths->items[i]))
                        paths->items[n++] = paths->items[i];
        paths->n = n;
}

int index_watch_read(IndexWatch *watch, Arena *arena, IndexPaths *ret) {
        char block[WATCH_BLOCK] __attribute__((aligned(__alignof__(struct inotify_event))));
        int r = 0;

        *ret = (IndexPaths){0};
        for (ssize_t n; !r && (n = read(watch->fd, block, sizeof(block))) != 0;) {
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0) {
                        r = errno == EAGAIN ? 0 : INDEX_WATCH_E_LOST;
                        break;
                }
                for (ssize_t at = 0; !r && at < n;) {
                        const struct inotify_event *event = (const struct inotify_event *)(block + at);

                        at += (ssize_t)(sizeof(*event) + event->len);
                        r = watch_on_event(watch, event, arena, ret);
                }
        }
        watch_sort(ret);
        return r;
}
