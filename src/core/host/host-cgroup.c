/* SPDX-License-Identifier: MIT */
#include "core/host/host-cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

enum { SMALL_MAX = 64 << 10, MOUNTS_MAX = 1 << 20 };
enum { REMOVE_TRIES = 50, REMOVE_TRY_MS = 50 }; /* then the group is left behind */

/* ---- finding the folder ---------------------------------------------------------------------- */

/* Where the unified hierarchy is mounted: " - cgroup2 " in a line whose fifth word is the place. */
static char *find_mount(void) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        char *line, *rest, *found = NULL;

        if (file_read("/proc/self/mountinfo", MOUNTS_MAX, &text) || !buf_cstr(&text))
                return NULL;
        for (line = strtok_r(text.data, "\n", &rest); line && !found; line = strtok_r(NULL, "\n", &rest))
                if (strstr(line, " - cgroup2 ") && sscanf(line, "%*s %*s %*s %*s %ms", &found) != 1)
                        found = NULL;
        return found;
}

/* Our own group: the line "0::PATH". */
static char *find_own(void) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        char *line, *rest;

        if (file_read("/proc/self/cgroup", SMALL_MAX, &text) || !buf_cstr(&text))
                return NULL;
        for (line = strtok_r(text.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
                if (!strncmp(line, "0::/", 4))
                        return strdup(line + 3);
        return NULL;
}

static bool is_delegated(const char *folder) {
        static const char *const names[] = {"user.delegate", "trusted.delegate"};
        char value[2];

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (getxattr(folder, names[i], value, sizeof(value)) == 1 && value[0] == '1')
                        return true;
        return false;
}

static char *find_folder(void) {
        _cleanup_(freep) char *mount = find_mount(), *own = find_own(), *folder = NULL;
        char *slash;

        if (!mount || !own)
                return NULL;
        slash = strrchr(own, '/');
        if (slash == own)
                return NULL; /* the root, or right below it: nobody's to give away */
        *slash = 0;
        folder = path_join(mount, own + 1);
        return folder && is_delegated(folder) ? steal(&folder) : NULL;
}

/* ---- files ----------------------------------------------------------------------------------- */

static int host_cgroup_put(const char *folder, const char *name, const char *value) {
        _cleanup_(freep) char *path = path_join(folder, name);
        _cleanup_(closep) int fd = path ? open(path, O_WRONLY | O_CLOEXEC) : -1;

        if (!path)
                return error_origin(-ENOMEM);
        if (fd < 0 || write(fd, value, strlen(value)) < 0)
                return error_origin(-errno);
        return 0;
}

static int host_cgroup_put_number(const char *folder, const char *name, int64_t value) {
        char text[32];

        snprintf(text, sizeof(text), "%lld", (long long)value);
        return error_trace(host_cgroup_put(folder, name, text));
}

static bool has_controller(const char *folder, const char *name) {
        _cleanup_(freep) char *path = path_join(folder, "cgroup.subtree_control");
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        char *word, *rest;

        if (!path || file_read(path, SMALL_MAX, &text) || !buf_cstr(&text))
                return false;
        for (word = strtok_r(text.data, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest))
                if (!strcmp(word, name))
                        return true;
        return false;
}

/* Groups of processes that are gone, from daemons that did not live to remove them. */
static void remove_empty(const char *folder) {
        DIR *dir = opendir(folder);
        struct dirent *entry;

        while (dir && (entry = readdir(dir)))
                if (!strncmp(entry->d_name, "hosted-", 7))
                        (void)unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
        if (dir)
                closedir(dir);
}

int cgroups_open(HostCgroups *cgroups, const char *said) {
        struct statfs fs;

        *cgroups = (HostCgroups){0};
        if (said && !strcmp(said, "none"))
                return 0;
        cgroups->folder = said && strcmp(said, "auto") != 0 ? strdup(said) : find_folder();
        if (!cgroups->folder)
                return 0;
        if (statfs(cgroups->folder, &fs) || fs.f_type != CGROUP2_SUPER_MAGIC ||
            access(cgroups->folder, W_OK)) {
                cgroups_deinit(cgroups);
                return error_origin(-ENOTSUP);
        }
        (void)host_cgroup_put(cgroups->folder, "cgroup.subtree_control",
                              "+memory"); /* what cannot be had is not there */
        (void)host_cgroup_put(cgroups->folder, "cgroup.subtree_control", "+pids");
        cgroups->has_memory = has_controller(cgroups->folder, "memory");
        cgroups->has_pids = has_controller(cgroups->folder, "pids");
        remove_empty(cgroups->folder);
        return 0;
}

void cgroups_deinit(HostCgroups *cgroups) {
        free(cgroups->folder);
        *cgroups = (HostCgroups){0};
}

/* ---- one of them ----------------------------------------------------------------------------- */

int cgroup_create(const char *path, const HostedLimits *limits) {
        int r = mkdir(path, 0755) ? -errno : 0;

        if (!r && limits->memory_max)
                r = host_cgroup_put_number(path, "memory.max", limits->memory_max);
        if (!r && limits->memory_max)
                (void)host_cgroup_put(path, "memory.oom.group",
                                      "1"); /* an agent without its helpers is of no use */
        if (!r && limits->n_pids)
                r = host_cgroup_put_number(path, "pids.max", limits->n_pids);
        if (r)
                (void)rmdir(path);
        return error_trace(r);
}

void cgroup_kill(const char *path) {
        (void)host_cgroup_put(path, "cgroup.kill", "1");
}

/* What was killed stays in its group until it is reaped: the kernel says when the last one is gone. */
static void remove_when_empty(void *user) {
        _cleanup_(freep) char *events = path_join(user, "cgroup.events");
        _cleanup_(closep) int fd = events ? open(events, O_RDONLY | O_CLOEXEC) : -1;
        char text[256];

        for (int i = 0; i < REMOVE_TRIES && rmdir(user) && errno == EBUSY && fd >= 0; i++) {
                struct pollfd watch = {.fd = fd, .events = POLLPRI};

                (void)!pread(fd, text, sizeof(text), 0); /* from here on changes are told */
                (void)poll(&watch, 1, REMOVE_TRY_MS);
        }
}

void cgroup_remove(Loop *loop, const char *path) {
        char *copy;

        if (!rmdir(path) || errno != EBUSY)
                return;
        copy = strdup(path);
        if (copy && loop_work_slow(loop, remove_when_empty, free, copy))
                free(copy);
}

int64_t count_user_threads(void) {
        DIR *dir = opendir("/proc");
        struct dirent *entry;
        struct stat st;
        int64_t n = 0;

        while (dir && (entry = readdir(dir))) {
                char path[300];

                snprintf(path, sizeof(path), "%s/task", entry->d_name);
                if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
                    !fstatat(dirfd(dir), path, &st, 0) && st.st_uid == getuid())
                        n += (int64_t)st.st_nlink - 2; /* a folder for each, beside . and .. */
        }
        if (dir)
                closedir(dir);
        return n;
}
