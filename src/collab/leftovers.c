/* SPDX-License-Identifier: MIT */
#include "collab/leftovers.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/macro.h"

enum { STATE_FILE_MAX = 64 << 10, ENVIRON_MAX = 4 << 20, GRACE_MS = 1000 };

static bool leftovers_has_line(Str environment, const char *name, Str value) {
        size_t n_name = strlen(name);

        for (size_t at = 0; at < environment.n;) {
                const char *line = environment.data + at;
                size_t n = strnlen(line, environment.n - at);

                if (n == n_name + 1 + value.n && !memcmp(line, name, n_name) && line[n_name] == '=' &&
                    !memcmp(line + n_name + 1, value.data, value.n))
                        return true;
                at += n + 1;
        }
        return false;
}

/* The environment that a process was started with says whose it is. */
static bool is_actor(pid_t pid, const char *group_id, Str actor) {
        _cleanup_(buf_deinit) Buf environment = BUF_NULL;
        char path[64];

        snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
        return !file_read(path, ENVIRON_MAX, &environment) &&
               leftovers_has_line(buf_str(&environment), "CCCC_GROUP_ID", str_from(group_id)) &&
               leftovers_has_line(buf_str(&environment), "CCCC_ACTOR_ID", actor);
}

/* The pidfd pins the process between the look and the signals. */
static void leftovers_end(pid_t pid, const char *group_id, Str actor) {
        int fd = (int)syscall(SYS_pidfd_open, pid, 0);
        struct pollfd watch = {.fd = fd, .events = POLLIN};

        if (fd < 0)
                return;
        if (is_actor(pid, group_id, actor) && !syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0)) {
                bool is_leader = getpgid(pid) == pid;

                (void)(is_leader ? kill(-pid, SIGTERM)
                                 : syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0));
                if (poll(&watch, 1, GRACE_MS) == 0)
                        (void)(is_leader ? kill(-pid, SIGKILL)
                                         : syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0));
        }
        close_fd(fd);
}

static void clear_one(const char *path, const char *group_id) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Json *json = NULL;
        int64_t pid = 0;

        if (!file_read(path, STATE_FILE_MAX, &text) &&
            !json_parse(&arena, text.data, text.n, NULL, &json, NULL) &&
            json_int64(json_get(json, "pid"), &pid) && pid > 1 && pid <= INT32_MAX)
                leftovers_end((pid_t)pid, group_id, json_str(json_get(json, "actor_id")));
        (void)unlink(path);
}

static bool is_kept(const StrVec *kept, const char *path) {
        for (size_t i = 0; i < kept->n; i++)
                if (!strcmp(kept->items[i], path))
                        return true;
        return false;
}

static void clear_folder(const char *folder, const char *group_id, const StrVec *kept) {
        DIR *dir = opendir(folder);

        for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir)) {
                _cleanup_(freep) char *path = NULL;
                size_t n = strlen(entry->d_name);

                if (n <= strlen(".json") || strcmp(entry->d_name + n - strlen(".json"), ".json") != 0)
                        continue;
                path = path_join(folder, entry->d_name);
                if (path && !is_kept(kept, path))
                        clear_one(path, group_id);
        }
        if (dir)
                closedir(dir);
}

void leftovers_clear(const char *group_dir, const char *group_id, const StrVec *kept) {
        static const char *const folders[] = {"state/runners/pty", "state/runners/headless"};

        for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
                _cleanup_(freep) char *folder = path_join(group_dir, folders[i]);

                if (folder)
                        clear_folder(folder, group_id, kept);
        }
}
