/* SPDX-License-Identifier: MIT */
/*
 * Programs that are not ours and matter to ours: daemons of the originals in our place, and the IM bridges
 * of groups, which musterd does not start.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/process.h"
#include "base/yaml.h"
#include "cli/doctor/doctor.h"
#include "cli/link/native.h"
#include "wire/socket.h"

enum { BRIDGE_DOCUMENT_BYTES = 16 << 20 };

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
