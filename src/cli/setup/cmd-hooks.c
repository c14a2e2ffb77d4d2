/* SPDX-License-Identifier: MIT */
/*
 * muster hooks: our hooks in the settings of agent programs that are started by hand in a terminal that is hosted, and out of them
 * again. As the file was before stands beside it as FILE.before-muster. What setup-file.h leaves alone is left alone here, too.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/place.h"
#include "cli/cli.h"
#include "cli/print/report.h"
#include "cli/setup/hooks-edit.h"
#include "cli/setup/setup-file.h"

#define HOOKS_BEFORE ".before-muster"

typedef struct HooksRuntime {
        const char *name;
        const char *variable;           /* of the environment that names the folder; NULL: none does */
        const char *in_variable, *path; /* the file: in that folder, or else */
        const char *note;               /* what a person has to do there; NULL: nothing */
} HooksRuntime;

static const HooksRuntime hooks_runtimes[] = {
        {"claude", "CLAUDE_CONFIG_DIR", "settings.json", "~/.claude/settings.json", NULL},
        {"codex", "CODEX_HOME", "hooks.json", "~/.codex/hooks.json",
         "Codex runs them once you have trusted them there: /hooks"},
        {"gemini", NULL, NULL, "~/.gemini/settings.json", NULL},
};

typedef struct HooksWork {
        const Options *options;
        const HooksRuntime *runtime;
        SetupFile file;
        char *before; /* path of the old text */
        char program[PATH_MAX + 64];
        char *socket;
} HooksWork;

static void hooks_work_deinit(HooksWork *work) {
        setup_file_deinit(&work->file);
        free(work->before);
        free(work->socket);
}

static int hooks_tell(const HooksWork *work, const char *state) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        if (!work->options->json) {
                print("%s: %s (%s)\n", work->runtime->name, state, work->file.path);
                if (work->runtime->note && !strcmp(state, "installed"))
                        print("%s\n", work->runtime->note);
                return CLI_OK;
        }
        jw_begin_object(&w);
        jw_field_cstr(&w, "runtime", work->runtime->name);
        jw_field_cstr(&w, "path", work->file.path);
        jw_field_cstr(&w, "state", state);
        jw_end_object(&w);
        if (w.failed)
                return complain(CLI_FAILED, "out of memory");
        json_put_text(stdout, buf_str(&text));
        return CLI_OK;
}

static int hooks_explain(const HooksWork *work, int r, const char *what) {
        char why[SETUP_WHAT_MAX + 64];

        if (r < 0)
                return complain(CLI_FAILED, "out of memory");
        snprintf(why, sizeof(why), "it cannot be changed: %s", what);
        return setup_refuse(&work->file, why);
}

/* ---- the three ------------------------------------------------------------------------------- */

/* The old text first: whatever happens then, it is there. One that has some of ours is not the old one. */
static int hooks_leave_before(const HooksWork *work) {
        _cleanup_(buf_deinit) Buf without = BUF_NULL;
        char what[SETUP_WHAT_MAX];
        bool is_old = work->file.is_there && hooks_remove(work->runtime->name, setup_text(&work->file),
                                                          &without, what) == SETUP_E_SAME;
        int r = is_old ? file_replace(work->before, setup_text(&work->file), work->file.mode, FILE_DURABLE)
                       : 0;

        return r ? complain(CLI_FAILED, "cannot write %s: %s", work->before, strerror(-r)) : CLI_OK;
}

static int hooks_install(HooksWork *work) {
        HookConfig config = {
                .runtime = work->runtime->name, .program = work->program, .socket = work->socket};
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        char what[SETUP_WHAT_MAX] = "";
        int r = hooks_add(&config, setup_text(&work->file), &out, what);

        if (r == SETUP_E_SAME)
                return hooks_tell(work, "installed already");
        if (r)
                return hooks_explain(work, r, what);
        r = hooks_leave_before(work);
        r = r ? r : setup_write(&work->file, buf_str(&out));
        return r ? r : hooks_tell(work, "installed");
}

