/* SPDX-License-Identifier: MIT */

/* file_lock(): who runs already, and who only seems to.
 *
 * A child between fork and exec has copies of all descriptors, also of those that exec will close. If the
 * process that took the lock is killed in that moment, the lock lives on for as long as the child needs to
 * get to its exec. Nobody holds it on purpose then, so it is worth a short wait.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

enum {
        LEFT_STEP_US = 2 * 1000,
        LEFT_STEPS = 1000, /* two seconds: an exec on a machine that is very busy */
        UNKNOWN_STEPS = 5,
        WAIT_STEP_US = 50,
        WAIT_STEP_MAX_US = 5000,
};

/* Whether path still names the file behind fd: somebody may have unlinked or replaced it before it was
 * locked. */
static bool is_same_file(int fd, const char *path) {
        struct stat a, b;

        return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* The pid of who took the lock on st, as a line of /proc/locks tells it. 0: another lock's line, or a
 * process of another pid namespace. */
static pid_t taker_in(const char *line, const struct stat *st) {
        unsigned int dev_major, dev_minor;
        unsigned long long inode;
        int pid;

        if (sscanf(line, "%*[^:]: FLOCK %*s %*s %d %x:%x:%llu", &pid, &dev_major, &dev_minor, &inode) != 4)
                return 0;
        return inode == st->st_ino && makedev(dev_major, dev_minor) == st->st_dev ? pid : 0;
}

/* 0: it cannot be told; perhaps nobody has it any more. */
static pid_t taker_of(int fd) {
        pid_t pid = 0;
        char line[256];
        struct stat st;
        FILE *locks;

        if (fstat(fd, &st) < 0)
                return 0;
        locks = fopen("/proc/locks", "re");
        if (!locks)
                return 0;
        while (!pid && fgets(line, sizeof(line), locks))
                pid = taker_in(line, &st);
        fclose(locks);
        return pid;
}

pid_t file_lock_taker(const char *path) {
        _cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW);

        return fd < 0 ? 0 : taker_of(fd);
}

/* Whether it is worth trying again: the process that took the lock is there no more, or nobody seems to have
 * it, which can be a matter of the moment, or of the file system. */
static bool is_left_behind(int fd, int *n_left, int *n_unknown) {
        pid_t pid = taker_of(fd);

        if (pid <= 0)
                return (*n_unknown)-- > 0;
        return (*n_left)-- > 0 && kill(pid, 0) < 0 && errno == ESRCH;
}

static int lock(int fd) {
        int r;

        do
                r = flock(fd, LOCK_EX | LOCK_NB);
        while (r < 0 && errno == EINTR);
        if (r < 0)
                return errno == EWOULDBLOCK ? FILE_E_LOCKED : error_origin(-errno);
        return 0;
}

int file_lock(const char *path, int *ret) {
        int n_left = LEFT_STEPS, n_unknown = UNKNOWN_STEPS;

        for (;;) {
                _cleanup_(closep) int fd =
                        open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW, 0600);
                int r = fd < 0 ? error_origin(-errno) : lock(fd);

                if (r == FILE_E_LOCKED && is_left_behind(fd, &n_left, &n_unknown)) {
                        nanosleep(&(struct timespec){.tv_nsec = LEFT_STEP_US * 1000L}, NULL);
                        continue;
                }
                if (r)
                        return r;
                if (!is_same_file(fd, path))
                        continue;
                *ret = fd;
                fd = -1;
                return 0;
        }
}

static int64_t now_us(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int file_lock_within(const char *path, int64_t limit_ms, int *ret) {
        int64_t until = now_us() + limit_ms * 1000;
        long step_us = WAIT_STEP_US;
        int r;

        while ((r = file_lock(path, ret)) == FILE_E_LOCKED && now_us() < until) {
                nanosleep(&(struct timespec){.tv_nsec = step_us * 1000}, NULL);
                step_us = MIN(step_us * 2, (long)WAIT_STEP_MAX_US);
        }
        return r;
}
