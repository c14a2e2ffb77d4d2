/* SPDX-License-Identifier: MIT */
/*
 * Programs that are not ours and matter to ours: daemons of the originals in our place, those that write to the same
 * workspaces, and the IM bridges of groups, which musterd does not start.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/process.h"
#include "base/time.h"
#include "base/json/yaml.h"
#include "cli/doctor/doctor.h"
#include "cli/link/native.h"
#include "wire/socket.h"

enum { BRIDGE_DOCUMENT_BYTES = 16 << 20, LOCK_BYTES = 4096, LOCK_LONG_MS = 5000 };

/* ---- daemons --------------------------------------------------------------------------------- */

/* systemd holds sockets for us. */
static bool doctor_is_ours(const Doctor *doctor, pid_t pid, const char *program) {
        return !pid || (doctor->info && info_pid(doctor->info) == pid) || !strcmp(program, "musterd") ||
               !strcmp(program, "systemd");
}

static void doctor_look_at_server(Doctor *doctor, const char *name, const char *path) {
        char program[PROCESS_NAME_MAX];
        SocketState state;
        pid_t pid = 0;

        if (!path || socket_probe(path, &state, &pid) || state != SOCKET_LIVE)
                return;
        process_name(pid, program);
        if (!doctor_is_ours(doctor, pid, program))
                doctor_find(doctor, DOCTOR_WARNING, path,
                            "%s, pid %d, serves %s clients, not musterd; end it, then muster up",
                            *program ? program : "a process", (int)pid, name);
}

void doctor_check_servers(Doctor *doctor) {
        _cleanup_(freep) char *cccc =
                doctor->cccc_home ? path_join(doctor->cccc_home, "daemon/ccccd.sock") : NULL;
        _cleanup_(freep) char *coop = path_expand("~/.coop/sock");

        doctor_look_at_server(doctor, "CCCC", cccc);
        doctor_look_at_server(doctor, "coop", coop);
        if (!doctor->has_said)
                doctor_pass(doctor, "none in our place");
}

/* ---- workspaces ------------------------------------------------------------------------------ */

/* The lock file of all that write there is held for moments only. */
static void doctor_look_at_lock(Doctor *doctor, const char *folder) {
        _cleanup_(freep) char *path = path_join(folder, ".local/locks/workspace.write.lock");
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int64_t pid = 0, since_us = 0;
        Json *json = NULL;

        if (!path || file_read(path, LOCK_BYTES, &text))
                return;
        if (!json_parse(&doctor->arena, text.data, text.n, NULL, &json, NULL)) {
                (void)json_int64(json_get(json, "pid"), &pid);
                (void)time_parse(json_text_of(json, "acquired_at"), &since_us);
        }
        if (pid > 0 && kill((pid_t)pid, 0) && errno == ESRCH)
                doctor_find(
                        doctor, DOCTOR_WARNING, path,
                        "pid %lld, which is gone, has left its lock: writes wait up to two minutes for it",
                        (long long)pid);
        else if ((int64_t)time(NULL) * 1000000 - since_us > (int64_t)LOCK_LONG_MS * 1000)
                doctor_find(doctor, DOCTOR_WARNING, path, "pid %lld holds it for long: writes are refused",
                            (long long)pid);
}

/* Copies of what a power loss took and for which there was no place any more, and the journal. */
static void doctor_look_at_store(Doctor *doctor, const char *workspace) {
        _cleanup_(freep) char *folder = path_join(workspace, ".local/muster");
        _cleanup_(freep) char *journal = folder ? path_join(folder, "journal") : NULL;
        struct dirent **entries = NULL;
        int n = folder ? scandir(folder, &entries, NULL, alphasort) : 0;

        for (int i = 0; i < n; i++) {
                if (!strncmp(entries[i]->d_name, "cut.", 4))
                        doctor_find(doctor, DOCTOR_NOTE, folder,
                                    "%s holds what could not be put back after a crash", entries[i]->d_name);
                free(entries[i]);
        }
        free(entries);
        if (journal && !access(journal, F_OK) && access(journal, R_OK | W_OK))
                doctor_find(doctor, DOCTOR_ERROR, journal, "cannot be written: %s", strerror(errno));
}

