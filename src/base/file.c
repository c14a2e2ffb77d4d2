/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/id.h"

enum {
        READ_STEP = 16 * 1024,
        TEMP_NAME_MAX =
                200, /* bytes of the target's name that the temp file's name repeats; NAME_MAX is 255 */
        TEMP_RANDOM = 12,
};

static int file_read_all(int fd, size_t n_max, Buf *out) {
        const size_t start = out->n;
        struct stat st;
        int r;

        if (fstat(fd, &st) < 0)
                return error_origin(-errno);
        if (S_ISREG(st.st_mode) && st.st_size > 0) {
                /* Only a hint: the file may grow or shrink while it is read. One byte more finds its end. */
                r = buf_reserve(out, MIN((size_t)st.st_size, n_max) + 1);
                if (r)
                        return error_trace(r);
        }

        for (;;) {
                size_t n_left = n_max - (out->n - start);
                ssize_t n;

                r = out->cap - out->n ? 0 : buf_reserve(out, READ_STEP);
                if (r)
                        return error_trace(r);
                n = read(fd, out->data + out->n, out->cap - out->n);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return error_origin(-errno);
                if (n == 0)
                        return 0;
                if ((size_t)n > n_left)
                        return FILE_E_TOO_LARGE;
                out->n += (size_t)n;
        }
}

enum {
        READ_FLAGS = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK
}; /* a FIFO without a writer must not hold us */

int file_read_fd(int fd, size_t n_max, Buf *out) {
        const size_t start = out->n;
        int r = file_read_all(fd, MIN(n_max, SIZE_MAX / 8), out);

        if (r)
                out->n = start;
        return error_trace(r);
}

int file_read(const char *path, size_t n_max, Buf *out) {
        _cleanup_(closep) int fd = open(path, READ_FLAGS);

        if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
                return FILE_E_MISSING;
        return fd < 0 ? error_origin(-errno) : error_trace(file_read_fd(fd, n_max, out));
}

/* Kernels without openat2() follow no link at all. */
static int open_beneath(int folder, const char *name) {
        struct open_how how = {.flags = (uint64_t)READ_FLAGS, .resolve = RESOLVE_BENEATH};
        int fd = (int)syscall(SYS_openat2, folder, name, &how, sizeof(how));

        return fd >= 0 || errno != ENOSYS ? fd : openat(folder, name, READ_FLAGS | O_NOFOLLOW);
}

int file_read_beneath(const char *path, size_t n_max, Buf *out) {
        const char *slash = strrchr(path, '/');
        _cleanup_(freep) char *dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
        _cleanup_(closep) int folder = -1, fd = -1;

        if (!dir)
                return error_origin(-ENOMEM);
        folder = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (folder >= 0)
                fd = open_beneath(folder, slash ? slash + 1 : path);
        if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EXDEV || errno == ELOOP))
                return FILE_E_MISSING;
        return fd < 0 ? error_origin(-errno) : error_trace(file_read_fd(fd, n_max, out));
}

static int file_write_all(int fd, Str content) {
        while (content.n > 0) {
                ssize_t n = write(fd, content.data, content.n);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return error_origin(-errno);
                content.data += n;
                content.n -= (size_t)n;
        }
        return 0;
}

/* The folder part of a path with its slash, in bytes; 0 when there is none. */
static size_t dir_length(const char *path) {
        const char *slash = strrchr(path, '/');

        return slash ? (size_t)(slash - path) + 1 : 0;
}

int dir_sync(const char *path) {
        _cleanup_(closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0)
                return error_origin(-errno);
        if (fsync(fd) < 0 && errno != EINVAL) /* EINVAL: a file system that has no such thing */
                return error_origin(-errno);
        return 0;
}

int file_sync_name(const char *path) {
        size_t n = dir_length(path);
        _cleanup_(freep) char *dir = n ? strndup(path, n) : strdup(".");

        return dir ? error_trace(dir_sync(dir)) : error_origin(-ENOMEM);
}

uint64_t file_next_data(int fd, uint64_t from, uint64_t end) {
        off_t data = from < end ? lseek(fd, (off_t)from, SEEK_DATA) : -1;

        if (data < 0)
                return from < end && errno != ENXIO ? from : end;
        return MIN(MAX((uint64_t)data, from), end);
}

/* Closes fd in any case: some file systems report a failed write only then. */
static int temp_finish(int fd, Str content, mode_t mode, FileSync sync) {
        int r;

        r = file_write_all(fd, content);
        if (r == 0 && fchmod(fd, mode) < 0)
                r = error_origin(-errno);
        if (r == 0 && sync == FILE_DURABLE && fsync(fd) < 0)
                r = error_origin(-errno);
        if (close(fd) < 0 && r == 0 && errno != EINTR)
                r = error_origin(-errno);
        return error_trace(r);
}

/* Creates `.<name>.<random>` beside path; *ret_path is the caller's to free. */
static int temp_open(const char *path, int *ret_fd, char **ret_path) {
        _cleanup_(freep) char *temp = NULL;
        size_t n_dir = dir_length(path), n_room = strlen(path) + TEMP_RANDOM + 3;
        char random[TEMP_RANDOM + 1];
        int r, fd;

        if (!path[n_dir])
                return error_origin(-EISDIR);
        r = id_hex(random, TEMP_RANDOM);
        if (r)
                return error_trace(r);
        temp = malloc(n_room);
        if (!temp)
                return error_origin(-ENOMEM);
        snprintf(temp, n_room, "%.*s.%.*s.%s", (int)n_dir, path, TEMP_NAME_MAX, path + n_dir, random);

        fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0)
                return error_origin(-errno);
        *ret_fd = fd;
        *ret_path = steal(&temp);
        return 0;
}

