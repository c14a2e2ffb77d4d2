/* SPDX-License-Identifier: MIT */
/*
 * The end of the child and of everything it started. The shim is a child subreaper: whatever forks away,
 * daemonises or outlives its parent becomes our own child, so "no child is left" (ECHILD) is proof that
 * nothing of the tree is left.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/macro.h"
#include "shim/shim-internal.h"

enum {
        TREE_MAX = 4096,          /* processes signalled in one go */
        LEFTOVER_GRACE_MS = 1000, /* for what the child leaves behind when it ends by itself */
        KILL_AGAIN_MS = 20,       /* orphans of killed ones arrive one generation at a time */
};

static int64_t shim_tree_clock_us(clockid_t id) {
        struct timespec ts;

        clock_gettime(id, &ts);
        return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t shim_now_ms(void) {
        return shim_tree_clock_us(CLOCK_MONOTONIC) / 1000;
}

int64_t shim_wall_us(void) {
        return shim_tree_clock_us(CLOCK_REALTIME);
}

/* Appends the children that a thread started, from the kernel's own list; returns the new count. */
static size_t add_children_of(int tasks, const char *thread, pid_t pids[TREE_MAX], size_t n) {
        char path[NAME_MAX + sizeof("/children")], text[4096];
        size_t kept = 0;
        ssize_t k;
        int fd;

        snprintf(path, sizeof(path), "%s/children", thread);
        fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
        while (fd >= 0 && (k = read(fd, text + kept, sizeof(text) - 1 - kept)) > 0) {
                char *at = text, *end;
                text[kept + (size_t)k] = 0;
                for (; (end = strchr(at, ' ')); at = end + 1)
                        if (n < TREE_MAX && atoi(at) > 1)
                                pids[n++] = atoi(at);
                kept = strlen(at); /* a number cut by the buffer's end */
                memmove(text, at, kept);
        }
        close_fd(fd);
        return n;
}

/* Of all threads of a process. What does not fit is met again later: as an orphan it becomes our own child.
 * readdir(3) would allocate. */
static size_t add_children(pid_t pid, pid_t pids[TREE_MAX], size_t n) {
        char path[64], entries[4096] __attribute__((aligned(__alignof__(struct dirent64))));
        ssize_t k;
        int tasks;

        snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
        tasks = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        while (tasks >= 0 && (k = getdents64(tasks, entries, sizeof(entries))) > 0)
                for (ssize_t at = 0; at < k;) {
                        const struct dirent64 *entry = (const void *)(entries + at);
                        at += entry->d_reclen;
                        if (entry->d_name[0] != '.')
                                n = add_children_of(tasks, entry->d_name, pids, n);
                }
        close_fd(tasks);
        return n;
}

/* From the kernel's list of what a process ignores; false when there is no such process. */
static bool ignores_term(pid_t pid) {
        char path[64], text[4096];
        const char *at;
        ssize_t n;
        int fd;

        snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
        close_fd(fd);
        text[n > 0 ? n : 0] = 0;
        at = strstr(text, "\nSigIgn:");
        return at && strtoull(at + strlen("\nSigIgn:"), NULL, 16) & 1ull << (SIGTERM - 1);
}

/* One that is stopped would never see it. Interactive shells ignore TERM; they go, with their jobs, when
 * their terminal hangs up. Who minds TERM, or has no terminal, gets no HUP: it would be ended before it has
 * tidied up. */
static void terminate(pid_t pid, bool has_terminal) {
        bool gets_hup = has_terminal && ignores_term(pid);

        (void)kill(pid, SIGTERM);
        if (gets_hup)
                (void)kill(pid, SIGHUP);
        (void)kill(pid, SIGCONT);
}

/* Everybody below us, also those in other groups, sessions and PID namespaces. */
static void signal_descendants(int signum, bool has_terminal) {
        static pid_t pids[TREE_MAX]; /* too large for the stack of a small process; used by nobody else */
        size_t n = add_children(getpid(), pids, 0);

        for (size_t i = 0; i < n; i++)
                n = add_children(pids[i], pids, n);
        for (size_t i = 0; i < n; i++)
                if (signum == SIGTERM)
                        terminate(pids[i], has_terminal);
                else
                        (void)kill(pids[i], signum);
}

/* The child's group and every orphan that came to us. */
static void shim_tree_signal(Shim *shim, int signum) {
        if (!shim->child_ended)
                (void)kill(-shim->child, signum);
        signal_descendants(signum, shim->n_fds == 1);
        if (signum == SIGTERM && !shim->child_ended)
                (void)kill(-shim->child, SIGCONT);
}

/* All that is in it, in one go, before anybody can fork; what has left it is found by the walk, which does
 * it alone where the kernel has no such file. */
static void kill_cgroup(const Shim *shim) {
        int fd = shim->cgroup < 0 ? -1 : openat(shim->cgroup, "cgroup.kill", O_WRONLY | O_CLOEXEC);

        if (fd >= 0)
                (void)!write(fd, "1", 1);
        close_fd(fd);
}

/* Who asks again can bring the end forward, not put it off. */
void shim_kill(Shim *shim, int grace_ms) {
        int64_t kill_at_ms = shim_now_ms() + MAX(grace_ms, 0);

        if (shim->tree_is_gone)
                return;
        if (grace_ms > 0 && !shim->is_killing)
                shim_tree_signal(shim, SIGTERM);
        shim->kill_at_ms = shim->is_killing ? MIN(shim->kill_at_ms, kill_at_ms) : kill_at_ms;
        shim->is_killing = true;
        if (grace_ms <= 0)
                shim_kill_step(shim);
}

int shim_kill_wait_ms(const Shim *shim) {
        int64_t left = shim->kill_at_ms - shim_now_ms();

        if (!shim->is_killing || shim->tree_is_gone)
                return -1;
        return left > 0 ? (int)left : 0;
}

void shim_kill_step(Shim *shim) {
        if (!shim->is_killing || shim->tree_is_gone || shim_now_ms() < shim->kill_at_ms)
                return;
        kill_cgroup(shim);
        shim_tree_signal(shim, SIGKILL);
        shim->kill_at_ms = shim_now_ms() + KILL_AGAIN_MS;
}

static void note_exit(Shim *shim, int status) {
        ShimRecord *record = shim->record;

        shim->child_ended = true;
        shim->own.wait_status = record->wait_status = status;
        shim->own.ended_us = record->ended_us = shim_wall_us();
        atomic_store(&shim->own.state, SHIM_STATE_EXITED);
        atomic_store(&record->state, SHIM_STATE_EXITED);
        shim_tell(shim, SHIM_EXITED, status, 0);
}

void shim_reap(Shim *shim) {
        int status;
        pid_t pid;

        while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
                if (pid == shim->child)
                        note_exit(shim, status);
        if (pid < 0 && errno == ECHILD && !shim->tree_is_gone) {
                shim->tree_is_gone = true;
                shim_tell(shim, SHIM_GONE, 0, 0);
        } else if (shim->child_ended && !shim->tree_is_gone && !shim->is_killing)
                shim_kill(shim, LEFTOVER_GRACE_MS);
}
