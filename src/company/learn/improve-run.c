/* SPDX-License-Identifier: MIT */
/* The run of an evaluation: its document, its outputs and its events, written when it is over. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "company/draft.h"
#include "company/event.h"
#include "company/govern/bill.h"
#include "company/learn/improve.h"
#include "company/place.h"
#include "core/document.h"
#include "core/secret.h"

enum { IMPROVE_CHUNK = 64 << 10 }; /* of output, in one event */

/* What is written of one run, with the meter of its outputs. */
typedef struct ImproveRun {
        Edit *edit;
        Improvement *improvement;
        EventOf of;
        UsageMeter counted; /* all of the outputs; the bill's texts lie in it */
        UsageMeter meter;   /* of what was told so far */
        Bill bill;
} ImproveRun;

/* ---- before ---------------------------------------------------------------------------------- */

static void improve_write_argv(JsonWriter *w, const StrList *argv) {
        jw_key(w, "argv");
        jw_begin_array(w);
        for (size_t i = 0; i < argv->n; i++)
                jw_str(w, argv->items[i]);
        jw_end_array(w);
}

static void improve_write_place(JsonWriter *w, const Evaluation *evaluation) {
        draft_optional(w, "repo_id", evaluation->repo_id);
        draft_optional(w, "workdir_rel", evaluation->workdir_rel);
}

static void improve_tell_executing(ImproveRun *run) {
        static const char *const none[] = {"task_id", "milestone_id", "worktree_relpath", "worktree_branch",
                                           "stdin_relpath"};
        const Evaluation *evaluation = run->improvement->evaluation;
        JsonWriter *w = event_begin(run->edit, &run->of, "run.executing");

        jw_begin_object(w);
        improve_write_argv(w, evaluation->argv);
        improve_write_place(w, evaluation);
        for (size_t i = 0; i < ARRAY_SIZE(none); i++)
                jw_field_null(w, none[i]);
        jw_end_object(w);
        event_end(run->edit);
}

/* ---- output ---------------------------------------------------------------------------------- */

static void improve_on_count(void *user, const UsageCount *count) {
        ImproveRun *run = user;

        bill_write_reported(event_begin(run->edit, &run->of, "usage.reported"), count,
                            STR(IMPROVE_PROVIDER));
        event_end(run->edit);
}

static void improve_on_cycle(void *user, UsageSource source, const UsageCycle *cycle) {
        ImproveRun *run = user;

        bill_write_cycle(event_begin(run->edit, &run->of, "context.cycle.detected"), source, cycle);
        event_end(run->edit);
}

static void improve_tell_raw(ImproveRun *run, const char *stream, Str piece) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        EventOf of = run->of;
        JsonWriter *w;

        if (!edit_try(run->edit, utf8_append_replaced(&text, piece.data, piece.n)))
                return;
        of.actor = run->improvement->manager_id;
        of.visibility = STR("team");
        w = event_begin(run->edit, &of, "provider.raw");
        jw_begin_object(w);
        jw_field_cstr(w, "stream", stream);
        jw_field_str(w, "chunk", buf_str(&text));
        jw_end_object(w);
        event_end(run->edit);
}

/* A piece that cuts no character. */
static Str improve_piece(Str rest) {
        Str piece = {rest.data, MIN(rest.n, (size_t)IMPROVE_CHUNK)};
        size_t n_open = piece.n < rest.n ? utf8_unfinished(piece) : 0;

        return (Str){piece.data, piece.n - n_open};
}

static void improve_tell_output(ImproveRun *run, UsageStream stream, Str rest) {
        static const char *const names[] = {"stdout", "stderr"};
        UsageTold told = {.cycle = improve_on_cycle, .count = improve_on_count, .user = run};

        while (rest.n && !run->edit->r) {
                Str piece = improve_piece(rest);

                improve_tell_raw(run, names[stream], piece);
                (void)edit_try(run->edit, usage_meter_feed(&run->meter, stream, piece, &told));
                rest = (Str){rest.data + piece.n, rest.n - piece.n};
        }
}

static void improve_keep_output(ImproveRun *run, const char *name, const Buf *output) {
        const Improvement *improvement = run->improvement;
        const char *path =
                place_run(run->edit->arena, improvement->project_id, improvement->run.run_id, name);

        if (edit_try(run->edit, path ? 0 : -ENOMEM))
                (void)edit_create(run->edit, path, output->n ? buf_str(output) : STR(""));
}

/* ---- after ----------------------------------------------------------------------------------- */

static void improve_tell_usage(ImproveRun *run) {
        if (run->bill.is_estimate) {
                bill_write_estimated(event_begin(run->edit, &run->of, "usage.estimated"), &run->bill);
                event_end(run->edit);
        }
        if (run->bill.has_cost) {
                bill_write_cost(event_begin(run->edit, &run->of, "usage.cost_computed"), &run->bill);
                event_end(run->edit);
        }
}