int file_stage(const char *path, Str content, mode_t mode, FileSync sync, char **ret_temp) {
        _cleanup_(freep) char *temp = NULL;
        int r, fd = -1;

        r = temp_open(path, &fd, &temp);
        if (r)
                return error_trace(r);
        r = temp_finish(fd, content, mode, sync);
        if (r) {
                (void)unlink(temp);
                return error_trace(r);
        }
        *ret_temp = steal(&temp);
        return 0;
}

int file_publish(const char *temp, const char *path, FileSync sync) {
        if (rename(temp, path) < 0)
                return error_origin(-errno);
        return sync == FILE_DURABLE ? error_trace(file_sync_name(path)) : 0;
}

int file_replace(const char *path, Str content, mode_t mode, FileSync sync) {
        _cleanup_(freep) char *temp = NULL;
        int r;

        r = file_stage(path, content, mode, sync, &temp);
        if (r)
                return error_trace(r);
        r = file_publish(temp, path, sync);
        if (r)
                (void)unlink(temp); /* gone already when only the folder could not be synced */
        return error_trace(r);
}

static int64_t stamp_ns(struct timespec t) {
        return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static FileIdentity identity_of(const struct stat *st) {
        return (FileIdentity){.dev = st->st_dev,
                              .ino = st->st_ino,
                              .n_bytes = st->st_size,
                              .mtime_ns = stamp_ns(st->st_mtim),
                              .ctime_ns = stamp_ns(st->st_ctim)};
}

int file_identify(const char *path, FileIdentity *ret) {
        struct stat st;

        *ret = (FileIdentity){0};
        if (stat(path, &st) < 0)
                return errno == ENOENT || errno == ENOTDIR ? 0 : error_origin(-errno);
        *ret = identity_of(&st);
        return 0;
}

int file_identify_fd(int fd, FileIdentity *ret) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return error_origin(-errno);
        *ret = identity_of(&st);
        return 0;
}

bool file_identity_eq(const FileIdentity *a, const FileIdentity *b) {
        return a->dev == b->dev && a->ino == b->ino && a->n_bytes == b->n_bytes &&
               a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

/* A parent that may be written but not read cannot be synced; the folder is there all the same. */
static int make_one(const char *path, mode_t mode) {
        int r;

        if (mkdir(path, mode) < 0)
                return errno == EEXIST ? 0 : error_origin(-errno);
        r = file_sync_name(path);
        return r == -EACCES ? 0 : error_trace(r);
}

int dir_make(const char *path, mode_t mode) {
        _cleanup_(freep) char *part = strdup(path);
        struct stat st;
        int r;

        if (!part)
                return error_origin(-ENOMEM);
        if (!*part)
                return error_origin(-ENOENT);

        for (char *at = part + 1;; at++) {
                char end = *at;

                if (end && (end != '/' || at[-1] == '/'))
                        continue;
                *at = 0;
                r = make_one(part, mode);
                if (r)
                        return error_trace(r);
                *at = end;
                if (!end)
                        break;
        }
        /* EEXIST may have been a file; in the middle of the path the next step has noticed that. */
        if (stat(path, &st) < 0)
                return error_origin(-errno);
        return S_ISDIR(st.st_mode) ? 0 : error_origin(-ENOTDIR);
}

/* An empty side adds nothing, not even the slash. */
bool path_is_within(const char *path, const char *folder) {
        size_t n = strlen(folder);

        while (n && folder[n - 1] == '/')
                n--;
        return strncmp(path, folder, n) == 0 && (path[n] == '/' || !path[n]);
}

char *path_join(const char *a, const char *b) {
        size_t n_a = strlen(a), n_b;
        bool slash;
        char *path;

        while (n_a > 0 && a[n_a - 1] == '/')
                n_a--;
        slash = *a && *b;
        if (slash)
                b += strspn(b, "/");
        else if (*a)
                n_a = strlen(a);
        n_b = strlen(b);

        path = malloc(n_a + n_b + 2);
        if (!path)
                return NULL;
        memcpy(path, a, n_a);
        if (slash)
                path[n_a] = '/';
        memcpy(path + n_a + slash, b, n_b + 1);
        return path;
}

static char *home_dup(void) {
        const char *home = getenv("HOME");
        struct passwd entry, *found = NULL;
        _cleanup_(freep) char *room = NULL;
        long n = sysconf(_SC_GETPW_R_SIZE_MAX);

        if (home && *home)
                return strdup(home);
        room = malloc(n = n > 0 ? n : 16384);
        if (!room || getpwuid_r(getuid(), &entry, room, (size_t)n, &found) || !found)
                return NULL;
        return strdup(found->pw_dir);
}

char *path_expand(const char *path) {
        _cleanup_(freep) char *from_home = NULL, *base = NULL;

        if (path[0] == '~' && (path[1] == '/' || !path[1])) {
                base = home_dup();
                from_home = base ? path_join(base, path + 1 + strspn(path + 1, "/")) : NULL;
                if (!from_home)
                        return NULL;
                path = from_home;
        }
        if (path[0] == '/')
                return strdup(path);
        free(base);
        base = getcwd(NULL, 0);
        return base ? path_join(base, path) : NULL;
}
