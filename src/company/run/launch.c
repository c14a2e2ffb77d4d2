/* SPDX-License-Identifier: MIT */
/* The way of a launch until its session is recorded: what it is about, its place in the lane, policy and budgets. */
#define LOG_MODULE "company/launch"

#include "company/run/launch.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "company/draft.h"
#include "company/govern/budget.h"
#include "company/govern/policy.h"
#include "company/govern/totals.h"
#include "company/index/turn.h"
#include "company/people/people.h"
#include "company/place.h"
#include "company/run/run.h"
#include "core/document.h"
#include "core/shape.h"
#include "gen/shapes.h"

/* ---- what it is about ------------------------------------------------------------------------ */

static Str launch_copy(Run *run, Str text) {
        return text.data ? arena_str(&run->arena, text) : STR_NULL;
}

static int launch_copy_argv(Run *run, const StrList *argv) {
        StrList *copy = arena_alloc(&run->arena, sizeof(*copy));

        if (!copy || !(copy->items = arena_alloc(&run->arena, (argv->n + 1) * sizeof(Str))))
                return error_origin(-ENOMEM);
        copy->n = argv->n;
        for (size_t i = 0; i < argv->n; i++)
                if (!(copy->items[i] = arena_str(&run->arena, argv->items[i])).data)
                        return error_origin(-ENOMEM);
        run->spec.argv = copy;
        return 0;
}

static int launch_copy_environment(Run *run, const StrVec *environment) {
        StrVec *copy = arena_alloc(&run->arena, sizeof(*copy));

        if (!copy || !(copy->items = arena_alloc(&run->arena, (environment->n + 1) * sizeof(char *))))
                return error_origin(-ENOMEM);
        copy->n = environment->n;
        for (size_t i = 0; i < copy->n; i++)
                if (!(copy->items[i] = (char *)arena_str(&run->arena, str_from(environment->items[i])).data))
                        return error_origin(-ENOMEM);
        run->spec.environment = copy;
        return 0;
}

static int launch_copy_spec(Run *run, const RunSpec *spec) {
        const Str *from[] = {&spec->project_id,    &spec->run_id,      &spec->session_ref,
                             &spec->stdin_text,    &spec->prompt_text, &spec->model,
                             &spec->repo_id,       &spec->workdir_rel, &spec->task_id,
                             &spec->milestone_id,  &spec->actor_id,    &spec->actor_role,
                             &spec->actor_team_id, &spec->job_id};
        int r = 0;

        run->spec = *spec;
        for (size_t i = 0; !r && i < ARRAY_SIZE(from); i++) {
                Str *to = (Str *)((char *)&run->spec + ((const char *)from[i] - (const char *)spec));

                *to = launch_copy(run, *from[i]);
                r = from[i]->data && !to->data ? error_origin(-ENOMEM) : 0;
        }
        if (!r && spec->argv)
                r = launch_copy_argv(run, spec->argv);
        if (!r && spec->environment)
                r = launch_copy_environment(run, spec->environment);
        if (!r && spec->env && !(run->spec.env = json_clone(&run->arena, spec->env)))
                r = error_origin(-ENOMEM);
        if (!r && spec->budget && !(run->spec.budget = json_clone(&run->arena, spec->budget)))
                r = error_origin(-ENOMEM);
        run->session_ref = run->spec.session_ref.n
                                   ? run->spec.session_ref
                                   : arena_printf(&run->arena, "local_" STR_FMT, STR_ARG(spec->run_id));
        return r ? r : run->session_ref.data ? 0 : error_origin(-ENOMEM);
}

static const char *launch_run_path(Edit *edit, const Run *run) {
        return place_run(edit->arena, run->spec.project_id, run->spec.run_id, "run.yaml");
}

/* run.yaml through the edit. 0, or as decide() returns. */
int launch_read_run(Edit *edit, const Run *run, Json **ret) {
        const char *path = launch_run_path(edit, run);
        Issues issues = ISSUES(edit->arena);
        char what[DOCUMENT_WHAT_MAX];
        Str text;
        int r = path ? edit_read(edit, path, DOCUMENT_MAX, &text) : FILE_E_MISSING;

        if (r == FILE_E_MISSING)
                return edit_fail(edit, CALL_E_COMPANY, "ENOENT: no such file or directory, open '%s/%s'",
                                 edit->workspace->path, path ? path : "run.yaml");
        if (r)
                return r < 0 ? error_trace(r) : edit_fail(edit, CALL_E_COMPANY, "run.yaml is too large");
        r = document_parse(edit->arena, text, DOCUMENT_YAML, ret, NULL, what);
        if (r > 0)
                return edit_fail(edit, CALL_E_COMPANY, "%s: %s", path, what);
        if (r)
                return error_trace(r);
        shape_check(&shape_run, *ret, NULL, &issues);
        return issues.n ? call_fail_issues(edit->call, &issues) : 0;
}

static const Json *launch_project_budget(Edit *edit, const Run *run) {
        const char *path = place_project(edit->arena, run->spec.project_id, "project.yaml");
        Json *project;

        if (!path || document_load(edit->arena, edit->root, path, DOCUMENT_YAML, &project, NULL, NULL))
                return NULL;
        return json_get(project, "budget");
}

