/* SPDX-License-Identifier: MIT */
/*
 * The files of recordings: their names, their making, and how many are kept. Everything here but the name
 * may block.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/recording/cast.h"
#include "base/error.h"
#include "base/file.h"
#include "core/recording/recording.h"

enum { LOOK_MAX = 4096 };

char *recording_path(const char *home, const char *title, const char *id) {
        char name[CAST_NAME_MAX + 1], *path;

        cast_file_name(title, name);
        return asprintf(&path, "%s/recordings/%s-%s.cast", home, name, id) < 0 ? NULL : path;
}

/* ---- room ------------------------------------------------------------------------------------ */

typedef struct Old {
        char *name;
        struct timespec written;
} Old;

static int by_age(const void *a, const void *b) {
        const struct timespec *x = &((const Old *)a)->written, *y = &((const Old *)b)->written;

        if (x->tv_sec != y->tv_sec)
                return x->tv_sec < y->tv_sec ? -1 : 1;
        return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

static size_t recording_file_list(DIR *dir, Old olds[LOOK_MAX]) {
        struct dirent *entry;
        struct stat st;
        size_t n = 0;

        while (n < LOOK_MAX && (entry = readdir(dir))) {
                size_t n_name = strlen(entry->d_name);

                if (n_name < 5 || strcmp(entry->d_name + n_name - 5, ".cast") != 0 ||
                    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
                        continue;
                olds[n] = (Old){strdup(entry->d_name), st.st_mtim};
                n += olds[n].name != NULL;
        }
        return n;
}

/* Leaves room for one more. */
static void recording_file_make_room(const char *folder) {
        DIR *dir = opendir(folder);
        Old *olds = calloc(LOOK_MAX, sizeof(*olds));
        size_t n = dir && olds ? recording_file_list(dir, olds) : 0;

        if (n)
                qsort(olds, n, sizeof(*olds), by_age);
        for (size_t i = 0; i < n; i++) {
                if (i + RECORDINGS_MAX <= n)
                        (void)unlinkat(dirfd(dir), olds[i].name, 0);
                free(olds[i].name);
        }
        free(olds);
        if (dir)
                closedir(dir);
}

int recording_create(const char *path, const char *title, unsigned cols, unsigned rows) {
        const CastHeader header = {.cols = cols, .rows = rows, .time_s = time(NULL), .title = title};
        _cleanup_(freep) char *folder = strndup(path, (size_t)(strrchr(path, '/') - path));
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        CastWriter cast;
        int fd, r = folder ? dir_make(folder, 0700) : -ENOMEM;

        if (r)
                return error_trace(r);
        recording_file_make_room(folder);
        cast_begin(&cast, &text, &header, 0);
        if (cast.is_out_of_memory)
                return error_origin(-ENOMEM);
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return error_origin(-errno);
        if (write(fd, text.data, text.n) != (ssize_t)text.n) {
                (void)close(fd);
                (void)unlink(path);
                return error_origin(-ENOSPC);
        }
        return fd;
}

/* What was written without being noted is cut off: it will be written again. */
int recording_reopen(const char *path, const ShimRecord *record) {
        const ShimRecorded *noted = &record->recorded[atomic_load(&record->recorded_slot) & 1];
        int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
        uint64_t n_bytes;

        if (fd < 0)
                return error_origin(-errno);
        n_bytes = noted->n_bytes;
        if (n_bytes && n_bytes < (uint64_t)lseek(fd, 0, SEEK_END) && ftruncate(fd, (off_t)n_bytes)) {
                int r = -errno;
                (void)close(fd);
                return error_origin(r);
        }
        return fd;
}
