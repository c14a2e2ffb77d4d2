/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "collab/autostart"

#include "collab/actor/autostart.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json/json.h"
#include "base/macro.h"
#include "collab/actor/runner.h"
#include "collab/collab.h"
#include "collab/group/group-change.h"

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

/* group_dir: of the group; kept: paths of files that belong to runners we have. */
static void leftovers_clear(const char *group_dir, const char *group_id, const StrVec *kept) {
        static const char *const folders[] = {"state/runners/pty", "state/runners/headless"};

        for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
                _cleanup_(freep) char *folder = path_join(group_dir, folders[i]);

                if (folder)
                        clear_folder(folder, group_id, kept);
        }
}

typedef struct Autostart {
        Collab *collab;
        char *groups_path;
        StrVec kept;   /* state files of the runners that we have */
        StrVec groups; /* those that are wanted to run */
} Autostart;

static void free_self(Autostart *self) {
        free(self->groups_path);
        strvec_deinit(&self->kept);
        strvec_deinit(&self->groups);
        free(self);
}

/* ---- on a worker: which groups ---------------------------------------------------------------- */

static bool autostart_is_wanted(const char *dir) {
        _cleanup_(freep) char *path = path_join(dir, "group.yaml");
        Document *document = NULL;
        bool is_running = false;

        if (path && !document_read(&document, path, DOCUMENT_YAML))
                json_bool(json_get(document->json, "running"), &is_running);
        document_unref(document);
        return is_running;
}

static void autostart_look(void *user) {
        Autostart *self = user;
        DIR *dir = opendir(self->groups_path);

        (void)file_replace(self->collab->inputrc_path, STR("set enable-bracketed-paste off\n"), 0600,
                           FILE_RUNTIME);

        for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir)) {
                _cleanup_(freep) char *path = NULL;

                if (!group_id_is_valid(str_from(entry->d_name)))
                        continue;
                path = path_join(self->groups_path, entry->d_name);
                if (!path)
                        break;
                leftovers_clear(path, entry->d_name, &self->kept);
                if (autostart_is_wanted(path))
                        (void)strvec_push(&self->groups, entry->d_name);
        }
        if (dir)
                closedir(dir);
}

/* ---- on the loop: starting -------------------------------------------------------------------- */

static void start_actor(Group *group, const ActorView *actor) {
        int r = runner_begin(group, actor, NULL);

        if (r)
                log_warning(&group->collab->daemon->log, group->id, "an actor cannot be started: %s",
                            strerror(-r));
}

/* A group without a place to work is no longer wanted to run, as the contract has it. */
static int autostart_give_up(Group *group) {
        GroupChange *change = group_change_begin(group, NULL, 0);
        GroupDoc *doc = group_change_doc(change);

        if (!doc)
                return group_change_abort(change);
        change_try(change, group_doc_set_bool(doc, "running", false));
        return group_change_commit(change, NULL);
}

static int start_group(_unused_ Call *call, Group *group, _unused_ const Carry *carry) {
        const GroupDoc *doc = group->doc;

        if (!doc->is_running || group->collab->is_ending || group->collab->daemon->is_stopping)
                return 0;
        if (standstill_holds(&group->collab->daemon->standstill, group->id))
                return 0;
        if (!doc->active_scope_key.n)
                return autostart_give_up(group);
        for (size_t i = 0; i < doc->n_actors; i++) {
                const ActorView *actor = &doc->actors[i];
                if (actor->is_enabled && !runner_find(group->collab, str_from(group->id), actor->id) &&
                    runner_can_start(doc, actor))
                        start_actor(group, actor);
        }
        return 0;
}

static void autostart_looked(void *user) {
        Autostart *self = user;
        Collab *collab = self->collab;

        runners_open(collab);
        for (size_t i = 0; i < self->groups.n && !collab->daemon->is_stopping; i++) {
                Group *group = NULL;
                int r = group_get(collab, str_from(self->groups.items[i]), &group);

                if (!r)
                        r = group_edit(group, start_group, NULL);
                if (r)
                        log_warning(&collab->daemon->log, self->groups.items[i], "cannot be started: %s",
                                    strerror(-r));
        }
        free_self(self);
}

int autostart_begin(Collab *collab) {
        Autostart *self = calloc(1, sizeof(*self));
        int r = self ? 0 : error_origin(-ENOMEM);

        if (self) {
                *self = (Autostart){.collab = collab, .groups_path = strdup(collab->groups_path)};
                r = self->groups_path ? 0 : error_origin(-ENOMEM);
        }
        for (Runner *runner = LIST_FIRST(&collab->runners); !r && runner; runner = LIST_NEXT(runner, link))
                r = strvec_push(&self->kept, runner->file_path);
        if (!r)
                r = loop_work(collab->daemon->loop, autostart_look, autostart_looked, self);
        collab->is_clearing = !r;
        if (r && self)
                free_self(self);
        return error_trace(r);
}
