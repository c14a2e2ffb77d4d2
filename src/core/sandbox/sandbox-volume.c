/* SPDX-License-Identifier: MIT */
/*
 * Named volumes: folders below ~/.coop/volumes that outlive every session. A new one begins as a copy of
 * what the host has at its place inside, so that a program finds its settings there. The copy is made beside
 * it and put in place at once: a volume is there as a whole or not at all.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "core/sandbox/sandbox-internal.h"

enum {
        VOLUME_BYTES_MAX = 512 << 20,
        VOLUME_ENTRIES_MAX = 100000,
        VOLUME_DEPTH_MAX = 64,
};

typedef struct Copy {
        int64_t n_bytes;
        int64_t n_entries;
} Copy;

typedef int EntryFn(int from, const char *name, int to, Copy *copy, int depth);

/* Calls fn for every entry of the folder; takes none of the descriptors. */
static int volume_each(int folder, int to, Copy *copy, int depth, EntryFn *fn) {
        int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
        DIR *dir = again < 0 ? NULL : fdopendir(again);
        const struct dirent *entry;

        if (!dir) {
                r = -errno;
                close_fd(again);
                return r;
        }
        while (!r && (entry = readdir(dir))) /* NOLINT(concurrency-mt-unsafe): a DIR of our own */
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                        r = fn(folder, entry->d_name, to, copy, depth);
        closedir(dir);
        return r;
}

static int sandbox_volume_remove_entry(int folder, const char *name, int to, Copy *copy, int depth) {
        int fd, r = 0;

        if (!unlinkat(folder, name, 0) || errno == ENOENT)
                return 0;
        if (depth > VOLUME_DEPTH_MAX)
                return -ELOOP;
        fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0)
                r = volume_each(fd, to, copy, depth + 1, sandbox_volume_remove_entry);
        close_fd(fd);
        return r || !unlinkat(folder, name, AT_REMOVEDIR) ? r : -errno;
}

static int copy_bytes(int in, int out, Copy *copy) {
        char block[64 << 10];
        ssize_t n;

        while ((n = read(in, block, sizeof(block))) > 0) {
                copy->n_bytes += n;
                if (copy->n_bytes > VOLUME_BYTES_MAX)
                        return -EFBIG;
                for (ssize_t at = 0, done; at < n; at += done) {
                        done = write(out, block + at, (size_t)(n - at));
                        if (done < 0)
                                return -errno;
                }
        }
        return n < 0 ? -errno : 0;
}

static int copy_file(int from, const char *name, int to, const struct stat *st, Copy *copy) {
        _cleanup_(closep) int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        _cleanup_(closep) int out = in < 0 ? -1
                                           : openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                                                    (st->st_mode & 0700) | 0600);

        return in < 0 || out < 0 ? -errno : copy_bytes(in, out, copy);
}

static int copy_link(int from, const char *name, int to) {
        char target[PATH_MAX];
        ssize_t n = readlinkat(from, name, target, sizeof(target) - 1);

        if (n < 0)
                return -errno;
        target[n] = 0;
        return symlinkat(target, to, name) ? -errno : 0;
}

static int copy_entry(int from, const char *name, int to, Copy *copy, int depth);

static int copy_folder(int from, const char *name, int to, Copy *copy, int depth) {
        _cleanup_(closep) int in = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        _cleanup_(closep) int out = -1;

        if (in < 0 || mkdirat(to, name, 0700))
                return -errno;
        out = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return out < 0 ? -errno : volume_each(in, out, copy, depth + 1, copy_entry);
}

/* Sockets, pipes and devices stay behind, and so does what went away meanwhile or cannot be read. */
static int copy_entry(int from, const char *name, int to, Copy *copy, int depth) {
        struct stat st;
        int r = 0;

        if (++copy->n_entries > VOLUME_ENTRIES_MAX || depth > VOLUME_DEPTH_MAX)
                return -EFBIG;
        if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW))
                return 0;
        if (S_ISREG(st.st_mode))
                r = copy_file(from, name, to, &st, copy);
        else if (S_ISDIR(st.st_mode))
                r = copy_folder(from, name, to, copy, depth);
        else if (S_ISLNK(st.st_mode))
                r = copy_link(from, name, to);
        return r == -ENOENT || r == -EACCES || r == -ELOOP ? 0 : r;
}

/* Fills the fresh folder; what does not fit is said, and nothing of it is kept. */
static int seed_volume(const SandboxPath *source, int folder, const char *name, SandboxReport *report) {
        _cleanup_(closep) int from = open(source->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        _cleanup_(closep) int to = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        Copy copy = {0};
        int r = from < 0 || to < 0 ? -errno : volume_each(from, to, &copy, 0, copy_entry);

        if (!r)
                return 0;
        r = volume_each(to, -1, &copy, 0, sandbox_volume_remove_entry);
        return r ? r
                 : error_trace(sandbox_warn(report,
                                            "the volume begins empty: %s is larger than %d MiB or cannot be "
                                            "copied",
                                            source->path, VOLUME_BYTES_MAX >> 20));
}

/* Somebody else was quicker: theirs stays. */
static int publish_volume(int folder, const char *temp, const char *name) {
        Copy copy = {0};

        if (!renameat2(folder, temp, folder, name, RENAME_NOREPLACE))
                return 0;
        return errno == EEXIST ? sandbox_volume_remove_entry(folder, temp, -1, &copy, 0) : -errno;
}

static int make_in(int folder, const char *name, const SandboxPath *source, SandboxReport *report) {
        uint64_t number = 0;
        char temp[32];
        int r = 0;

        if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
                return error_origin(-errno);
        snprintf(temp, sizeof(temp), ".new-%016llx", (unsigned long long)number);
        if (mkdirat(folder, temp, 0700))
                return -errno;
        if (source->path && source->is_dir)
                r = seed_volume(source, folder, temp, report);
        return r ? r : publish_volume(folder, temp, name);
}

int sandbox_volume_make(const char *home, const char *rest, const char *from, SandboxReport *report) {
        _cleanup_(sandbox_path_deinit) SandboxPath there = SANDBOX_PATH_NULL, parent = SANDBOX_PATH_NULL,
                                                   source = SANDBOX_PATH_NULL;
        const char *slash = strrchr(rest, '/');
        _cleanup_(freep) char *above = slash ? strndup(rest, (size_t)(slash - rest)) : NULL;
        _cleanup_(closep) int folder = -1;
        int r = sandbox_path_below(home, rest, false, &there);

        if (r != -ENOENT)
                return r;
        if (!above)
                return error_origin(-ENOMEM);
        r = sandbox_path_below(home, above, true, &parent);
        if (r)
                return r;
        if (from && sandbox_path_below(home, from, false, &source))
                source = SANDBOX_PATH_NULL; /* nothing to begin with */
        folder = open(parent.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return folder < 0 ? -errno : make_in(folder, slash + 1, &source, report);
}