static void improve_tell_end(ImproveRun *run) {
        const Evaluation *evaluation = run->improvement->evaluation;
        JsonWriter *w = event_begin(run->edit, &run->of,
                                    evaluation_has_passed(evaluation) ? "run.ended" : "run.failed");
        int code = evaluation_exit_code(evaluation);

        jw_begin_object(w);
        if (code >= 0)
                jw_field_int(w, "exit_code", code);
        else
                jw_field_null(w, "exit_code");
        jw_field_cstr(w, "signal", evaluation_signal(evaluation));
        jw_field_bool(w, "stopped", false);
        jw_field_bool(w, "budget_exceeded", false);
        jw_end_object(w);
        event_end(run->edit);
}

/* What run.yaml has of one that is over. */
static Json *improve_members(ImproveRun *run) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        const Evaluation *evaluation = run->improvement->evaluation;
        Json *json = NULL;
        Str copy;

        jw_begin_object(&w);
        jw_field_cstr(&w, "status", evaluation_has_passed(evaluation) ? "ended" : "failed");
        jw_field_str(&w, "ended_at", edit_now(run->edit));
        jw_key(&w, "usage");
        bill_write_usage(&w, &run->bill);
        jw_key(&w, "context_cycles");
        bill_write_cycles(&w, &run->counted);
        jw_key(&w, "spec");
        jw_begin_object(&w);
        jw_field_cstr(&w, "kind", "command");
        improve_write_argv(&w, evaluation->argv);
        improve_write_place(&w, evaluation);
        if (evaluation->env) {
                jw_key(&w, "env");
                secret_write_env(run->improvement->config, &w, evaluation->env);
        }
        jw_end_object(&w);
        jw_end_object(&w);
        copy = w.failed ? STR_NULL : arena_str(run->edit->arena, buf_str(&text));
        if (!copy.data || json_parse(run->edit->arena, copy.data, copy.n, NULL, &json, NULL))
                return NULL;
        return json;
}

static void improve_keep_usage(ImproveRun *run) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        _cleanup_(buf_deinit) Buf pretty = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        Json *json = NULL;

        bill_write_usage(&w, &run->bill);
        if (edit_try(run->edit, w.failed ? -ENOMEM : 0) &&
            edit_try(run->edit, json_parse(run->edit->arena, text.data, text.n, NULL, &json, NULL)) &&
            edit_try(run->edit, json_write_pretty(&pretty, json, 2)) &&
            edit_try(run->edit, buf_append(&pretty, "\n", 1)))
                improve_keep_output(run, "outputs/token_usage.json", &pretty);
}

/* The rates of this machine; NULL: none. */
static const Json *improve_cards(Edit *edit) {
        Json *machine = NULL;

        (void)document_load(edit->arena, edit->root, PLACE_MACHINE, DOCUMENT_YAML, &machine, NULL, NULL);
        return json_get(machine, "provider_pricing_usd_per_1k_tokens");
}

/* The bill has to be known before the document is written, and the events come behind it: the outputs are read twice. */
static void improve_count(ImproveRun *run) {
        const ExecResult *result = &run->improvement->evaluation->result;

        (void)edit_try(run->edit,
                       usage_meter_feed(&run->counted, USAGE_STDOUT, buf_str(&result->out), NULL));
        (void)edit_try(run->edit,
                       usage_meter_feed(&run->counted, USAGE_STDERR, buf_str(&result->err), NULL));
        usage_meter_end(&run->counted, NULL);
        bill_make(&run->bill, &run->counted, 0, STR(IMPROVE_PROVIDER), improve_cards(run->edit));
}

/* Events of its beginning have the time of its beginning. */
static bool improve_begin(ImproveRun *run) {
        Improvement *improvement = run->improvement;
        Edit *edit = run->edit;
        int64_t now_us = edit->wall_us, since_ms = edit->since_ms;
        Json *members = improve_members(run);
        bool is_made;

        if (!edit_try(edit, members ? 0 : -ENOMEM))
                return false;
        edit->wall_us = improvement->evaluation->started_us;
        edit->since_ms = improvement->evaluation->started_ms;
        is_made = run_make_of(edit, improvement->project_id, improvement->manager_id, STR(IMPROVE_PROVIDER),
                              members, &improvement->run);
        run->of = (EventOf){.project_id = improvement->project_id, .run_id = improvement->run.run_id};
        if (is_made)
                improve_tell_executing(run);
        edit->wall_us = now_us;
        edit->since_ms = since_ms;
        return is_made;
}

void improve_write_run(Edit *edit, Improvement *improvement) {
        ImproveRun run = {.edit = edit, .improvement = improvement};
        const ExecResult *result = &improvement->evaluation->result;

        improve_count(&run);
        if (improve_begin(&run)) {
                improve_keep_output(&run, "outputs/stdout.txt", &result->out);
                improve_keep_output(&run, "outputs/stderr.txt", &result->err);
                improve_keep_usage(&run);
                improve_tell_output(&run, USAGE_STDOUT, buf_str(&result->out));
                improve_tell_output(&run, USAGE_STDERR, buf_str(&result->err));
                usage_meter_end(
                        &run.meter,
                        &(UsageTold){.cycle = improve_on_cycle, .count = improve_on_count, .user = &run});
                improve_tell_usage(&run);
                improve_tell_end(&run);
        }
        usage_meter_deinit(&run.meter);
        usage_meter_deinit(&run.counted);
}