/* A file that we had made goes; one that was there before stays, even if nothing is in it. */
static int hooks_uninstall(HooksWork *work) {
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        char what[SETUP_WHAT_MAX] = "";
        int r = hooks_remove(work->runtime->name, setup_text(&work->file), &out, what);

        if (r == SETUP_E_SAME)
                return hooks_tell(work, "not installed");
        if (r && r != SETUP_E_GONE)
                return hooks_explain(work, r, what);
        if (r == SETUP_E_GONE && access(work->before, F_OK))
                r = unlink(work->file.path) ? setup_refuse(&work->file, strerror(errno)) : CLI_OK;
        else
                r = setup_write(&work->file, buf_str(&out));
        if (!r)
                (void)unlink(work->before);
        return r ? r : hooks_tell(work, "uninstalled");
}

static int hooks_status(HooksWork *work) {
        HookConfig config = {
                .runtime = work->runtime->name, .program = work->program, .socket = work->socket};
        _cleanup_(buf_deinit) Buf with = BUF_NULL, without = BUF_NULL;
        char what[SETUP_WHAT_MAX] = "";
        int r = hooks_add(&config, setup_text(&work->file), &with, what);

        if (r == SETUP_E_SAME)
                return hooks_tell(work, "installed");
        if (r)
                return hooks_explain(work, r, what);
        r = hooks_remove(work->runtime->name, setup_text(&work->file), &without, what);
        return hooks_tell(work, r == SETUP_E_SAME ? "not installed"
                                                  : "installed for another place: install it again");
}

/* ---- the command ----------------------------------------------------------------------------- */

static bool hooks_find_program(HooksWork *work) {
        static const char *const places[] = {"muster-hook", "../libexec/muster/muster-hook"};
        char self[PATH_MAX];
        ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

        if (n <= 0)
                return false;
        self[n] = '\0';
        strrchr(self, '/')[1] = '\0';
        for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
                snprintf(work->program, sizeof(work->program), "%s%s", self, places[i]);
                if (!access(work->program, X_OK))
                        return true;
        }
        return false;
}

static int hooks_run(const Options *options, const HooksRuntime *runtime, int (*run)(HooksWork *work)) {
        _cleanup_(hooks_work_deinit) HooksWork work = {.options = options, .runtime = runtime};
        const char *folder = runtime->variable ? getenv(runtime->variable) : NULL;
        int r;

        work.socket = options->socket ? path_expand(options->socket) : place_socket(NULL);
        work.file.path = folder && *folder == '/' ? path_join(folder, runtime->in_variable)
                                                  : path_expand(runtime->path);
        if (!work.socket || !work.file.path || !hooks_find_program(&work))
                return complain(CLI_FAILED, "cannot tell where muster-hook, the daemon's socket or %s is",
                                runtime->path);
        if (asprintf(&work.before, "%s" HOOKS_BEFORE, work.file.path) < 0) {
                work.before = NULL;
                return complain(CLI_FAILED, "out of memory");
        }
        r = setup_read(&work.file);
        return r ? r : run(&work);
}

static const HooksRuntime *hooks_find_runtime(const char *name) {
        for (size_t i = 0; i < ARRAY_SIZE(hooks_runtimes); i++)
                if (!strcmp(name, hooks_runtimes[i].name))
                        return &hooks_runtimes[i];
        return NULL;
}

int cmd_hooks(const Options *options) {
        static const struct {
                const char *verb;
                int (*run)(HooksWork *work);
        } verbs[] = {{"install", hooks_install}, {"uninstall", hooks_uninstall}, {"status", hooks_status}};
        const char *verb = options->operands[0],
                   *name = options->n_operands > 1 ? options->operands[1] : NULL;
        const HooksRuntime *runtime = name ? hooks_find_runtime(name) : NULL;
        int r = output_check(), (*run)(HooksWork * work) = NULL;

        for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
                if (!strcmp(verb, verbs[i].verb))
                        run = verbs[i].run;
        if (r)
                return r;
        if (!run)
                return complain(CLI_USAGE, "hooks: %s is none of install, uninstall, status", verb);
        if (name && !runtime)
                return complain(CLI_USAGE,
                                "hooks: %s has no hooks that are known here: claude, codex and gemini have",
                                name);
        if (!name && run != hooks_status)
                return complain(CLI_USAGE, "hooks %s: of which program? claude, codex or gemini", verb);
        for (size_t i = 0; i < ARRAY_SIZE(hooks_runtimes); i++)
                if (!runtime || runtime == &hooks_runtimes[i]) {
                        int one = hooks_run(options, &hooks_runtimes[i], run);

                        r = r ? r : one;
                }
        return r;
}
