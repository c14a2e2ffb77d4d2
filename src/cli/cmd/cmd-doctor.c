/* SPDX-License-Identifier: MIT */
/*
 * muster doctor: looks at what lies on the disk, without the daemon and without changing anything: the
 * folders and who may write to them, sockets and pid files that nobody answers for, documents, ledgers and
 * their indexes.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json-writer.h"
#include "base/place.h"
#include "base/yaml.h"
#include "cli/cli.h"
#include "cli/print/report.h"
#include "core/ledger/ledger-tool.h"

enum { DOCUMENT_BYTES = 16 << 20, STALE_SECONDS = 600 };

typedef enum Level { LEVEL_NOTE, LEVEL_WARNING, LEVEL_ERROR } Level;
static const char *const level_names[] = {"note", "warning", "error"};

typedef struct Doctor {
        bool is_json;
        size_t n_checked, n_found[3];
} Doctor;

static void __attribute__((format(printf, 4, 5)))
find(Doctor *doctor, Level level, const char *path, const char *format, ...) {
        _cleanup_(buf_deinit) Buf line = BUF_NULL;
        JsonWriter w = JSON_WRITER(&line);
        char text[512];
        va_list args;

        va_start(args, format);
        vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        doctor->n_found[level]++;
        if (!doctor->is_json) {
                text_put(stdout, str_from(level_names[level]));
                printf(": ");
                text_put(stdout, str_from(path));
                printf(": ");
                text_put(stdout, str_from(text));
                printf("\n");
                return;
        }
        jw_begin_object(&w);
        jw_field_cstr(&w, "level", level_names[level]);
        jw_field_cstr(&w, "path", path);
        jw_field_cstr(&w, "message", text);
        jw_end_object(&w);
        printf(STR_FMT "\n", STR_ARG(buf_str(&line)));
}

/* ---- folders --------------------------------------------------------------------------------- */

/* False: there is nothing to look into. */
static bool check_folder(Doctor *doctor, const char *path) {
        struct stat st;

        doctor->n_checked++;
        if (stat(path, &st)) {
                find(doctor, errno == ENOENT ? LEVEL_NOTE : LEVEL_ERROR, path, "%s",
                     errno == ENOENT ? "is not there yet" : strerror(errno));
                return false;
        }
        if (!S_ISDIR(st.st_mode))
                find(doctor, LEVEL_ERROR, path, "is no folder");
        else if (access(path, R_OK | W_OK | X_OK))
                find(doctor, LEVEL_ERROR, path, "may not be read and written by us");
        if (st.st_uid != geteuid() && geteuid() != 0)
                find(doctor, LEVEL_WARNING, path, "belongs to another user");
        if (st.st_mode & (S_IWGRP | S_IWOTH))
                find(doctor, LEVEL_WARNING, path, "others may write to it: chmod go-w");
        return S_ISDIR(st.st_mode);
}

/* ---- what nobody answers for ----------------------------------------------------------------- */

static void check_socket(Doctor *doctor, const char *path) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        _cleanup_(closep) int fd = -1;
        struct stat st;

        doctor->n_checked++;
        if (lstat(path, &st) || strlen(path) >= sizeof(address.sun_path))
                return;
        if (!S_ISSOCK(st.st_mode)) {
                find(doctor, LEVEL_ERROR, path, "is no socket");
                return;
        }
        memcpy(address.sun_path, path, strlen(path));
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) && errno == ECONNREFUSED)
                find(doctor, LEVEL_WARNING, path, "nobody listens there; the next daemon replaces it");
}

static void check_pid(Doctor *doctor, const char *path) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        long pid;

        doctor->n_checked++;
        if (file_read(path, 64, &text) || !buf_cstr(&text))
                return;
        pid = strtol(text.data, NULL, 10);
        if (pid <= 0 || (kill((pid_t)pid, 0) && errno == ESRCH))
                find(doctor, LEVEL_WARNING, path, "no process has this number; the next daemon replaces it");
}

/* Halves of replacements that a crash left behind: dot files that nobody has touched for a while. */
static void check_leftovers(Doctor *doctor, const char *folder) {
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
                        find(doctor, LEVEL_NOTE, path,
                             "left over from a write that was cut short; may be removed");
        }
        if (dir)
                closedir(dir);
}

/* ---- documents and ledgers ------------------------------------------------------------------- */

