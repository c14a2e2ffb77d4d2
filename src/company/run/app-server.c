/* SPDX-License-Identifier: MIT */
/*
 * A run whose program is an app server (facts §6.4). What it prints is kept first, as that of any other, and what follows
 * from it (names of thread and turn, the agent's text) in the same change; only then it is answered. So a later daemon
 * knows from the files alone how far the dialog was.
 */
#define LOG_MODULE "company/run"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "company/draft.h"
#include "company/place.h"
#include "company/run/run.h"
#include "core/document.h"
#include "gen/shapes.h"

enum { APP_SERVER_INTERRUPT_MS = 100 }; /* between an interrupt and TERM */

/* Its output ends a moment before it does: nobody can tell which one was meant. */
#define APP_SERVER_SILENT "The app server ended, or closed its output, before its turn was over"

bool run_is_app_server(const Run *run) {
        return str_is(run->mode, "codex_app_server");
}

/* ---- before it starts, on a worker ----------------------------------------------------------- */

static Str app_server_program(Edit *edit) {
        Json *machine = NULL;
        const Json *bins;
        Str bin;

        if (document_load(edit->arena, edit->root, PLACE_MACHINE, DOCUMENT_YAML, &machine, NULL, NULL))
                machine = NULL;
        bins = json_get(machine, "provider_bins");
        bin = json_text_of(bins, "codex_app_server");
        if (!bin.n)
                bin = json_text_of(bins, "codex");
        return bin.n ? bin : STR("codex");
}

/* Its command is not the caller's. */
static int app_server_set_argv(Edit *edit, Run *run) {
        StrList *argv = arena_alloc(&run->arena, sizeof(*argv));
        Str *items = arena_alloc(&run->arena, 2 * sizeof(*items));

        if (!argv || !items)
                return error_origin(-ENOMEM);
        items[0] = arena_str(&run->arena, app_server_program(edit));
        items[1] = STR("app-server");
        if (!items[0].data)
                return error_origin(-ENOMEM);
        *argv = (StrList){.items = items, .n = 2};
        run->spec.argv = argv;
        return 0;
}

int app_server_prepare(Edit *edit, Run *run) {
        const RunSpec *spec = &run->spec;
        UsageUnits units = {0};
        int r = app_server_set_argv(edit, run);

        if (r)
                return r;
        run->dialog.prompt = spec->prompt_text.n ? spec->prompt_text : spec->stdin_text;
        run->dialog.model = spec->model;
        usage_units_add(&units, run->dialog.prompt);
        run->n_input_units = usage_units_total(&units);
        if (!run->dialog.prompt.n)
                finish_note(run,
                            "prompt_text (or stdin_text) is required for codex_app_server session launches");
        return 0;
}

/* ---- what it prints, on a worker ------------------------------------------------------------- */

static void app_server_look(Run *run) {
        run->are_names_new |= run->thread_id.n != strlen(run->dialog.thread_id) ||
                              run->turn_id.n != strlen(run->dialog.turn_id);
        run->thread_id = str_from(run->dialog.thread_id);
        run->turn_id = str_from(run->dialog.turn_id);
}

int app_server_feed(Run *run, Str piece, bool is_last, const UsageTold *told) {
        int r;

        run->dialog.meter = &run->meter;
        usage_meter_pass(&run->meter, USAGE_STDOUT, piece);
        r = dialog_feed(&run->dialog, piece, told);
        if (!r && is_last)
                r = dialog_end(&run->dialog, told);
        app_server_look(run);
        return error_trace(r);
}

void app_server_write_message(Edit *edit, const Run *run) {
        if (run->dialog.message.n)
                (void)edit_grow(edit,
                                place_run(edit->arena, run->spec.project_id, run->spec.run_id,
                                          "outputs/last_message.md"),
                                run->n_message, buf_str(&run->dialog.message));
}

void app_server_set_names(Edit *edit, const Run *run, Json *doc) {
        Json *spec = json_get(doc, "spec");

        if (!json_is(spec, JSON_OBJECT))
                return;
        if (run->thread_id.n)
                (void)edit_try(edit, json_set(edit->arena, spec, STR("thread_id"),
                                              json_new_str(edit->arena, run->thread_id)));
        if (run->turn_id.n)
                (void)edit_try(edit, json_set(edit->arena, spec, STR("turn_id"),
                                              json_new_str(edit->arena, run->turn_id)));
}

