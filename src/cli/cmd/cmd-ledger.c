/* SPDX-License-Identifier: MIT */
/*
 * muster ledger: looks at ledger files and mends them, without the daemon.
 */
#include <sys/stat.h>
#include <fcntl.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/id.h"
#include "base/json/json-writer.h"
#include "base/mapping.h"
#include "base/place.h"
#include "base/time.h"
#include "cli/cli.h"
#include "cli/cmd/ledger-workspace.h"
#include "cli/link/group-name.h"
#include "cli/print/progress.h"
#include "cli/print/report.h"
#include "core/ledger/ledger-tool.h"
#include "core/trail.h"

typedef struct Target {
        char *path, *state_path;
        const char *name; /* as given */
} Target;

typedef int (*TargetFn)(const Options *options, const Target *target);

static void target_deinit(Target *target) {
        free(target->path);
        free(target->state_path);
}

static char *ledger_cccc_home(void) {
        const char *home = getenv("CCCC_HOME");

        return path_expand(home && *home ? home : "~/.cccc");
}

/* …/groups/ID/ledger.jsonl */
static int target_of_group(const char *id, Target *ret) {
        _cleanup_(freep) char *home = ledger_cccc_home(), *groups = home ? path_join(home, "groups") : NULL;
        _cleanup_(freep) char *group = groups ? path_join(groups, id) : NULL;

        ret->path = group ? path_join(group, "ledger.jsonl") : NULL;
        ret->state_path = group ? path_join(group, "state/ledger") : NULL;
        return ret->path && ret->state_path ? 0 : -ENOMEM;
}

static int target_of_file(const char *path, Target *ret) {
        const char *slash = strrchr(path, '/');
        _cleanup_(freep) char *dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");

        ret->path = strdup(path);
        ret->state_path = dir ? path_join(dir, "state/ledger") : NULL;
        return ret->path && ret->state_path ? 0 : -ENOMEM;
}

/* The daemon's own, of what was refused: core/principal/audit.h. */
static int target_of_audit(Target *ret) {
        _cleanup_(freep) char *home = place_home(),
                              *path = home ? path_join(home, "audit/ledger.jsonl") : NULL;

        return path ? target_of_file(path, ret) : -ENOMEM;
}

/* A word with a slash, or the name of a file that is there, is a file; any other is a group, by its id, its
 * title or the beginning of its id. */
static int target_init(Target *target, const char *word) {
        _cleanup_(freep) char *home = NULL, *id = NULL;
        int r = 0;

        *target = (Target){.name = word};
        if (strchr(word, '/') || access(word, F_OK) == 0)
                return target_of_file(word, target);
        if (!strcmp(word, "audit"))
                return target_of_audit(target);
        home = ledger_cccc_home();
        r = home ? group_name_find(home, word, &id) : -ENOMEM;
        if (r)
                return r;
        if (!id && !id_is_path_safe(str_from(word)))
                return target_of_file(word, target);
        return target_of_group(id ? id : word, target);
}

static int run_one(const Options *options, const char *word, TargetFn fn) {
        _cleanup_(target_deinit) Target target = {0};

        int r = target_init(&target, word);

        if (r)
                return r > 0 ? CLI_USAGE : complain(CLI_FAILED, "out of memory");
        return fn(options, &target);
}

/* If there is one. */
static int ledger_run_audit(const Options *options, TargetFn fn) {
        _cleanup_(target_deinit) Target target = {.name = "audit"};

        if (target_of_audit(&target))
                return complain(CLI_FAILED, "out of memory");
        return access(target.path, F_OK) ? CLI_OK : fn(options, &target);
}

/* Every group of the CCCC home. */
static int ledger_run_all(const Options *options, TargetFn fn) {
        _cleanup_(freep) char *home = ledger_cccc_home(), *groups = home ? path_join(home, "groups") : NULL;
        struct dirent **entries = NULL;
        int n = groups ? scandir(groups, &entries, NULL, alphasort) : -1, worst = CLI_OK;

        if (n < 0)
                return complain(CLI_FAILED, "cannot list %s: %s", groups ? groups : "the CCCC home",
                                strerror(errno));
        for (int i = 0; i < n; i++) {
                if (entries[i]->d_name[0] != '.')
                        worst = MAX(worst, run_one(options, entries[i]->d_name, fn));
                free(entries[i]);
        }
        free(entries);
        return MAX(worst, ledger_run_audit(options, fn));
}

static void print_line(Buf *text, bool failed) {
        if (failed)
                complain(CLI_FAILED, "out of memory");
        else
                json_put_text(stdout, buf_str(text));
        buf_deinit(text);
}

