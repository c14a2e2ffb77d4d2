/* SPDX-License-Identifier: MIT */
#include "cli/doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json/json-writer.h"
#include "base/place.h"
#include "cli/cli.h"
#include "cli/link/find.h"
#include "cli/print/report.h"
#include "cli/print/wrap.h"
#include "cli/term/terminal.h"

enum { ASK_MS = 5000, NAME_COLUMN = 9, TEXT_COLUMN = 27 };

static const char *const level_names[] = {"ok", "note", "warning", "error"};

/* In the order in which they are looked at: what others stand on comes first. */
static const DoctorCheck checks[] = {
        {"state folder", doctor_check_home},
        {"disk space", doctor_check_space},
        {"socket", doctor_check_socket},
        {"daemon", doctor_check_daemon},
        {"endpoints", doctor_check_endpoints},
        {"projects", doctor_check_projects},
        {"log", doctor_check_log},
        {"refusals", doctor_check_audit},
        {"agent programs", doctor_check_programs},
        {"bwrap", doctor_check_bwrap},
        {"user namespaces", doctor_check_namespaces},
        {"in a sandbox", doctor_check_held},
        {"linger", doctor_check_linger},
        {"CCCC home", doctor_check_cccc},
        {"groups", doctor_check_groups},
        {"other daemons", doctor_check_servers},
        {"workspaces", doctor_check_workspaces},
        {"IM bridges", doctor_check_bridges},
};

/* ---- what a check says ----------------------------------------------------------------------- */

static void doctor_put_json(const Doctor *doctor, DoctorLevel level, const char *path, const char *text) {
        _cleanup_(buf_deinit) Buf line = BUF_NULL;
        JsonWriter w = JSON_WRITER(&line);

        jw_begin_object(&w);
        jw_field_cstr(&w, "check", doctor->check);
        jw_field_cstr(&w, "level", level_names[level]);
        if (path)
                jw_field_cstr(&w, "path", path);
        jw_field_cstr(&w, "message", text);
        jw_end_object(&w);
        json_put_text(stdout, buf_str(&line));
}

_printf_(4, 0) static void doctor_put(Doctor *doctor, DoctorLevel level, const char *path,
                                      const char *format, va_list args) {
        _cleanup_(buf_deinit) Buf line = BUF_NULL;
        _cleanup_(freep) char *words = hint_new(format);
        char text[1024];

        vsnprintf(text, sizeof(text), words ? words : format,
                  args); // NOLINT(clang-analyzer-valist.Uninitialized): it is
        doctor->n_found[level]++;
        doctor->has_said = true;
        if (doctor->is_json) {
                doctor_put_json(doctor, level, path, text);
                return;
        }
        print("%-*s%-*s", NAME_COLUMN, level_names[level], TEXT_COLUMN - NAME_COLUMN, doctor->check);
        if (buf_printf(&line, "%s%s%s", path ? path : "", path && *text ? ": " : "", text) == 0)
                text_wrap(stdout, buf_str(&line), TEXT_COLUMN, doctor->n_cols);
}

void doctor_find(Doctor *doctor, DoctorLevel level, const char *path, const char *format, ...) {
        va_list args;

        va_start(args, format);
        doctor_put(doctor, level, path, format, args);
        va_end(args);
}

void doctor_pass(Doctor *doctor, const char *format, ...) {
        va_list args;

        va_start(args, format);
        doctor_put(doctor, DOCTOR_OK, NULL, format, args);
        va_end(args);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void doctor_ask(Doctor *doctor) {
        const Request request = {.dialect = "native", .op = "daemon.info"};
        Reply reply = {0};
        int r;

        if (!doctor->socket)
                return;
        r = link_open(&doctor->link, doctor->socket, clock_ms() + ASK_MS);
        if (!r)
                r = exchange(&doctor->link, &request, &doctor->arena, &reply);
        if (!r && reply.is_error)
                r = EXCHANGE_E_GARBLED;
        doctor->info = r ? NULL : reply.result;
        doctor->unreachable = r == LINK_E_ABSENT ? 0 : r;
}

static void doctor_init(Doctor *doctor, const Options *options) {
        const char *named = getenv("CCCC_HOME");
        unsigned rows;

        *doctor = (Doctor){.is_json = options->json, .link = LINK_NULL};
        doctor->home = place_home();
        doctor->socket = find_socket();
        doctor->cccc_home = path_expand(named && *named ? named : "~/.cccc");
        if (isatty(STDOUT_FILENO))
                (void)terminal_size(&doctor->n_cols, &rows);
}

static void doctor_deinit(Doctor *doctor) {
        link_deinit(&doctor->link);
        arena_deinit(&doctor->arena);
        free(doctor->home);
        free(doctor->socket);
        free(doctor->cccc_home);
}

static void doctor_run(Doctor *doctor, const DoctorCheck *check) {
        doctor->check = check->name;
        doctor->has_said = false;
        doctor->n_checks++;
        check->look(doctor);
        if (!doctor->has_said)
                doctor_pass(doctor, "fine");
        (void)fflush(stdout); /* some take a while */
}

int cmd_doctor(const Options *options) {
        _cleanup_(doctor_deinit) Doctor doctor;

        doctor_init(&doctor, options);
        doctor_ask(&doctor);
        for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
                doctor_run(&doctor, &checks[i]);
        if (!options->json)
                print("%zu checks: %zu errors, %zu warnings, %zu notes\n", doctor.n_checks,
                      doctor.n_found[DOCTOR_ERROR], doctor.n_found[DOCTOR_WARNING],
                      doctor.n_found[DOCTOR_NOTE]);
        return doctor.n_found[DOCTOR_ERROR] ? CLI_FAILED : CLI_OK;
}
