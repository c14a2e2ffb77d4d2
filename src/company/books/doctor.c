/* SPDX-License-Identifier: MIT */
#include "company/books/doctor.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/macro.h"
#include "company/books/validate.h"
#include "company/index/index.h"
#include "company/place.h"
#include "core/document.h"

enum { DOCTOR_DETAILS_MAX = 50 }; /* lines of one check; the rest is left out */

/* ---- checks ---------------------------------------------------------------------------------- */

static void doctor_begin(Doctor *doctor) {
        doctor->status = DOCTOR_PASS;
        doctor->details = json_new(doctor->reading->arena, JSON_ARRAY);
}

static void doctor_say(Doctor *doctor, DoctorStatus status, const char *format, ...) _printf_(3, 4);
static void doctor_say(Doctor *doctor, DoctorStatus status, const char *format, ...) {
        Arena *arena = doctor->reading->arena;
        char text[512];
        va_list ap;

        va_start(ap, format);
        vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);
        doctor->status = MAX(doctor->status, status);
        if (doctor->details && json_count(doctor->details) < DOCTOR_DETAILS_MAX)
                (void)json_push(doctor->details, json_new_str(arena, str_from(text)));
}

static void doctor_end(Doctor *doctor, const char *id, const char *good, const char *bad) {
        static const char *const words[] = {
                [DOCTOR_PASS] = "pass", [DOCTOR_WARN] = "warn", [DOCTOR_FAIL] = "fail"};
        JsonWriter *w = doctor->w;

        doctor->n[doctor->status]++;
        jw_begin_object(w);
        jw_field_cstr(w, "id", id);
        jw_field_cstr(w, "status", words[doctor->status]);
        jw_field_cstr(w, "message", doctor->status == DOCTOR_PASS ? good : bad);
        if (json_count(doctor->details))
                jw_field_value(w, "details", doctor->details);
        jw_end_object(w);
}

static int doctor_schema(Doctor *doctor) {
        Validation validation = {.root = doctor->reading->root,
                                 .arena = doctor->reading->arena,
                                 .is_off = &doctor->reading->call->daemon->company->is_stopping};
        int r = validate(&validation);

        doctor_begin(doctor);
        for (const ValidateIssue *issue = validation.first; issue; issue = issue->next)
                doctor_say(doctor, DOCTOR_FAIL, "%s: " STR_FMT, issue->code, STR_ARG(issue->message));
        doctor_end(doctor, "workspace.schema", "Every document has its shape.",
                   "Some documents do not have their shape.");
        return error_trace(r);
}

/* At least one program of agents must be there; of those with a protocol each is missed. */
static int doctor_providers(Doctor *doctor) {
        size_t n_cli = 0;
        Json *list = NULL;
        int r = error_fold(json_parse(doctor->reading->arena, doctor->adapters.data, doctor->adapters.n,
                                      NULL, &list, NULL));

        if (r)
                return error_trace(r);
        json_each (adapter, list)
                n_cli += str_is(json_text_of(adapter, "mode"), "cli") && json_truth_of(adapter, "available");
        for (int is_cli = 1; is_cli >= 0; is_cli--) {
                const DoctorStatus missed = !is_cli ? DOCTOR_WARN : n_cli ? DOCTOR_PASS : DOCTOR_FAIL;

                doctor_begin(doctor);
                json_each (adapter, list)
                        if (str_is(json_text_of(adapter, "mode"), is_cli ? "cli" : "protocol") &&
                            !json_truth_of(adapter, "available"))
                                doctor_say(doctor, missed, STR_FMT ": " STR_FMT,
                                           STR_ARG(json_text_of(adapter, "name")),
                                           STR_ARG(json_text_of(adapter, "reason")));
                if (is_cli)
                        doctor_end(doctor, "providers.cli", "A command line of an agent can be used.",
                                   "No command line of an agent can be used.");
                else
                        doctor_end(doctor, "providers.protocol", "Agents with a protocol can be used.",
                                   "Some agents with a protocol cannot be used.");
        }
        return 0;
}

static void doctor_repo(Doctor *doctor, Str id, Str path) {
        Str folder = arena_str(doctor->reading->arena, path);
        Str git = arena_printf(doctor->reading->arena, STR_FMT "/.git", STR_ARG(path));
        struct stat st;

        if (!folder.n || folder.data[0] != '/')
                doctor_say(doctor, DOCTOR_FAIL, STR_FMT ": the path is not absolute (" STR_FMT ")",
                           STR_ARG(id), STR_ARG(path));
        else if (stat(folder.data, &st) || !S_ISDIR(st.st_mode))
                doctor_say(doctor, DOCTOR_FAIL, STR_FMT ": there is no such folder (" STR_FMT ")",
                           STR_ARG(id), STR_ARG(path));
        else if (git.data && stat(git.data, &st))
                doctor_say(doctor, DOCTOR_WARN, STR_FMT ": it has no .git (" STR_FMT ")", STR_ARG(id),
                           STR_ARG(path));
        else
                doctor_say(doctor, DOCTOR_PASS, STR_FMT ": OK (" STR_FMT ")", STR_ARG(id), STR_ARG(path));
}

