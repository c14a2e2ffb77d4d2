/* SPDX-License-Identifier: MIT */
/*
 * How results are shown. Scripts get them as they are, a terminal without what could drive it.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json/json-writer.h"
#include "base/macro.h"
#include "cli/ac/ac.h"
#include "cli/cli.h"
#include "cli/print/report.h"

static int ac_put_json(const Json *value, bool is_pretty) {
        return json_print(stdout, value, is_pretty) ? ac_fail("out of memory") : CLI_OK;
}

int ac_show_json(_unused_ const AcCommand *command, _unused_ const Json *params, const Json *result) {
        return ac_put_json(result, true);
}

int ac_show_line(_unused_ const AcCommand *command, _unused_ const Json *params, const Json *result) {
        return ac_put_json(result, false);
}

int ac_show_member(const AcCommand *command, _unused_ const Json *params, const Json *result) {
        output_put(stdout, json_text_of(result, command->word));
        print("\n");
        return CLI_OK;
}

int ac_show_word(const AcCommand *command, _unused_ const Json *params, _unused_ const Json *result) {
        output_put(stdout, str_from(command->word));
        print("\n");
        return CLI_OK;
}

int ac_show_init(_unused_ const AcCommand *command, const Json *params, _unused_ const Json *result) {
        output_put(stdout, STR("Initialized workspace at "));
        output_put(stdout, json_text_of(params, "workspace_dir"));
        print("\n");
        return CLI_OK;
}

/* A workspace that is not valid is told on stderr, issue by issue. */
int ac_show_valid(_unused_ const AcCommand *command, _unused_ const Json *params, const Json *result) {
        if (json_truth_of(result, "ok")) {
                output_put(stdout, STR("OK\n"));
                return CLI_OK;
        }
        output_put(stderr, STR("VALIDATION FAILED\n"));
        json_each (issue, json_get(result, "issues")) {
                output_put(stderr, STR("- "));
                output_put(stderr, json_text_of(issue, "message"));
                output_put(stderr, STR("\n"));
        }
        return CLI_USAGE;
}

/* The result, with a status that says how the member turned out. */
int ac_show_verdict(const AcCommand *command, _unused_ const Json *params, const Json *result) {
        int status = ac_put_json(result, true);

        return status ? status : json_truth_of(result, command->word) ? CLI_OK : CLI_USAGE;
}

int ac_show_new_run(_unused_ const AcCommand *command, _unused_ const Json *params, const Json *result) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        jw_begin_object(&w);
        jw_field_str(&w, "run_id", json_text_of(result, "run_id"));
        jw_field_str(&w, "context_pack_id", json_text_of(result, "context_pack_id"));
        jw_end_object(&w);
        if (w.failed)
                return ac_fail("out of memory");
        json_put_text(stdout, buf_str(&text));
        return CLI_OK;
}

/* How the program of a session ended; one that did not run is an error. */
int ac_show_exit(_unused_ const AcCommand *command, _unused_ const Json *params, const Json *result) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        Str error = json_text_of(result, "error");

        if (error.n)
                return ac_fail(STR_FMT, STR_ARG(error));
        jw_begin_object(&w);
        jw_field_value(&w, "exit_code", json_get(result, "exit_code"));
        jw_field_value(&w, "signal", json_get(result, "signal"));
        jw_end_object(&w);
        if (w.failed)
                return ac_fail("out of memory");
        json_put_text(stdout, buf_str(&text));
        return CLI_OK;
}

/* ---- artifact:new: a file that is ours to write ------------------------------------------------ */

/* In its folder, which is made; a file that is there is left alone unless it is forced. 0 or negative. */
static int ac_write_file(const char *path, Str text, bool is_forced) {
        _cleanup_(freep) char *copy = strdup(path), *temp = NULL;
        mode_t mask = umask(0);
        int r;

        (void)umask(mask);
        r = copy ? dir_make(dirname(copy), 0777) : -ENOMEM;
        if (!r)
                r = file_stage(path, text, 0666 & ~mask, FILE_DURABLE, &temp);
        if (r)
                return r;
        if (renameat2(AT_FDCWD, temp, AT_FDCWD, path, is_forced ? 0 : RENAME_NOREPLACE)) {
                r = -errno;
                (void)unlink(temp);
                return r;
        }
        return file_sync_name(path);
}

int ac_show_artifact(_unused_ const AcCommand *command, const Json *params, const Json *result) {
        Str path = json_text_of(params, ".file");
        int r = ac_write_file(path.data, json_text_of(result, "text"), json_truth_of(params, ".force"));

        if (r == -EEXIST)
                return ac_fail("Refusing to overwrite existing file: " STR_FMT " (use --force)",
                               STR_ARG(path));
        if (r)
                return ac_fail(STR_FMT ": %s", STR_ARG(path), strerror(-r));
        output_put(stdout, STR("Wrote "));
        output_put(stdout, path);
        print("\n");
        return CLI_OK;
}

/* ---- run:replay: a line for each event and each thing that is wrong --------------------------- */

static void ac_put_text(const char *before, const Json *object, const char *key) {
        output_put(stdout, str_from(before));
        output_put(stdout, json_text_of(object, key));
}

static int ac_put_event(const Json *event) {
        if (!json_is(event, JSON_OBJECT)) {
                output_put(stdout, STR("[event] "));
                return ac_put_json(event, false);
        }
        ac_put_text("", event, "ts_wallclock");
        ac_put_text(" ", event, "type");
        ac_put_text(" actor=", event, "actor");
        print("\n");
        return CLI_OK;
}

static void ac_put_live(const Json *live) {
        static const char *const keys[] = {"session_ref", "status", "error"};

        print("[live] available=%s", json_truth_of(live, "available") ? "yes" : "no");
        for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
                if (json_text_of(live, keys[i]).n) {
                        print(" %s=", keys[i]);
                        ac_put_text("", live, keys[i]);
                }
        print("\n");
}

static void ac_put_issue(const char *kind, const Json *issue, const char *code, const char *text) {
        Str seq = json_raw(json_get(issue, "seq"));

        print("[%s] seq=" STR_FMT " ", kind, STR_ARG(seq));
        if (code) {
                ac_put_text("", issue, code);
                output_put(stdout, STR(": "));
        }
        ac_put_text("", issue, text);
        print("\n");
}

int ac_show_replay(_unused_ const AcCommand *command, const Json *params, const Json *result) {
        Str mode = json_text_of(params, "mode");

        json_each (event, json_get(result, "events")) {
                int status = ac_put_event(event);

                if (status)
                        return status;
        }
        json_each (issue, json_get(result, "parse_issues"))
                ac_put_issue("parse_error", issue, NULL, "error");
        json_each (issue, json_get(result, "verification_issues"))
                ac_put_issue("verify_issue", issue, "code", "message");
        if (str_is(mode, "live"))
                ac_put_live(json_get(result, "live"));
        if (str_is(mode, "deterministic"))
                print("[deterministic] %s\n", json_truth_of(result, "deterministic_ok") ? "ok" : "not_ok");
        return CLI_OK;
}
