/* SPDX-License-Identifier: MIT */
/*
 * The lock file of those who write to the same folder without us: made exclusively, with pid and time inside,
 * removed afterwards. Who dies with it leaves it: then it counts for two minutes, unless it was a daemon of ours,
 * whose end we know by the lock of daemons that we hold now, or died before it had written its pid into it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/time.h"
#include "core/store/store-internal.h"

int store_lock_dir(const StoreDisk *disk) {
        int fd = path_open_beneath(disk->root, STORE_LOCKS, O_RDONLY | O_DIRECTORY, 0);

        if (fd != -ENOENT)
                return fd;
        if ((mkdirat(disk->root, ".local", 0777) < 0 && errno != EEXIST) ||
            (mkdirat(disk->root, STORE_LOCKS, 0777) < 0 && errno != EEXIST))
                return error_origin(-errno);
        return error_trace(path_open_beneath(disk->root, STORE_LOCKS, O_RDONLY | O_DIRECTORY, 0));
}

/* Pid and time, always in as many bytes. */
static int store_lock_write(int fd, int64_t wall_us) {
        char text[96], when[TIME_TEXT_MAX];
        ssize_t n;

        time_format_ms(wall_us, when);
        n = snprintf(text, sizeof(text), "{\"pid\":%d,\"acquired_at\":\"%s\"}\n", (int)getpid(), when);
        errno = EIO;
        return pwrite(fd, text, (size_t)n, 0) == n ? 0 : error_origin(-errno);
}

static int store_lock_create(StoreLock *lock, int64_t wall_us) {
        _cleanup_(closep) int fd =
                openat(lock->dir, STORE_LOCK, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        struct stat st;
        int r;

        if (fd < 0)
                return errno == EEXIST ? STORE_E_LOCKED : error_origin(-errno);
        r = fstat(fd, &st) < 0 ? error_origin(-errno) : store_lock_write(fd, wall_us);
        if (r) {
                (void)unlinkat(lock->dir, STORE_LOCK, 0); /* a full disk must not lock everybody out */
                return error_trace(r);
        }
        lock->ino = st.st_ino;
        return 0;
}

/* Never one that is there: a daemon that died may have left it as the lock, with its pid in it. */
static int store_lock_spare(StoreDisk *disk) {
        struct stat st;

        if (disk->spare >= 0)
                return 0;
        if (fstat(disk->journal.fd, &st) < 0)
                return error_origin(-errno);
        disk->spare = journal_create_apart(disk->state, STORE_SPARE, st.st_ino);
        if (disk->spare < 0)
                return error_trace(disk->spare);
        if (fstat(disk->spare, &st) < 0 || fchmod(disk->spare, 0644) < 0)
                return error_origin(-errno);
        disk->spare_ino = st.st_ino;
        return 0;
}

/*
 * A file of ours gets the name of the lock, and loses it again: a new file for each commit is what costs most of it
 * where the file system goes past all inodes that were removed lately. What cannot be linked is made.
 */
static int store_lock_make(StoreLock *lock, StoreDisk *disk, int64_t wall_us) {
        int r = store_lock_spare(disk);

        r = r ? r : store_lock_write(disk->spare, wall_us);
        if (r == 0 && linkat(disk->state, STORE_SPARE, lock->dir, STORE_LOCK, 0) == 0) {
                lock->ino = disk->spare_ino;
                return 0;
        }
        if (r == 0 && errno == EEXIST)
                return STORE_E_LOCKED;
        disk->spare = close_fd(disk->spare);
        return store_lock_create(lock, wall_us);
}

/* 0: none that can be read. */
static pid_t store_lock_pid(int fd) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        char text[512];
        ssize_t n = read(fd, text, sizeof(text));
        int64_t pid = 0;
        Json *json;

        if (n <= 0 || json_parse(&arena, text, (size_t)n, NULL, &json, NULL) ||
            !json_int64(json_get(json, "pid"), &pid) || pid < 1 || pid > INT32_MAX)
                return 0;
        return (pid_t)pid;
}

/* Whether whoever made it will not remove it any more. */
static bool store_lock_is_left(const StoreDisk *disk, int dir, int64_t wall_us) {
        _cleanup_(closep) int fd = openat(dir, STORE_LOCK, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        struct stat st;
        int64_t age_ms;
        pid_t pid;

        if (fd < 0 || fstat(fd, &st) < 0)
                return false;
        pid = store_lock_pid(fd);
        age_ms = wall_us / 1000 - (int64_t)st.st_mtim.tv_sec * 1000;
        if (pid && pid == disk->other && disk->lock >= 0 && pid != getpid())
                return true;
        if (!st.st_size)
                return age_ms > STORE_LOCK_EMPTY_MS;
        return age_ms > STORE_LOCK_OLD_MS && (!pid || (kill(pid, 0) < 0 && errno == ESRCH));
}

void store_lock_clear(const StoreDisk *disk, int64_t wall_us) {
        _cleanup_(closep) int dir = path_open_beneath(disk->root, STORE_LOCKS, O_RDONLY | O_DIRECTORY, 0);

        if (dir >= 0 && store_lock_is_left(disk, dir, wall_us))
                (void)unlinkat(dir, STORE_LOCK, 0);
}

int store_lock_take(StoreLock *lock, StoreDisk *disk, int64_t wall_us) {
        int r;

        *lock = (StoreLock){.dir = store_lock_dir(disk)};
        if (lock->dir < 0)
                return error_trace(lock->dir);
        store_disk_step(disk, "lock");
        r = store_lock_make(lock, disk, wall_us);
        if (r == STORE_E_LOCKED && store_lock_is_left(disk, lock->dir, wall_us)) {
                (void)unlinkat(lock->dir, STORE_LOCK, 0);
                r = store_lock_make(lock, disk, wall_us);
        }
        if (r)
                lock->dir = close_fd(lock->dir);
        return r < 0 ? error_trace(r) : r;
}

/* Only our own: somebody may have thought that we are dead. */
void store_lock_drop(StoreLock *lock) {
        FileStand st;

        if (lock->dir >= 0 && file_stand_at(lock->dir, STORE_LOCK, AT_SYMLINK_NOFOLLOW, &st) == 0 &&
            st.ino == lock->ino)
                (void)unlinkat(lock->dir, STORE_LOCK, 0);
        lock->dir = close_fd(lock->dir);
}
