/* SPDX-License-Identifier: MIT */
/*
 * Files that are written before their change is committed, and have no name until then (O_TMPFILE): whoever puts a
 * change together does it in its own thread, so that the commit, for which all others wait, only has to name them.
 * Nobody can see one before, and none is left by a crash. What cannot be made so is made by the commit.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "core/store/store-internal.h"

static int ahead_make(Store *store, const Step *step) {
        const char *slash = strrchr(step->path, '/');
        char folder[STORE_PATH_MAX] = ".";
        _cleanup_(closep) int dir = -1;
        int fd;

        if (slash)
                snprintf(folder, sizeof(folder), "%.*s", (int)(slash - step->path), step->path);
        dir = path_open_beneath(store->disk.root, folder, O_RDONLY | O_DIRECTORY, 0);
        if (dir < 0)
                return -1;
        fd = spares_take(&store->spares, dir);
        if (fd < 0)
                fd = openat(dir, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
        if (fd >= 0 && store_write_all(fd, step->bytes, NULL))
                fd = close_fd(fd);
        return fd;
}

void store_change_make_ahead(StoreChange *change) {
        Store *store = change->store;
        size_t at = 0;
        Step step;

        while (change->n_ahead < STORE_AHEAD_MAX && step_next(buf_str(&change->steps), &at, &step)) {
                int fd;

                if (!step_is_written(&step))
                        continue;
                if (step.bytes.n > STORE_AHEAD_BYTES)
                        return;
                if (atomic_fetch_add(&store->n_ahead, 1) >= STORE_AHEAD_ALL ||
                    (fd = ahead_make(store, &step)) < 0) {
                        atomic_fetch_sub(&store->n_ahead, 1);
                        return;
                }
                change->ahead[change->n_ahead++] = fd;
        }
}

void store_ahead_drop(StoreChange *change) {
        for (size_t i = 0; i < change->n_ahead; i++)
                close_fd(store_ahead_take(change, i));
        change->n_ahead = 0;
}

int store_ahead_take(StoreChange *change, size_t n) {
        int fd = n < change->n_ahead ? change->ahead[n] : -1;

        if (fd < 0)
                return -1;
        change->ahead[n] = -1;
        atomic_fetch_sub(&change->store->n_ahead, 1);
        return fd;
}

/* By its descriptor, or, where the system wants a right for that, by what /proc calls it. */
int store_ahead_name(int fd, int dir, const char *name) {
        char path[64];

        if (linkat(fd, "", dir, name, AT_EMPTY_PATH) == 0)
                return 0;
        if (errno == ENOENT || errno == EPERM) {
                snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
                if (linkat(AT_FDCWD, path, dir, name, AT_SYMLINK_FOLLOW) == 0)
                        return 0;
        }
        return error_origin(-errno);
}