/* Names of thread and turn, when they came: into the record and into the run's document. */
void app_server_write_names(Edit *edit, const Run *run) {
        const char *path = place_run(edit->arena, run->spec.project_id, run->spec.run_id, "run.yaml");
        Json *doc = run->are_names_new && path ? draft_read(edit, path, &shape_run) : NULL;

        if (doc) {
                app_server_set_names(edit, run, doc);
                draft_replace(edit, path, doc);
        }
        if (run->are_names_new && !run->is_estranged)
                start_record(edit, run, STR("running"));
}

/* ---- going on, on the loop ------------------------------------------------------------------- */

static void app_server_say(Run *run) {
        Buf *say = &run->dialog.say;
        int r = say->n ? host_write(run->hosted, buf_str(say)) : 0;

        if (r < 0)
                dialog_break(&run->dialog, "There was no memory to talk to the app server");
        buf_deinit(say);
}

static void app_server_go_on(Run *run) {
        if (!run->hosted || run->is_program_over)
                return;
        app_server_say(run);
        if (run->dialog.state != DIALOG_OVER || run->is_dismissed)
                return;
        run->is_dismissed = true;
        (void)host_close_input(run->hosted);
        host_kill(run->hosted, RUN_STOP_MS);
}

void app_server_begin(Run *run) {
        if (run->dialog.state == DIALOG_IDLE) {
                run->dialog.folder = str_from(run->folder);
                if (dialog_begin(&run->dialog))
                        dialog_break(&run->dialog, "There was no memory to talk to the app server");
        }
        app_server_go_on(run);
}

void app_server_kept(Run *run) {
        run->n_message += run->dialog.message.n;
        buf_deinit(&run->dialog.message);
        run->are_names_new = false;
        app_server_go_on(run);
}

/* One that does not read what it is told has to wait with what it says, unless it is to go anyway. */
bool app_server_is_held(const Run *run) {
        return !run->is_program_over && !run->hosted->has_exited && !run->is_stop_wanted &&
               run->dialog.state != DIALOG_OVER && host_is_full(run->hosted);
}

void app_server_on_silence(Run *run) {
        const Hosted *hosted = run->hosted;

        if (hosted->state != HOSTED_RUNNING || hosted->awaits_io || hosted->fd_out >= 0)
                return;
        dialog_break(&run->dialog, APP_SERVER_SILENT);
        app_server_go_on(run);
}

/* ---- stopping -------------------------------------------------------------------------------- */

void app_server_on_interrupted(Timer *timer) {
        Run *run = container_of(timer, Run, interrupt);

        if (run->hosted && !run->is_program_over)
                host_kill(run->hosted, RUN_STOP_MS);
}

void app_server_stop(Run *run) {
        bool has_turn = run->dialog.state == DIALOG_WORKING && !dialog_interrupt(&run->dialog);

        if (has_turn)
                app_server_say(run);
        if (!has_turn || timer_set(&run->interrupt, APP_SERVER_INTERRUPT_MS))
                host_kill(run->hosted, RUN_STOP_MS);
}

/* ---- one that an earlier daemon left --------------------------------------------------------- */

/* Nothing that was said is said again: what the files tell has been answered. */
int app_server_feed_kept(Run *run, Str piece) {
        int r = app_server_feed(run, piece, false, NULL);

        run->n_message += run->dialog.message.n;
        run->dialog.message.n = 0;
        run->dialog.say.n = 0;
        return r;
}

int app_server_adopt(Run *run) {
        int r;

        dialog_deinit(&run->dialog);
        run->n_message = 0;
        run->thread_id = run->turn_id = STR_NULL;
        r = dialog_begin(&run->dialog);
        run->dialog.say.n = 0;
        return error_trace(r);
}

void app_server_adopted(Run *run) {
        run->are_names_new = false;
        if (run->dialog.state < DIALOG_WORKING)
                dialog_break(&run->dialog,
                             "The daemon was started again before the app server had named its turn");
        app_server_go_on(run);
}

/* ---- its end --------------------------------------------------------------------------------- */

void app_server_judge(const Run *run, bool is_stopped, RunEnd *end) {
        const Dialog *dialog = &run->dialog;
        bool is_completed = dialog->verdict == DIALOG_COMPLETED;

        if (end->error.n && dialog->verdict == DIALOG_UNDECIDED)
                return; /* nobody has seen its end */
        end->has_exit = true;
        end->exit_code = is_completed ? 0 : 1;
        end->status = is_stopped || dialog->verdict == DIALOG_INTERRUPTED ? STR("stopped")
                      : is_completed                                      ? STR("ended")
                                                                          : STR("failed");
        end->error = STR_NULL;
        if (is_stopped)
                return;
        if (dialog->verdict == DIALOG_BROKEN)
                end->error = str_from(dialog->reason);
        else if (dialog->verdict == DIALOG_UNDECIDED)
                end->error = STR(APP_SERVER_SILENT);
}
