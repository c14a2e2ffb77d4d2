/* SPDX-License-Identifier: MIT */
#include "cli/cmd/ledger-workspace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json/json-writer.h"
#include "base/macro.h"
#include "cli/print/report.h"
#include "core/store/store-tool.h"
#include "core/trail.h"

/* ---- one file of events ---------------------------------------------------------------------- */

static void workspace_print_line(const Buf *text, bool failed) {
        if (failed)
                complain(CLI_FAILED, "out of memory");
        else
                json_put_text(stdout, buf_str(text));
}

static void workspace_print_trail(const char *path, const TrailReport *report, bool is_sound) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        jw_begin_object(&w);
        jw_field_cstr(&w, "path", path);
        jw_field_bool(&w, "ok", is_sound);
        jw_field_uint(&w, "bytes", report->n_bytes);
        jw_field_uint(&w, "lines", report->n_lines);
        jw_field_uint(&w, "events", report->n_events);
        jw_field_uint(&w, "damaged", report->n_damaged);
        jw_field_uint(&w, "issues", report->n_issues);
        jw_key(&w, "first_issue");
        if (report->n_issues) {
                jw_begin_object(&w);
                jw_field_uint(&w, "seq", report->first.seq);
                jw_field_cstr(&w, "code", trail_fault_name(report->first.fault));
                jw_end_object(&w);
        } else
                jw_null(&w);
        jw_end_object(&w);
        workspace_print_line(&text, w.failed);
}

int workspace_verify_trail(const Options *options, const char *path, const char *name, int fd,
                           uint64_t size) {
        TrailReport report;
        int r = trail_verify(fd, size, &report);
        bool is_sound = !report.n_issues && !report.n_damaged && !report.is_torn;

        if (r)
                return complain(CLI_FAILED, "cannot read %s: %s", path, strerror(-r));
        if (options->json) {
                workspace_print_trail(path, &report, is_sound);
                return is_sound ? CLI_OK : CLI_FAILED;
        }
        print("%s: %s, %llu events, %llu bytes\n", name, is_sound ? "ok" : "damaged",
              (unsigned long long)report.n_events, (unsigned long long)report.n_bytes);
        if (report.n_damaged)
                print("  %llu lines are no events\n", (unsigned long long)report.n_damaged);
        if (report.is_torn)
                print("  the last line has no newline\n");
        if (report.n_issues)
                print("  %llu faults of the chain and the envelope, the first at event %llu: %s\n",
                      (unsigned long long)report.n_issues, (unsigned long long)report.first.seq,
                      trail_fault_name(report.first.fault));
        return is_sound ? CLI_OK : CLI_FAILED;
}

/* ---- those of all runs ----------------------------------------------------------------------- */

bool workspace_is(const char *path) {
        _cleanup_(freep) char *company = path_join(path, "company/company.yaml");
        struct stat st;

        return !stat(path, &st) && S_ISDIR(st.st_mode) && company && !access(company, F_OK);
}

static int workspace_verify_run(const Options *options, const char *runs, const char *run) {
        _cleanup_(freep) char *folder = path_join(runs, run);
        _cleanup_(freep) char *path = folder ? path_join(folder, "events.jsonl") : NULL;
        _cleanup_(closep) int fd =
                path ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW) : -1;
        struct stat st;
        int status = CLI_OK;

        if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode))
                status = workspace_verify_trail(options, path, path, fd, (uint64_t)st.st_size);
        else if (errno != ENOENT && errno != ENOTDIR)
                status = complain(CLI_FAILED, "cannot read %s", path ? path : run);
        return status;
}

/* fn for each name in the folder; one that is not there has none. */
static int workspace_verify_each(const Options *options, const char *folder,
                                 int (*fn)(const Options *options, const char *folder, const char *name)) {
        struct dirent **entries = NULL;
        int n = folder ? scandir(folder, &entries, NULL, alphasort) : 0, worst = CLI_OK;

        for (int i = 0; i < n; i++) {
                if (entries[i]->d_name[0] != '.')
                        worst = MAX(worst, fn(options, folder, entries[i]->d_name));
                free(entries[i]);
        }
        free(entries);
        return worst;
}

static int workspace_verify_project(const Options *options, const char *projects, const char *project) {
        _cleanup_(freep) char *folder = path_join(projects, project);
        _cleanup_(freep) char *runs = folder ? path_join(folder, "runs") : NULL;

        return workspace_verify_each(options, runs, workspace_verify_run);
}

int workspace_verify(const Options *options, const char *path) {
        _cleanup_(freep) char *projects = path_join(path, "work/projects");

        return workspace_verify_each(options, projects, workspace_verify_project);
}

/* ---- repair ---------------------------------------------------------------------------------- */

static void workspace_print_repair(const char *path, const StoreRepair *repair) {
        if (repair->n_restored)
                print("%s: %llu steps put back from the journal\n", path,
                      (unsigned long long)repair->n_restored);
        if (repair->n_aside)
                print("%s: other programs wrote where %llu steps of ours were lost; ours are in "
                      "%s/.local/muster/%s\n",
                      path, (unsigned long long)repair->n_aside, path, repair->cut);
        if (repair->n_restored || repair->n_aside)
                return;
        print("%s: nothing to repair%s\n", path,
              repair->has_journal ? "; the files have all that the journal has, which is empty now" : "");
}

static int workspace_refuse(const char *path, int r, pid_t other) {
        if (r != -EWOULDBLOCK)
                return complain(CLI_FAILED, "cannot repair %s: %s", path, strerror(-r));
        if (other)
                complain(CLI_FAILED, "cannot repair %s: the daemon with pid %d has it open", path,
                         (int)other);
        else
                complain(CLI_FAILED, "cannot repair %s: a daemon has it open", path);
        advise("what it has open needs no repair: it did that when it opened the workspace");
        return CLI_FAILED;
}

int workspace_repair(const Options *options, const char *path) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        StoreRepair repair;
        int r = store_repair(path, (int64_t)time(NULL) * 1000000, &repair);

        if (r)
                return workspace_refuse(path, r, repair.other);
        if (!options->json) {
                workspace_print_repair(path, &repair);
                return CLI_OK;
        }
        jw_begin_object(&w);
        jw_field_cstr(&w, "path", path);
        jw_field_uint(&w, "restored", repair.n_restored);
        jw_field_uint(&w, "aside", repair.n_aside);
        jw_field_cstr(&w, "cut", *repair.cut ? repair.cut : NULL);
        jw_end_object(&w);
        workspace_print_line(&text, w.failed);
        return CLI_OK;
}
