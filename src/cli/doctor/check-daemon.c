/* SPDX-License-Identifier: MIT */
/*
 * The daemon, as it answers: its version, what it serves; its projects and its log, also without it.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/place.h"
#include "cli/cmd/rules-check.h"
#include "cli/doctor/doctor.h"
#include "cli/link/native.h"
#include "cli/print/human.h"
#include "core/version.h"

enum { PROJECTS_BYTES = 1 << 20, LOG_LARGE_MB = 256, DOCTOR_ASK_MS = 5000 };

static const char *doctor_text(Doctor *doctor, const Json *object, const char *key) {
        Str text = arena_str(&doctor->arena, json_str(json_get(object, key))); /* with a NUL */

        return text.data ? text.data : "";
}

void doctor_check_daemon(Doctor *doctor) {
        const char *version = doctor_text(doctor, doctor->info, "version");
        char age[HUMAN_MAX];
        int64_t seconds = 0;

        if (doctor->unreachable)
                doctor_find(doctor, DOCTOR_ERROR, doctor->socket,
                            "something listens there, but does not answer as a daemon does");
        else if (!doctor->info)
                doctor_find(doctor, DOCTOR_NOTE, NULL, "none runs; muster up starts one");
        else if (strcmp(version, MUSTER_VERSION) != 0)
                doctor_find(doctor, DOCTOR_WARNING, NULL,
                            "pid %lld is version %s, this program %s: muster upgrade-daemon puts this "
                            "version in its place, and agents run on",
                            (long long)info_pid(doctor->info), version, MUSTER_VERSION);
        else {
                (void)json_int64(json_get(doctor->info, "uptime_seconds"), &seconds);
                doctor_pass(doctor, "version %s, pid %lld, up %s", version,
                            (long long)info_pid(doctor->info), human_age(seconds, age));
        }
}

/* ` (PROGRAM, pid N)`, or nothing. */
static const char *doctor_party(Doctor *doctor, const Json *by) {
        int64_t pid = 0;
        Str text;

        if (!json_int64(json_get(by, "pid"), &pid))
                return "";
        text = arena_printf(&doctor->arena, " (%s, pid %lld)", doctor_text(doctor, by, "program"),
                            (long long)pid);
        return text.data ? text.data : "";
}

void doctor_check_endpoints(Doctor *doctor) {
        size_t n = 0;

        if (!doctor->info) {
                doctor_find(doctor, DOCTOR_NOTE, NULL, "not asked, since no daemon runs");
                return;
        }
        json_each (row, json_get(doctor->info, "endpoints")) {
                Str state = json_str(json_get(row, "state"));
                const char *reason = doctor_text(doctor, row, "reason"),
                           *warning = doctor_text(doctor, row, "warning");

                n++;
                if (!str_is(state, "listening"))
                        doctor_find(doctor, str_is(state, "failed") ? DOCTOR_ERROR : DOCTOR_WARNING,
                                    doctor_text(doctor, row, "address"), "%s: " STR_FMT "%s%s%s",
                                    doctor_text(doctor, row, "name"), STR_ARG(state), *reason ? ": " : "",
                                    reason, doctor_party(doctor, json_get(row, "by")));
                if (*warning)
                        doctor_find(doctor, DOCTOR_WARNING, doctor_text(doctor, row, "address"), "%s",
                                    warning);
        }
        if (!doctor->has_said)
                doctor_pass(doctor, "all %zu listen", n);
}

/* ---- projects -------------------------------------------------------------------------------- */

static void doctor_look_at_config(Doctor *doctor, const char *dir) {
        _cleanup_(freep) char *path = path_join(dir, ".aiwg/daemon.json");
        char why[512];
        RulesVerdict verdict = path ? rules_verdict(path, why, sizeof(why)) : RULES_FINE;

        if (verdict == RULES_REFUSED)
                doctor_find(doctor, DOCTOR_ERROR, path, "%s; the daemon does not use it", why);
        else if (verdict == RULES_WRONG)
                doctor_find(doctor, DOCTOR_WARNING, path, "%s; all of it: muster rules check %s", why, path);
}