static const Json *launch_task_budget(Edit *edit, const Run *run) {
        const char *path = run->spec.task_id.n
                                   ? place_task(edit->arena, run->spec.project_id, run->spec.task_id)
                                   : NULL;
        Json *task;

        if (!path || document_load(edit->arena, edit->root, path, DOCUMENT_MATTER, &task, NULL, NULL))
                return NULL;
        return json_get(task, "budget");
}

/* Budgets of run, project and task; whether something has to be summed up for them. */
bool launch_budgets(Edit *edit, const Run *run, const Json *own, Budget budgets[BUDGET_N_SCOPES]) {
        budgets[BUDGET_RUN] = budget_of(own);
        budgets[BUDGET_PROJECT] = budget_of(launch_project_budget(edit, run));
        budgets[BUDGET_TASK] = budget_of(launch_task_budget(edit, run));
        return !budget_is_none(&budgets[BUDGET_PROJECT]) || !budget_is_none(&budgets[BUDGET_TASK]);
}

int launch_look(Edit *edit, Run *run) {
        Budget budgets[BUDGET_N_SCOPES];
        const Json *agent;
        Json *doc = NULL;
        int r = launch_read_run(edit, run, &doc);

        if (r)
                return r;
        if (!place_session(edit->arena, run->session_ref))
                return edit_fail(edit, CALL_E_COMPANY, "This session_ref is too long to be kept");
        run->agent_id = launch_copy(run, json_text_of(doc, "agent_id"));
        run->provider = launch_copy(run, json_text_of(doc, "provider"));
        run->pack_id = launch_copy(run, json_text_of(doc, "context_pack_id"));
        agent = people_agent(edit->root, edit->arena, run->agent_id);
        run->team_id = launch_copy(run, agent ? json_text_of(agent, "team_id") : STR(""));
        run->mode = str_is(run->provider, "codex_app_server") || str_is(run->provider, "codex-app-server")
                            ? STR("codex_app_server")
                            : STR("command");
        run->needs_totals = launch_budgets(edit, run, run->spec.budget, budgets);
        return 0;
}

static int launch_look_decide(Edit *edit, const Carry *carry) {
        return launch_look(edit, run_of(carry));
}

/* It was refused: whoever waits is told why, and nothing of it stays. */
static void launch_refuse(Run *run, int error, Str message, Str data) {
        run_tell_launched(run, error, message, data);
        run_free(run);
}

static void launch_refuse_step(Run *run, int error) {
        const Call *call = run->call;

        launch_refuse(run, error, call ? call->message : STR("out of memory"),
                      call ? buf_str(&call->details) : STR_NULL);
}

static void launch_looked(Run *run, Edit *edit _unused_, int error) {
        if (error) {
                launch_refuse_step(run, error);
                return;
        }
        if (run->workspace->runs->n_live >= RUN_LIVE_MAX)
                launch_refuse(run, CALL_E_COMPANY, STR("Too many sessions run in this workspace"), STR_NULL);
        else if (lane_enter(run))
                launch_refuse(run, CALL_E_COMPANY, STR("Too many launches wait in this workspace"),
                              STR_NULL);
}

/* ---- policy and budgets ---------------------------------------------------------------------- */

static void launch_write_failed(Edit *edit, const Run *run, const char *reason, Str error,
                                bool is_exceeded) {
        EventOf of = run_event_of(run);
        JsonWriter *w = event_begin(edit, &of, "run.failed");

        jw_begin_object(w);
        jw_field_null(w, "exit_code");
        jw_field_null(w, "signal");
        jw_field_bool(w, "stopped", false);
        jw_field_bool(w, "preflight", true);
        jw_field_cstr(w, "reason", reason);
        jw_field_str(w, "error", error);
        jw_field_bool(w, "budget_exceeded", is_exceeded);
        jw_end_object(w);
        event_end(edit);
}

/* A run that had ended before keeps its status. */
static int launch_write_refusal(Edit *edit, const Run *run, Json *doc, const char *reason, Str error,
                                bool is_exceeded) {
        launch_write_failed(edit, run, reason, error, is_exceeded);
        if (str_is(json_text_of(doc, "status"), "running")) {
                (void)edit_try(edit, json_set(edit->arena, doc, STR("status"),
                                              json_new_str(edit->arena, STR("failed"))));
                (void)edit_try(edit, json_set(edit->arena, doc, STR("ended_at"),
                                              json_new_str(edit->arena, edit_now(edit))));
                draft_replace(edit, launch_run_path(edit, run), doc);
        }
        return edit_refuse(edit, CALL_E_COMPANY, STR_FMT, STR_ARG(error));
}

static Str launch_or(Str text, const char *other) {
        return text.n ? text : str_from(other);
}

