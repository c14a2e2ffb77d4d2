/* SPDX-License-Identifier: MIT */
/*
 * The end of a session: what it was, what the run has used and cost, what its budgets say, all in one change with the
 * last of its output. A session whose program never ran fails with a reason, and its run stays as it was: the one place
 * where that is so (facts §6.2, §17).
 */
#define LOG_MODULE "company/run"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/error.h"
#include "company/draft.h"
#include "company/govern/bill.h"
#include "company/place.h"
#include "company/run/run.h"
#include "core/document.h"
#include "gen/shapes.h"

void finish_note(Run *run, const char *format, ...) {
        char text[512];
        va_list args;

        va_start(args, format);
        (void)vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        run->end = (RunEnd){.status = STR("failed"),
                            .error = arena_str(&run->arena, str_from(text)),
                            .is_late = run->is_late};
        if (!run->end.error.data)
                run->end.error = STR("out of memory");
}

/* ---- how it ended ---------------------------------------------------------------------------- */

/* Also when nobody asked for it here: somebody may have, of an earlier daemon or of another program. */
static bool finish_is_stopped(Edit *edit, const Run *run) {
        return run->is_stop_wanted || (run->hosted && run->hosted->is_stopped) ||
               place_has(edit->root, place_run(edit->arena, run->spec.project_id, run->spec.run_id,
                                               "outputs/stop_requested.flag"));
}

static void finish_look(Run *run, bool is_stopped) {
        const Hosted *hosted = run->hosted;
        RunEnd *end = &run->end;

        *end = (RunEnd){.is_late = run->is_late};
        if (!hosted || hosted->state == HOSTED_LOST) {
                end->error = STR("Session process is gone, and nobody has seen its end.");
        } else if (WIFSIGNALED(hosted->wait_status)) {
                const char *name = sigabbrev_np(WTERMSIG(hosted->wait_status));

                end->signal = arena_printf(&run->arena, "SIG%s", name ? name : "?");
        } else {
                end->has_exit = true;
                end->exit_code = WEXITSTATUS(hosted->wait_status);
        }
        end->status = is_stopped                             ? STR("stopped")
                      : end->has_exit && end->exit_code == 0 ? STR("ended")
                                                             : STR("failed");
        if (run_is_app_server(run))
                app_server_judge(run, is_stopped, end);
}

/* ---- what it has used ------------------------------------------------------------------------ */

static const Json *finish_cards(Edit *edit) {
        Json *machine;

        if (document_load(edit->arena, edit->root, PLACE_MACHINE, DOCUMENT_YAML, &machine, NULL, NULL))
                return NULL;
        return json_get(machine, "provider_pricing_usd_per_1k_tokens");
}

static void finish_tell_usage(Edit *edit, const Run *run, const Bill *bill) {
        EventOf of = run_event_of(run);

        if (bill->is_estimate) {
                bill_write_estimated(event_begin(edit, &of, "usage.estimated"), bill);
                event_end(edit);
        }
        if (bill->has_cost) {
                bill_write_cost(event_begin(edit, &of, "usage.cost_computed"), bill);
                event_end(edit);
        }
}

/* What a writer wrote, as a tree in the arena. */
static Json *finish_tree(Edit *edit, JsonWriter *w, const Buf *text) {
        Str copy = arena_str(edit->arena, buf_str(text));
        Json *json = NULL;

        (void)edit_try(edit, w->failed || !copy.data
                                     ? -ENOMEM
                                     : json_parse(edit->arena, copy.data, copy.n, NULL, &json, NULL));
        return json;
}

static void finish_set(Edit *edit, Json *doc, const char *key, Json *value) {
        if (edit_try(edit, value ? 0 : -ENOMEM))
                (void)edit_try(edit, json_set(edit->arena, doc, str_from(key), value));
}

static void finish_put_usage(Edit *edit, const Run *run, const Bill *bill, Json *doc) {
        _cleanup_(buf_deinit) Buf usage = BUF_NULL, cycles = BUF_NULL, text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&usage), w2 = JSON_WRITER(&cycles);
        Json *tree;

        bill_write_usage(&w, bill);
        bill_write_cycles(&w2, &run->meter);
        tree = finish_tree(edit, &w, &usage);
        finish_set(edit, doc, "usage", tree);
        finish_set(edit, doc, "context_cycles", finish_tree(edit, &w2, &cycles));
        if (tree && edit_try(edit, document_text(tree, DOCUMENT_JSON, STR_NULL, &text)))
                (void)edit_replace(edit,
                                   place_run(edit->arena, run->spec.project_id, run->spec.run_id,
                                             "outputs/token_usage.json"),
                                   buf_str(&text));
}