static void check_document(Doctor *doctor, const char *folder, const char *name, bool is_needed) {
        _cleanup_(freep) char *path = path_join(folder, name);
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        bool is_yaml = strstr(name, ".yaml") != NULL;
        Json *json = NULL;
        int r = path ? file_read(path, DOCUMENT_BYTES, &text) : -ENOMEM;

        doctor->n_checked++;
        if (r == FILE_E_MISSING) {
                if (is_needed)
                        find(doctor, LEVEL_ERROR, path, "is missing");
                return;
        }
        if (!r)
                r = is_yaml ? yaml_parse(&arena, buf_str(&text), &json, NULL)
                            : json_parse(&arena, text.data, text.n, NULL, &json, NULL);
        if (r < 0 || r == FILE_E_TOO_LARGE)
                find(doctor, LEVEL_ERROR, path ? path : name, "cannot be read");
        else if (r || !json_is(json, JSON_OBJECT))
                find(doctor, LEVEL_ERROR, path, "is no %s mapping", is_yaml ? "YAML" : "JSON");
}

static void check_ledger(Doctor *doctor, const char *folder, const char *name, const char *state) {
        _cleanup_(freep) char *path = path_join(folder, name), *state_path = path_join(folder, state);
        LedgerReport report = {0};
        int r;

        if (!path || !state_path || access(path, F_OK))
                return;
        doctor->n_checked++;
        r = ledger_inspect(path, state_path, &report);
        if (r)
                find(doctor, LEVEL_ERROR, path, "cannot be read: %s", strerror(-r));
        else if (!ledger_report_is_sound(&report))
                find(doctor, LEVEL_ERROR, path,
                     "damaged: %llu lines, %llu bytes of a torn tail; muster ledger repair",
                     (unsigned long long)report.n_damaged, (unsigned long long)report.n_tail);
        else if (report.index == LEDGER_INDEX_UNUSABLE)
                find(doctor, LEVEL_NOTE, path, "its index will be made again when it is opened");
        ledger_report_deinit(&report);
}

static void check_group(Doctor *doctor, const char *folder) {
        _cleanup_(freep) char *state = path_join(folder, "state");

        if (!state || !check_folder(doctor, folder))
                return;
        check_document(doctor, folder, "group.yaml", true);
        check_document(doctor, folder, "state/read_cursors.json", false);
        check_document(doctor, folder, "state/preamble_sent.json", false);
        check_document(doctor, folder, "state/automation.json", false);
        check_ledger(doctor, folder, "ledger.jsonl", "state/ledger");
        check_ledger(doctor, folder, "state/delivery.jsonl", "state/delivery");
        check_leftovers(doctor, folder);
        check_leftovers(doctor, state);
}

static void check_groups(Doctor *doctor, const char *groups) {
        struct dirent **entries = NULL;
        int n = scandir(groups, &entries, NULL, alphasort);

        for (int i = 0; i < n; i++) {
                _cleanup_(freep) char *path =
                        !strncmp(entries[i]->d_name, "g_", 2) ? path_join(groups, entries[i]->d_name) : NULL;

                if (path)
                        check_group(doctor, path);
                free(entries[i]);
        }
        free(entries);
}

static void check_cccc(Doctor *doctor) {
        const char *named = getenv("CCCC_HOME");
        _cleanup_(freep) char *home = path_expand(named && *named ? named : "~/.cccc");
        _cleanup_(freep) char *groups = home ? path_join(home, "groups") : NULL;
        _cleanup_(freep) char *sock = home ? path_join(home, "daemon/ccccd.sock") : NULL;
        _cleanup_(freep) char *pid = home ? path_join(home, "daemon/ccccd.pid") : NULL;

        if (!groups || !sock || !pid || !check_folder(doctor, home))
                return;
        check_document(doctor, home, "registry.json", false);
        check_document(doctor, home, "settings.yaml", false);
        check_document(doctor, home, "active.json", false);
        check_leftovers(doctor, home);
        check_socket(doctor, sock);
        check_pid(doctor, pid);
        check_groups(doctor, groups);
}

static void check_muster(Doctor *doctor) {
        _cleanup_(freep) char *home = place_home(), *sock = place_socket(NULL);

        if (home)
                check_folder(doctor, home);
        if (sock)
                check_socket(doctor, sock);
}

int cmd_doctor(const Options *options) {
        Doctor doctor = {.is_json = options->json};

        check_muster(&doctor);
        check_cccc(&doctor);
        if (!options->json)
                printf("%zu checks: %zu errors, %zu warnings, %zu notes\n", doctor.n_checked,
                       doctor.n_found[LEVEL_ERROR], doctor.n_found[LEVEL_WARNING],
                       doctor.n_found[LEVEL_NOTE]);
        return doctor.n_found[LEVEL_ERROR] ? CLI_FAILED : CLI_OK;
}
