/* SPDX-License-Identifier: MIT */
/*
 * What lies on the disk: the folders and who may write to them, sockets and pid files that nobody answers
 * for, documents, ledgers and their indexes.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json/yaml.h"
#include "base/time.h"
#include "cli/doctor/doctor.h"
#include "core/ledger/ledger-tool.h"

enum { DOCUMENT_BYTES = 16 << 20, STALE_SECONDS = 600 };

/* ---- folders --------------------------------------------------------------------------------- */

/* False: there is nothing to look into. */
bool doctor_look_at_folder(Doctor *doctor, const char *path) {
        struct stat st;

        if (stat(path, &st)) {
                doctor_find(doctor, errno == ENOENT ? DOCTOR_NOTE : DOCTOR_ERROR, path, "%s",
                            errno == ENOENT ? "is not there yet" : strerror(errno));
                return false;
        }
        if (!S_ISDIR(st.st_mode))
                doctor_find(doctor, DOCTOR_ERROR, path, "is no folder");
        else if (access(path, R_OK | W_OK | X_OK))
                doctor_find(doctor, DOCTOR_ERROR, path, "may not be read and written by us");
        if (st.st_uid != geteuid() && geteuid() != 0)
                doctor_find(doctor, DOCTOR_WARNING, path, "belongs to another user");
        if (st.st_mode & (S_IWGRP | S_IWOTH))
                doctor_find(doctor, DOCTOR_WARNING, path, "others may write to it: chmod go-w");
        return S_ISDIR(st.st_mode);
}

/* ---- what nobody answers for ----------------------------------------------------------------- */

void doctor_look_at_socket(Doctor *doctor, const char *path) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        _cleanup_(closep) int fd = -1;
        struct stat st;

        if (lstat(path, &st) || strlen(path) >= sizeof(address.sun_path))
                return;
        if (!S_ISSOCK(st.st_mode)) {
                doctor_find(doctor, DOCTOR_ERROR, path, "is no socket");
                return;
        }
        memcpy(address.sun_path, path, strlen(path));
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) && errno == ECONNREFUSED)
                doctor_find(doctor, DOCTOR_WARNING, path,
                            "nobody listens there; the next daemon replaces it");
}

static void doctor_look_at_pid(Doctor *doctor, const char *path) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        long pid;

        if (file_read(path, 64, &text) || !buf_cstr(&text))
                return;
        pid = strtol(text.data, NULL, 10);
        if (pid <= 0 || (kill((pid_t)pid, 0) && errno == ESRCH))
                doctor_find(doctor, DOCTOR_WARNING, path,
                            "no process has this number; the next daemon replaces it");
}

/* Halves of replacements that a crash left behind: dot files that nobody has touched for a while. */
static void doctor_look_at_leftovers(Doctor *doctor, const char *folder) {
        DIR *dir = opendir(folder);

        for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir)) {
                _cleanup_(freep) char *path = NULL;
                struct stat st;

                if (entry->d_name[0] != '.' || !strchr(entry->d_name + 1, '.') ||
                    !strcmp(entry->d_name, ".."))
                        continue;
                path = path_join(folder, entry->d_name);
                if (path && !lstat(path, &st) && S_ISREG(st.st_mode) &&
                    time(NULL) - st.st_mtime > STALE_SECONDS)
                        doctor_find(doctor, DOCTOR_NOTE, path,
                                    "left over from a write that was cut short; may be removed");
        }
        if (dir)
                closedir(dir);
}

/* ---- documents and ledgers ------------------------------------------------------------------- */

void doctor_look_at_document(Doctor *doctor, const char *folder, const char *name, bool is_needed) {
        _cleanup_(freep) char *path = path_join(folder, name);
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        bool is_yaml = strstr(name, ".yaml") != NULL;
        Json *json = NULL;
        int r = path ? file_read(path, DOCUMENT_BYTES, &text) : -ENOMEM;

        if (r == FILE_E_MISSING) {
                if (is_needed)
                        doctor_find(doctor, DOCTOR_ERROR, path, "is missing");
                return;
        }
        if (!r)
                r = is_yaml ? yaml_parse(&arena, buf_str(&text), &json, NULL)
                            : json_parse(&arena, text.data, text.n, NULL, &json, NULL);
        if (r < 0 || r == FILE_E_TOO_LARGE)
                doctor_find(doctor, DOCTOR_ERROR, path ? path : name, "cannot be read");
        else if (r || !json_is(json, JSON_OBJECT))
                doctor_find(doctor, DOCTOR_ERROR, path, "is no %s mapping", is_yaml ? "YAML" : "JSON");
}

