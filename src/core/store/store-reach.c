/* SPDX-License-Identifier: MIT */
/*
 * How a job of a store reaches files: by the descriptors of the folders they lie in, never by way of a link. A group
 * of changes touches few folders and few files for lines, each of them many times: what was opened stays open until
 * the job has ended, or until somebody may have changed what the names mean (store_reach_forget()).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "core/store/store-internal.h"

static void reach_close(StoreReach *reach) {
        free(steal(&reach->path));
        close_fd(reach->fd);
        *reach = (StoreReach){0};
}

void store_reach_forget(StoreDisk *disk) {
        for (size_t i = 0; i < STORE_REACH; i++)
                if (disk->reach[i].path)
                        reach_close(&disk->reach[i]);
}

void store_reach_forget_file(StoreDisk *disk, const char *path) {
        for (size_t i = 0; i < STORE_REACH; i++)
                if (disk->reach[i].path && disk->reach[i].is_file && strcmp(disk->reach[i].path, path) == 0)
                        reach_close(&disk->reach[i]);
}

static int reach_find(const StoreDisk *disk, Str path, bool is_file) {
        for (size_t i = 0; i < STORE_REACH; i++) {
                const StoreReach *reach = &disk->reach[i];

                if (reach->path && reach->is_file == is_file && str_eq(str_from(reach->path), path))
                        return reach->fd;
        }
        return -ENOENT;
}

/* Takes the descriptor; the oldest place is used again. Nobody holds two at a time. */
static int reach_keep(StoreDisk *disk, Str path, bool is_file, int fd) {
        StoreReach *reach = &disk->reach[disk->n_reached++ % STORE_REACH];
        char *copy = str_dup(path);

        if (!copy) {
                close_fd(fd);
                return error_origin(-ENOMEM);
        }
        if (reach->path)
                reach_close(reach);
        *reach = (StoreReach){.path = copy, .fd = fd, .is_file = is_file};
        return fd;
}

int store_parent(StoreDisk *disk, const char *path, const char **ret_name) {
        const char *slash = strrchr(path, '/');
        char folder[STORE_PATH_MAX];
        size_t n = slash ? (size_t)(slash - path) : 0;
        int fd;

        if (n >= sizeof(folder))
                return error_origin(-ENAMETOOLONG);
        memcpy(folder, path, n);
        folder[n] = 0;
        *ret_name = slash ? slash + 1 : path;
        fd = reach_find(disk, (Str){folder, n}, false);
        if (fd >= 0)
                return fd;
        fd = path_open_beneath(disk->root, folder, O_RDONLY | O_DIRECTORY, 0);
        return fd < 0 ? fd : reach_keep(disk, (Str){folder, n}, false, fd);
}

int store_open_append(StoreDisk *disk, const char *path, bool *ret_is_new) {
        const int flags = O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK;
        const char *name;
        int fd = reach_find(disk, str_from(path), true), dir;

        if (fd >= 0)
                return fd;
        dir = store_parent(disk, path, &name);
        if (dir < 0)
                return error_trace(dir);
        fd = openat(dir, name, flags);
        if (fd < 0 && errno == ENOENT && ret_is_new) {
                fd = openat(dir, name, flags | O_CREAT, 0666);
                *ret_is_new = fd >= 0;
        }
        return fd < 0 ? error_origin(-errno) : reach_keep(disk, str_from(path), true, fd);
}

static int store_make_dir(StoreDisk *disk, const char *path, Buf *made) {
        const char *name;
        int dir = store_parent(disk, path, &name);

        if (dir < 0)
                return error_trace(dir);
        store_disk_step(disk, "mkdir");
        if (mkdirat(dir, name, 0777) < 0)
                return errno == EEXIST ? 0 : error_origin(-errno);
        store_disk_touch(disk, path);
        return made ? error_trace(buf_append(made, path, strlen(path) + 1)) : 0;
}

int store_make_parents(StoreDisk *disk, const char *path, Buf *made) {
        char part[STORE_PATH_MAX];
        const char *name;
        int dir = store_parent(disk, path, &name), r = 0;

        if (dir != -ENOENT) /* mostly they are there */
                return MIN(dir, 0);
        for (size_t n = strcspn(path, "/"); r == 0 && path[n]; n += 1 + strcspn(path + n + 1, "/")) {
                if (n >= sizeof(part))
                        return error_origin(-ENAMETOOLONG);
                memcpy(part, path, n);
                part[n] = 0;
                r = store_make_dir(disk, part, made);
        }
        return error_trace(r);
}

int store_identify(StoreDisk *disk, const char *path, FileIdentity *ret, mode_t *ret_mode) {
        const char *name;
        int dir = store_parent(disk, path, &name);
        _cleanup_(closep) int fd = -1;
        struct stat st;

        *ret = (FileIdentity){0};
        if (dir == -ENOENT)
                return 0;
        if (dir < 0)
                return error_trace(dir);
        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? 0 : error_origin(-errno);
        if (!S_ISREG(st.st_mode))
                return error_origin(S_ISLNK(st.st_mode) ? -ELOOP : -EISDIR);
        fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (ret_mode)
                *ret_mode = st.st_mode & 0777;
        return fd < 0 ? error_origin(-errno) : error_trace(file_identify_fd(fd, ret));
}