static void doctor_repos(Doctor *doctor) {
        const Json *roots = json_get(doctor->machine, "repo_roots");

        doctor_begin(doctor);
        json_each (root, roots)
                doctor_repo(doctor, json_key(root), json_str(root));
        if (!json_count(roots))
                doctor->status = DOCTOR_WARN;
        doctor_end(doctor, "repos.mappings", "Every repository is where the settings say.",
                   json_count(roots) ? "Some repositories are not as the settings say."
                                     : "No repository has a place on this machine.");
}

/* The index is only looked at, unless something is to be done with it. */
static int doctor_index(Doctor *doctor) {
        Index *index = doctor->reading->workspace->index;
        bool is_sync = doctor->syncs_index && !doctor->rebuilds_index;
        IndexReport report = {0};
        Sql *sql;
        int r;

        doctor_begin(doctor);
        r = doctor->rebuilds_index ? index_rebuild(index, &report)
            : is_sync              ? index_sync(index, &report)
                                   : index_look(index, &sql);
        if (r)
                doctor_say(doctor, is_sync || doctor->rebuilds_index ? DOCTOR_FAIL : DOCTOR_WARN, "%s",
                           index_why(index));
        if (!r && report.n_total[INDEX_PARSE_ERRORS])
                doctor_say(doctor, DOCTOR_WARN, "event_parse_errors: %lld",
                           (long long)report.n_total[INDEX_PARSE_ERRORS]);
        doctor_end(doctor, is_sync ? "index.sync" : "index.rebuild", "The index can be used.",
                   "The index is missing, cannot be used, or has lines that do not parse.");
        return r == -ENOMEM ? r : 0;
}

static void doctor_worktree(Doctor *doctor, Str project, Str run) {
        Reading *reading = doctor->reading;
        const char *path = place_run(reading->arena, project, run, "run.yaml");
        Json *json = NULL;
        Str relpath;

        if (!path || document_load(reading->arena, reading->root, path, DOCUMENT_YAML, &json, NULL, NULL))
                return;
        relpath = json_text_of(json_get(json, "spec"), "worktree_relpath");
        if (relpath.n && !place_has(reading->root, arena_str(reading->arena, relpath).data))
                doctor_say(doctor, DOCTOR_WARN, STR_FMT "/" STR_FMT ": " STR_FMT, STR_ARG(project),
                           STR_ARG(run), STR_ARG(relpath));
}

static int doctor_worktrees(Doctor *doctor) {
        Reading *reading = doctor->reading;
        StrList projects = {0}, runs = {0};
        int r = place_names(reading->arena, reading->root, PLACE_PROJECTS, NULL, &projects);

        doctor_begin(doctor);
        for (size_t i = 0; !r && i < projects.n; i++) {
                r = place_names(reading->arena, reading->root,
                                place_project(reading->arena, projects.items[i], "runs"), NULL, &runs);
                for (size_t j = 0; !r && j < runs.n; j++)
                        doctor_worktree(doctor, projects.items[i], runs.items[j]);
        }
        doctor_end(doctor, "worktrees.references", "Every worktree that a run names is there.",
                   "Some worktrees that runs name are missing.");
        return error_trace(r);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int doctor_load_machine(Doctor *doctor) {
        char what[DOCUMENT_WHAT_MAX] = "it is missing";
        Json *machine = NULL;
        int r = document_load(doctor->reading->arena, doctor->reading->root, PLACE_MACHINE, DOCUMENT_YAML,
                              &machine, NULL, what);

        doctor->machine = machine;
        return r > 0 ? reading_fail(doctor->reading, CALL_E_COMPANY, PLACE_MACHINE " cannot be used: %s",
                                    what)
                     : error_trace(r);
}

static int doctor_check(Doctor *doctor) {
        int r = doctor_schema(doctor);

        doctor_begin(doctor);
        doctor_end(doctor, "machine.config", "The settings of this machine can be read.", "");
        if (!r)
                r = doctor_providers(doctor);
        doctor_repos(doctor);
        if (!r)
                r = doctor_index(doctor);
        return r ? r : doctor_worktrees(doctor);
}

static void doctor_write_summary(const Doctor *doctor, JsonWriter *w) {
        jw_key(w, "summary");
        jw_begin_object(w);
        jw_field_uint(w, "pass", doctor->n[DOCTOR_PASS]);
        jw_field_uint(w, "warn", doctor->n[DOCTOR_WARN]);
        jw_field_uint(w, "fail", doctor->n[DOCTOR_FAIL]);
        jw_end_object(w);
}

int doctor_write(Doctor *doctor, JsonWriter *w) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter checks = JSON_WRITER(&text); /* what they come to stands before them */
        int r = doctor_load_machine(doctor);

        if (r)
                return r;
        doctor->w = &checks;
        jw_begin_array(&checks);
        r = doctor_check(doctor);
        jw_end_array(&checks);
        jw_begin_object(w);
        jw_field_str(w, "workspace_dir", doctor->workspace_dir);
        jw_field_bool(w, "ok", !doctor->n[DOCTOR_FAIL]);
        jw_key(w, "checks");
        jw_raw(w, buf_str(&text));
        doctor_write_summary(doctor, w);
        jw_end_object(w);
        return r || !checks.failed ? r : error_origin(-ENOMEM);
}