static void doctor_look_at_ledger(Doctor *doctor, const char *folder, const char *name, const char *state) {
        _cleanup_(freep) char *path = path_join(folder, name), *state_path = path_join(folder, state);
        LedgerReport report = {0};
        int r;

        if (!path || !state_path || access(path, F_OK))
                return;
        r = ledger_inspect(path, state_path, &report);
        if (r)
                doctor_find(doctor, DOCTOR_ERROR, path, "cannot be read: %s", strerror(-r));
        else if (!ledger_report_is_sound(&report))
                doctor_find(doctor, DOCTOR_ERROR, path,
                            "damaged: %llu lines, %llu bytes of a torn tail; muster ledger repair",
                            (unsigned long long)report.n_damaged, (unsigned long long)report.n_tail);
        else if (report.index == LEDGER_INDEX_UNUSABLE)
                doctor_find(doctor, DOCTOR_NOTE, path, "its index will be made again when it is opened");
        ledger_report_deinit(&report);
}

static void doctor_look_at_group(Doctor *doctor, const char *folder) {
        _cleanup_(freep) char *state = path_join(folder, "state");

        if (!state || !doctor_look_at_folder(doctor, folder))
                return;
        doctor_look_at_document(doctor, folder, "group.yaml", true);
        doctor_look_at_document(doctor, folder, "state/read_cursors.json", false);
        doctor_look_at_document(doctor, folder, "state/preamble_sent.json", false);
        doctor_look_at_document(doctor, folder, "state/automation.json", false);
        doctor_look_at_ledger(doctor, folder, "ledger.jsonl", "state/ledger");
        doctor_look_at_ledger(doctor, folder, "state/delivery.jsonl", "state/delivery");
        doctor_look_at_leftovers(doctor, folder);
        doctor_look_at_leftovers(doctor, state);
}

/* ---- the checks ------------------------------------------------------------------------------ */

void doctor_check_groups(Doctor *doctor) {
        _cleanup_(freep) char *groups = doctor->cccc_home ? path_join(doctor->cccc_home, "groups") : NULL;
        struct dirent **entries = NULL;
        int n = groups ? scandir(groups, &entries, NULL, alphasort) : 0, n_groups = 0;

        for (int i = 0; i < n; i++) {
                _cleanup_(freep) char *path =
                        !strncmp(entries[i]->d_name, "g_", 2) ? path_join(groups, entries[i]->d_name) : NULL;

                if (path) {
                        doctor_look_at_group(doctor, path);
                        n_groups++;
                }
                free(entries[i]);
        }
        free(entries);
        if (!doctor->has_said)
                doctor_pass(doctor, "%d: documents parse, ledgers are sound", n_groups);
}

void doctor_check_audit(Doctor *doctor) {
        _cleanup_(freep) char *folder = doctor->home ? path_join(doctor->home, "audit") : NULL,
                              *path = folder ? path_join(folder, "ledger.jsonl") : NULL,
                              *state = folder ? path_join(folder, "state/ledger") : NULL;
        char last[TIME_TEXT_MAX] = "-";
        LedgerReport report = {0};

        if (!path || !state || access(path, F_OK)) {
                doctor_pass(doctor, "nothing was refused");
                return;
        }
        doctor_look_at_ledger(doctor, folder, "ledger.jsonl", "state/ledger");
        if (doctor->has_said || ledger_inspect(path, state, &report))
                return;
        if (report.chain.is_broken)
                doctor_find(doctor, DOCTOR_ERROR, path, "somebody has changed it: its chain does not fit");
        if (report.last_ts_us)
                time_format_s(report.last_ts_us, last);
        if (!doctor->has_said)
                doctor_pass(doctor, "%llu, the last %s: %s", (unsigned long long)report.n_events, last,
                            path);
        ledger_report_deinit(&report);
}

void doctor_check_cccc(Doctor *doctor) {
        const char *home = doctor->cccc_home;
        _cleanup_(freep) char *sock = home ? path_join(home, "daemon/ccccd.sock") : NULL;
        _cleanup_(freep) char *pid = home ? path_join(home, "daemon/ccccd.pid") : NULL;

        if (!sock || !pid || !doctor_look_at_folder(doctor, home))
                return;
        doctor_look_at_document(doctor, home, "registry.json", false);
        doctor_look_at_document(doctor, home, "settings.yaml", false);
        doctor_look_at_document(doctor, home, "active.json", false);
        doctor_look_at_leftovers(doctor, home);
        doctor_look_at_socket(doctor, sock);
        doctor_look_at_pid(doctor, pid);
        if (!doctor->has_said)
                doctor_pass(doctor, "%s", home);
}

void doctor_check_home(Doctor *doctor) {
        if (!doctor->home)
                doctor_find(doctor, DOCTOR_ERROR, NULL, "cannot tell where it is: set HOME");
        else if (doctor_look_at_folder(doctor, doctor->home) && !doctor->has_said)
                doctor_pass(doctor, "%s", doctor->home);
}

void doctor_check_socket(Doctor *doctor) {
        if (doctor->socket)
                doctor_look_at_socket(doctor, doctor->socket);
        if (!doctor->has_said && doctor->socket)
                doctor_pass(doctor, "%s%s", doctor->socket, doctor->info ? "" : " (nobody is there)");
}