static PolicyVerdict launch_ask(Edit *edit, const Run *run) {
        PolicyActor actor = {.id = launch_or(run->spec.actor_id, "human"),
                             .role = launch_or(run->spec.actor_role, "human"),
                             .team = run->spec.actor_team_id};
        PolicyResource resource = {.visibility = run->team_id.n ? STR("team") : STR("org"),
                                   .team = run->team_id,
                                   .producer = run->agent_id};
        PolicyVerdict verdict = policy_decide(&actor, POLICY_LAUNCH, &resource);
        EventOf of = run_event_of(run);
        EventPolicy event = {.is_allowed = verdict.is_allowed,
                             .rule_id = str_from(verdict.rule_id),
                             .reason = str_from(verdict.reason),
                             .action = STR("launch"),
                             .resource_id = run->spec.run_id,
                             .resource_kind = STR("run"),
                             .resource_visibility = resource.visibility};

        of.actor = actor.id;
        of.session_ref = STR_NULL; /* it is asked before there is a session */
        event_policy(edit, &of, &event);
        return verdict;
}

void launch_write_budget(Edit *edit, const Run *run, const BudgetReport *report) {
        EventOf of = run_event_of(run);

        for (BudgetEvent event = BUDGET_EVENT_FIRST; budget_next(report, &event);) {
                JsonWriter *w = event_begin(edit, &of, event.type);

                budget_write(w, report, &event);
                event_end(edit);
        }
}

int launch_totals(Edit *edit, const Run *run, Str except_run, BudgetUsed used[BUDGET_N_SCOPES]) {
        TotalsAsk ask = {
                .project_id = run->spec.project_id, .task_id = run->spec.task_id, .except_run = except_run};

        if (!run->needs_totals)
                return 0;
        if (!run->has_turn)
                return error_origin(-EAGAIN); /* nobody is judged by what could not be summed up */
        return error_trace(totals_read(edit->workspace->index, edit->root, edit->arena, &ask, used));
}

/* Nothing is to be looked at between its record and its files. */
static bool launch_is_one_step(const Run *run) {
        return !run->spec.repo_id.n && !run_is_app_server(run);
}

static int launch_decide(Edit *edit, const Carry *carry) {
        Run *run = run_of(carry);
        Budget budgets[BUDGET_N_SCOPES];
        BudgetUsed used[BUDGET_N_SCOPES] = {0};
        PolicyVerdict verdict;
        BudgetReport report;
        Json *doc = NULL;
        int r = launch_read_run(edit, run, &doc);

        if (r)
                return r;
        verdict = launch_ask(edit, run);
        if (!verdict.is_allowed)
                return launch_write_refusal(edit, run, doc, "policy_denied",
                                            arena_printf(edit->arena, "Policy denied launch: %s (%s)",
                                                         verdict.rule_id, verdict.reason),
                                            false);
        (void)launch_budgets(edit, run, run->spec.budget, budgets);
        r = launch_totals(edit, run, STR_NULL, used);
        if (r)
                return error_trace(r);
        budget_preflight(budgets, used, &report);
        launch_write_budget(edit, run, &report);
        if (report.is_exceeded)
                return launch_write_refusal(edit, run, doc, "budget_preflight_exceeded",
                                            budget_refusal(edit->arena, &report), true);
        if (!run->holds_ref)
                return edit_refuse(edit, CALL_E_COMPANY, "Session already running: " STR_FMT,
                                   STR_ARG(run->session_ref));
        run->may_start = (run_is_app_server(run) || (run->spec.argv && run->spec.argv->n)) &&
                         str_is(json_text_of(doc, "status"), "running");
        run->started_ms = edit->wall_us / 1000;
        if (launch_is_one_step(run) && (r = start_write(edit, run, doc)))
                return r;
        if (!run->end.error.n)
                start_record(edit, run, STR("running"));
        return 0;
}

static void launch_decided(Run *run, Edit *edit, int error) {
        run_turn_end(run);
        if (error) {
                launch_refuse_step(run, error);
                return;
        }
        run->state = RUN_PREPARING;
        run->is_recorded = true;
        (void)timer_set(&run->answer, RUN_ANSWER_MS);
        if (run->spec.limit_ms)
                (void)timer_set(&run->limit, run->spec.limit_ms);
        if (launch_is_one_step(run))
                start_decided(run, edit, 0);
        else
                start_prepare(run);
}

static void launch_in_turn(Run *run) {
        run_step(run, launch_decide, launch_decided);
}

void launch_granted(Run *run) {
        if (!run_find(run->workspace, run->session_ref))
                run_hold_ref(run);
        run_turn_begin(run, launch_in_turn);
}

int run_launch(Workspace *workspace, const RunSpec *spec, RunWatch *watch) {
        UsageUnits units = {0};
        Run *run;
        int r = run_new(workspace, &run);

        if (r)
                return error_trace(r);
        r = launch_copy_spec(run, spec);
        if (r) {
                run_free(run);
                return error_trace(r);
        }
        run->is_read = true;
        usage_units_add(&units, run->spec.stdin_text);
        run->n_input_units = usage_units_total(&units);
        run_add(run);
        run_watch(run, watch);
        run_step(run, launch_look_decide, launch_looked);
        return 0;
}