static void doctor_look_at_workspace(Doctor *doctor, const Json *one) {
        Str path = arena_str(&doctor->arena, json_text_of(one, "workspace_dir"));
        int64_t other = 0;

        if (!path.data)
                return;
        if (access(path.data, F_OK)) {
                doctor_find(doctor, DOCTOR_WARNING, path.data, "is gone, or was moved while it was open");
                return;
        }
        (void)json_int64(json_get(one, "other_daemon"), &other);
        if (other)
                doctor_find(doctor, DOCTOR_WARNING, path.data,
                            "another daemon, pid %lld, writes there: ours only reads", (long long)other);
        if (!json_truth_of(one, "is_ready"))
                doctor_find(doctor, DOCTOR_NOTE, path.data, "what a crash left is being put right");
        doctor_look_at_lock(doctor, path.data);
        doctor_look_at_store(doctor, path.data);
}

void doctor_check_workspaces(Doctor *doctor) {
        const Request request = {.dialect = "native", .op = "company.workspaces"};
        Reply reply = {0};
        const Json *list;
        size_t n;

        if (!doctor->info) {
                doctor_pass(doctor, "no daemon has one open");
                return;
        }
        if (exchange(&doctor->link, &request, &doctor->arena, &reply) || reply.is_error) {
                doctor_find(doctor, DOCTOR_NOTE, NULL, "the daemon does not tell which ones it has open");
                return;
        }
        list = json_get(reply.result, "workspaces");
        n = json_count(list);
        json_each (one, list)
                doctor_look_at_workspace(doctor, one);
        if (!doctor->has_said)
                doctor_pass(doctor, "%zu open%s", n, n ? ", nothing holds them" : "");
}

/* ---- IM bridges ------------------------------------------------------------------------------ */

static bool doctor_bridge_runs(const char *folder) {
        _cleanup_(freep) char *path = path_join(folder, "state/im_bridge.pid");
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        long pid;

        if (!path || file_read(path, 64, &text) || !buf_cstr(&text))
                return false;
        pid = strtol(text.data, NULL, 10);
        return pid > 0 && (!kill((pid_t)pid, 0) || errno == EPERM);
}

/* True: there is one, and it is enabled. */
static bool doctor_look_at_bridge(Doctor *doctor, const char *folder, const char *id) {
        _cleanup_(freep) char *path = path_join(folder, "group.yaml");
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        bool is_enabled = false;
        Json *json = NULL;

        if (!path || file_read(path, BRIDGE_DOCUMENT_BYTES, &text) ||
            yaml_parse(&arena, buf_str(&text), &json, NULL) ||
            !json_bool(json_get(json_get(json, "im"), "enabled"), &is_enabled) || !is_enabled)
                return false;
        if (!doctor_bridge_runs(folder))
                doctor_find(doctor, DOCTOR_WARNING, folder,
                            "its IM bridge is enabled and does not run, and musterd starts none: "
                            "cccc im start --group %s",
                            id);
        return true;
}

void doctor_check_bridges(Doctor *doctor) {
        _cleanup_(freep) char *groups = doctor->cccc_home ? path_join(doctor->cccc_home, "groups") : NULL;
        struct dirent **entries = NULL;
        int n = groups ? scandir(groups, &entries, NULL, alphasort) : 0, n_enabled = 0;

        for (int i = 0; i < n; i++) {
                const char *name = entries[i]->d_name;
                _cleanup_(freep) char *folder = !strncmp(name, "g_", 2) ? path_join(groups, name) : NULL;

                n_enabled += folder && doctor_look_at_bridge(doctor, folder, name);
                free(entries[i]);
        }
        free(entries);
        if (!doctor->has_said)
                doctor_pass(doctor, "%d enabled%s", n_enabled, n_enabled ? ", all run" : "");
}