static void write_damage(JsonWriter *w, const LedgerReport *report) {
        jw_key(w, "damage");
        jw_begin_array(w);
        for (size_t i = 0; i < report->n_damage; i++) {
                jw_begin_object(w);
                jw_field_uint(w, "offset", report->damage[i].offset);
                jw_field_uint(w, "bytes", report->damage[i].n_bytes);
                jw_field_uint(w, "lines", report->damage[i].n_lines);
                jw_field_bool(w, "binary", report->damage[i].is_binary);
                jw_end_object(w);
        }
        jw_end_array(w);
}

static void write_chain(JsonWriter *w, const ChainReport *chain) {
        jw_key(w, "chain");
        if (!chain->is_present) {
                jw_null(w);
                return;
        }
        jw_begin_object(w);
        jw_field_bool(w, "ok", !chain->is_broken);
        jw_field_uint(w, "records", chain->n_records);
        jw_field_uint(w, "behind", chain->n_behind);
        if (chain->is_broken)
                jw_field_uint(w, "broken_at", chain->broken_at);
        jw_end_object(w);
}

static void ledger_print_json(const Target *target, const LedgerReport *report) {
        Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        jw_begin_object(&w);
        jw_field_cstr(&w, "path", target->path);
        jw_field_bool(&w, "ok", ledger_report_is_sound(report));
        jw_field_uint(&w, "bytes", report->n_bytes);
        jw_field_uint(&w, "lines", report->n_lines);
        jw_field_uint(&w, "events", report->n_events);
        jw_field_uint(&w, "damaged", report->n_damaged);
        jw_field_uint(&w, "repeated", report->n_repeated);
        jw_field_uint(&w, "tail_bytes", report->n_tail);
        jw_field_uint(&w, "journal_bytes", report->journal.n_restored);
        jw_field_time_us(&w, "first_ts", report->first_ts_us);
        jw_field_time_us(&w, "last_ts", report->last_ts_us);
        jw_field_cstr(&w, "index", ledger_index_state_name(report->index));
        write_chain(&w, &report->chain);
        write_damage(&w, report);
        jw_key(&w, "kinds");
        jw_begin_object(&w);
        for (size_t i = 0; i < report->n_kinds; i++)
                if (report->kinds[i].n) {
                        jw_key_str(&w, str_from(report->kinds[i].name));
                        jw_uint(&w, report->kinds[i].n);
                }
        jw_end_object(&w);
        jw_end_object(&w);
        print_line(&text, w.failed);
}

static void print_faults(const LedgerReport *report) {
        for (size_t i = 0; i < report->n_damage; i++)
                print("  offset %llu: %llu bytes in %llu line%s that are no event%s\n",
                      (unsigned long long)report->damage[i].offset,
                      (unsigned long long)report->damage[i].n_bytes,
                      (unsigned long long)report->damage[i].n_lines,
                      report->damage[i].n_lines == 1 ? "" : "s",
                      report->damage[i].is_binary ? " (binary)" : "");
        if (report->n_tail)
                print("  offset %llu: %llu bytes behind the last line, %s\n",
                      (unsigned long long)(report->n_bytes - report->n_tail),
                      (unsigned long long)report->n_tail,
                      report->is_tail_event ? "an event without its newline" : "a torn line");
        if (report->journal.n_restored)
                print("  %llu bytes are in the journal only: the daemon puts them back when it opens the "
                      "ledger\n",
                      (unsigned long long)report->journal.n_restored);
        if (report->chain.is_broken)
                print("  offset %llu: the chain does not fit from this line on\n",
                      (unsigned long long)report->chain.broken_at);
        if (report->n_repeated)
                print("  %llu events repeat an earlier id\n", (unsigned long long)report->n_repeated);
}

static int inspect(const Target *target, LedgerReport *report) {
        Progress progress = progress_begin(target->name);
        const LedgerProgress telling = {progress_tell, &progress};
        int r = ledger_inspect_telling(target->path, target->state_path, &telling, report);

        progress_end(&progress);
        return r ? complain(CLI_FAILED, "cannot read %s: %s", target->path, strerror(-r)) : CLI_OK;
}