static void doctor_look_at_project(Doctor *doctor, const char *dir) {
        _cleanup_(freep) char *inside = path_join(dir, ".aiwg");

        if (access(dir, F_OK))
                doctor_find(doctor, DOCTOR_WARNING, dir, "%s; muster project rm %s forgets it",
                            strerror(errno), dir);
        else if (!inside || access(inside, R_OK | W_OK | X_OK))
                doctor_find(doctor, DOCTOR_ERROR, inside ? inside : dir, "%s", strerror(errno));
        else
                doctor_look_at_config(doctor, dir);
}

/* Also of projects that are served without having been added. By a link of its own: what daemon.info
 * answered lies in the other one. */
static void doctor_look_for_untrusted(Doctor *doctor) {
        const Request request = {.dialect = "native", .op = "project.ls"};
        _cleanup_(link_deinit) Link link = LINK_NULL;
        Reply reply = {0};

        if (!doctor->info || link_open(&link, doctor->socket, clock_ms() + DOCTOR_ASK_MS) ||
            exchange(&link, &request, &doctor->arena, &reply) || reply.is_error)
                return;
        json_each (project, json_get(reply.result, "projects")) {
                if (json_get(project, "untrusted"))
                        doctor_find(doctor, DOCTOR_WARNING, NULL, "%s",
                                    doctor_text(doctor, project, "config_error"));
                if (json_get(project, "held"))
                        doctor_find(
                                doctor, DOCTOR_WARNING, doctor_text(doctor, project, "dir"),
                                "tasks wait that an agent in a sandbox could have queued: muster project "
                                "trust");
        }
}

void doctor_check_projects(Doctor *doctor) {
        _cleanup_(freep) char *path = doctor->home ? path_join(doctor->home, "projects.json") : NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Json *json = NULL;
        size_t n = 0;
        int r = path ? file_read(path, PROJECTS_BYTES, &text) : FILE_E_MISSING;

        doctor_look_for_untrusted(doctor);
        if (r == FILE_E_MISSING) {
                if (!doctor->has_said)
                        doctor_pass(doctor, "none was added (muster project add)");
                return;
        }
        if (r || json_parse(&doctor->arena, text.data, text.n, NULL, &json, NULL) ||
            !json_is(json_get(json, "projects"), JSON_ARRAY)) {
                doctor_find(doctor, DOCTOR_ERROR, path, "cannot be read: the projects in it are not served");
                return;
        }
        json_each (item, json_get(json, "projects")) {
                Str dir = arena_str(&doctor->arena, json_str(item)); /* with a NUL */

                if (dir.data)
                        doctor_look_at_project(doctor, dir.data);
                n++;
        }
        if (!doctor->has_said)
                doctor_pass(doctor, "%zu, all there", n);
}

/* ---- the log --------------------------------------------------------------------------------- */

void doctor_check_log(Doctor *doctor) {
        _cleanup_(freep) char *path = doctor->home ? path_join(doctor->home, PLACE_LOG) : NULL;
        char size[HUMAN_MAX], name[PATH_MAX];
        struct stat st;
        int64_t n = 0;
        unsigned n_old = 0;

        if (!path || stat(path, &st)) {
                doctor_pass(doctor, "none: the daemon was not started by muster, or never");
                return;
        }
        do {
                n += st.st_size;
                snprintf(name, sizeof(name), "%s.%u", path, ++n_old);
        } while (!stat(name, &st));
        human_memory(n / 1024, size);
        if (n >> 20 >= LOG_LARGE_MB)
                doctor_find(doctor, DOCTOR_WARNING, path, "%s with %u older ones is much: see log_max_kb",
                            size, n_old - 1);
        else
                doctor_pass(doctor, "%s, %s with %u older ones", path, size, n_old - 1);
}