/* Whether a hard budget is exceeded. */
static bool finish_judge(Edit *edit, const Run *run, const Bill *bill, const Json *doc) {
        Budget budgets[BUDGET_N_SCOPES];
        BudgetUsed used[BUDGET_N_SCOPES] = {0};
        BudgetUsed own = {.usd = bill->has_cost ? bill->usd : 0, .n_tokens = (double)bill->count.n_total};
        BudgetReport report;

        (void)launch_budgets(edit, run, json_get(json_get(doc, "spec"), "budget"), budgets);
        if (!edit_try(edit, launch_totals(edit, run, run->spec.run_id, used)))
                return false;
        for (int i = 0; i < BUDGET_N_SCOPES; i++) {
                used[i].usd += own.usd;
                used[i].n_tokens += own.n_tokens;
        }
        budget_final(budgets, used, &report);
        launch_write_budget(edit, run, &report);
        return report.is_exceeded;
}

/* ---- keeping it ------------------------------------------------------------------------------ */

static void finish_tell(Edit *edit, const Run *run, bool is_exceeded) {
        const RunEnd *end = &run->end;
        bool is_stopped = str_is(end->status, "stopped");
        EventOf of = run_event_of(run);
        JsonWriter *w = event_begin(edit, &of,
                                    is_stopped                     ? "run.stopped"
                                    : str_is(end->status, "ended") ? "run.ended"
                                                                   : "run.failed");

        jw_begin_object(w);
        if (end->has_exit)
                jw_field_int(w, "exit_code", end->exit_code);
        else
                jw_field_null(w, "exit_code");
        if (end->signal.n)
                jw_field_str(w, "signal", end->signal);
        else
                jw_field_null(w, "signal");
        jw_field_bool(w, "stopped", is_stopped);
        if (end->error.n && !end->has_exit)
                jw_field_bool(w, "orphaned", true);
        jw_field_bool(w, "budget_exceeded", is_exceeded);
        jw_end_object(w);
        event_end(edit);
}

static void finish_put_run(Edit *edit, Run *run) {
        const char *path = place_run(edit->arena, run->spec.project_id, run->spec.run_id, "run.yaml");
        Json *doc = path ? draft_read(edit, path, &shape_run) : NULL;
        bool is_exceeded;
        Bill bill;

        if (!doc)
                return; /* removed, or broken by hand: what is left is the session's record */
        bill_make(&bill, &run->meter, run->n_input_units, run->provider, finish_cards(edit));
        finish_tell_usage(edit, run, &bill);
        is_exceeded = finish_judge(edit, run, &bill, doc);
        if (is_exceeded && str_is(run->end.status, "ended"))
                run->end.status = STR("failed");
        finish_tell(edit, run, is_exceeded);
        finish_set(edit, doc, "status", json_new_str(edit->arena, run->end.status));
        finish_set(edit, doc, "ended_at", json_new_str(edit->arena, edit_now(edit)));
        finish_put_usage(edit, run, &bill, doc);
        app_server_set_names(edit, run, doc);
        draft_replace(edit, path, doc);
}

static int finish_decide(Edit *edit, const Carry *carry) {
        Run *run = run_of(carry);

        if (!run->is_program_over) { /* it never ran, and its reason is known */
                start_record(edit, run, run->end.status);
                return 0;
        }
        output_write(edit, run);
        finish_look(run, finish_is_stopped(edit, run));
        finish_put_run(edit, run);
        if (!run->is_estranged)
                start_record(edit, run, run->end.status);
        return 0;
}

static void finish_kept(Run *run, Edit *edit _unused_, int error) {
        run_turn_end(run);
        if (error) {
                log_warning(&run->workspace->company->daemon->log, run->hosted ? run->hosted->id : "-",
                            "its end cannot be kept yet run=" STR_FMT " error=" STR_FMT,
                            STR_ARG(run->spec.run_id),
                            STR_ARG(run->call ? run->call->message : STR("memory")));
                run_again(run);
                return;
        }
        output_kept(run);
        run_tell_ended(run);
}

static void finish_in_turn(Run *run) {
        run_step(run, finish_decide, finish_kept);
}

void finish_run(Run *run) {
        if (run->is_end_kept)
                run_tell_ended(run);
        else
                run_turn_begin(run, finish_in_turn);
}