/* One whose lines have hashes of events; what cannot be read at all is no trail. */
static bool is_trail(const Target *target, int *ret_fd, uint64_t *ret_size) {
        TrailTail tail = {0};
        struct stat st;

        *ret_fd = open(target->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (*ret_fd < 0 || fstat(*ret_fd, &st) < 0 || !S_ISREG(st.st_mode))
                return false;
        *ret_size = (uint64_t)st.st_size;
        return trail_tail(*ret_fd, *ret_size, &tail) == 0 && *tail.hash;
}

static int verify_one(const Options *options, const Target *target) {
        _cleanup_(ledger_report_deinit) LedgerReport report = {0};
        _cleanup_(closep) int fd = -1;
        uint64_t size = 0;
        int r;

        if (workspace_is(target->path))
                return workspace_verify(options, target->path);
        if (is_trail(target, &fd, &size))
                return workspace_verify_trail(options, target->path, target->name, fd, size);
        r = inspect(target, &report);
        if (r)
                return r;
        if (options->json) {
                ledger_print_json(target, &report);
        } else {
                print("%s: %s, %llu events, %llu bytes\n", target->name,
                      ledger_report_is_sound(&report) ? "ok" : "damaged",
                      (unsigned long long)report.n_events, (unsigned long long)report.n_bytes);
                print_faults(&report);
        }
        return ledger_report_is_sound(&report) ? CLI_OK : CLI_FAILED;
}

static void print_stat(const Target *target, const LedgerReport *report) {
        char first[TIME_TEXT_MAX] = "-", last[TIME_TEXT_MAX] = "-";

        if (report->first_ts_us)
                time_format_s(report->first_ts_us, first);
        if (report->last_ts_us)
                time_format_s(report->last_ts_us, last);
        print("%s\n  path    %s\n  size    %llu bytes, %llu lines, %llu events\n  time    %s to %s\n  "
              "index   %s\n  chain   %s\n",
              target->name, target->path, (unsigned long long)report->n_bytes,
              (unsigned long long)report->n_lines, (unsigned long long)report->n_events, first, last,
              ledger_index_state_name(report->index),
              !report->chain.is_present ? "none"
              : report->chain.is_broken ? "broken"
              : report->chain.n_behind  ? "behind"
                                        : "complete");
        for (size_t i = 0; i < report->n_kinds; i++)
                if (report->kinds[i].n)
                        print("  %9llu %s\n", (unsigned long long)report->kinds[i].n,
                              *report->kinds[i].name ? report->kinds[i].name : "(no kind)");
}

static int stat_one(const Options *options, const Target *target) {
        _cleanup_(ledger_report_deinit) LedgerReport report = {0};
        int r = inspect(target, &report);

        if (r)
                return r;
        if (options->json)
                ledger_print_json(target, &report);
        else
                print_stat(target, &report);
        return CLI_OK;
}

static int repair_ledger(const Options *options, const Target *target) {
        Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        Progress progress = progress_begin(target->name);
        const LedgerProgress telling = {progress_tell, &progress};
        LedgerRepair repair;
        int r = ledger_repair(target->path, target->state_path, &telling, &repair);

        progress_end(&progress);
        if (r)
                return complain(CLI_FAILED, "cannot repair %s: %s", target->path, strerror(-r));
        if (!options->json) {
                if (repair.journal.n_restored)
                        print("%s: %llu bytes put back from the journal\n", target->name,
                              (unsigned long long)repair.journal.n_restored);
                if (repair.n_cut || repair.n_moved || repair.is_completed)
                        print("%s: %llu damaged lines and %llu torn bytes are now in %s/cut.*%s\n",
                              target->name, (unsigned long long)repair.n_moved,
                              (unsigned long long)repair.n_cut, target->state_path,
                              repair.is_completed ? "; the last event got its newline" : "");
                else if (!repair.journal.n_restored)
                        print("%s: nothing to repair\n", target->name);
                return CLI_OK;
        }
        jw_begin_object(&w);
        jw_field_cstr(&w, "path", target->path);
        jw_field_uint(&w, "moved_lines", repair.n_moved);
        jw_field_uint(&w, "cut_bytes", repair.n_cut);
        jw_field_uint(&w, "journal_bytes", repair.journal.n_restored);
        jw_field_bool(&w, "completed", repair.is_completed);
        jw_end_object(&w);
        print_line(&text, w.failed);
        return CLI_OK;
}

static int repair_one(const Options *options, const Target *target) {
        return workspace_is(target->path) ? workspace_repair(options, target->path)
                                          : repair_ledger(options, target);
}

static const struct {
        const char *name;
        TargetFn fn;
} verbs[] = {{"verify", verify_one}, {"repair", repair_one}, {"stat", stat_one}};

int cmd_ledger(const Options *options) {
        int worst = CLI_OK;

        mapping_handle_faults(); /* an index may be cut while we look at it */
        for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
                if (strcmp(options->operands[0], verbs[i].name) != 0)
                        continue;
                if (options->n_operands == 1)
                        return ledger_run_all(options, verbs[i].fn);
                for (int k = 1; k < options->n_operands; k++)
                        worst = MAX(worst, run_one(options, options->operands[k], verbs[i].fn));
                return worst;
        }
        complain(CLI_USAGE, "ledger knows verify, repair and stat, not %s", options->operands[0]);
        advise("try: muster ledger --help");
        return CLI_USAGE;
}
