/* SPDX-License-Identifier: MIT */
#include "company/pulse/report.h"

#include <errno.h>

#include "base/error.h"
#include "company/draft.h"
#include "company/place.h"
#include "company/talk/talk.h"
#include "core/document.h"

int report_counts_init(ReportCounts *counts, Arena *arena) {
        *counts = (ReportCounts){.jobs = json_new(arena, JSON_ARRAY)};
        return counts->jobs ? 0 : error_origin(-ENOMEM);
}

/* One more into a list whose room doubles. */
static int report_push(Arena *arena, StrList *list, Str id) {
        bool is_full = !(list->n & (list->n - 1));
        Str *more = is_full ? arena_alloc(arena, (2 * list->n + 1) * sizeof(*more)) : list->items;

        if (!more)
                return error_origin(-ENOMEM);
        if (is_full && list->n)
                memcpy(more, list->items, list->n * sizeof(*more));
        more[list->n] = id;
        *list = (StrList){.items = more, .n = list->n + 1};
        return 0;
}

/* ---- proposals ------------------------------------------------------------------------------- */

/* What is to be done once it is approved: of an item that a worker wants decided, what that holds. */
static const Json *report_proposed(const Json *action) {
        const Json *inner = json_get(action, "proposed_action");

        return inner ? inner : action;
}

static Str report_title(Edit *edit, const Json *action) {
        Str title = json_text_of(action, "title");

        return title.n ? title
                       : arena_printf(edit->arena, "Heartbeat approval: " STR_FMT,
                                      STR_ARG(json_text_of(action, "kind")));
}

static Json *report_matter(Edit *edit, const ReportFrom *from, const Json *action, Str id) {
        Draft draft;
        JsonWriter *w = draft_begin(&draft, "heartbeat_action_proposal");

        jw_field_str(w, "id", id);
        jw_field_str(w, "created_at", edit_now(edit));
        jw_field_str(w, "title", report_title(edit, action));
        jw_field_cstr(w, "visibility", "managers");
        jw_field_str(w, "produced_by", from->worker_id);
        jw_field_str(w, "run_id", from->run_id);
        jw_field_str(w, "context_pack_id", from->context_pack_id);
        jw_field_str(w, "project_id", json_text_of(action, "project_id"));
        jw_field_value(w, "proposed_action", report_proposed(action));
        draft_optional(w, "rationale", json_text_of(action, "rationale"));
        return draft_end(&draft, edit->arena);
}

static int report_body(Edit *edit, const ReportFrom *from, const Json *action, Buf *out) {
        int r = buf_printf(out,
                           "\n# " STR_FMT "\n\n## Summary\n\n" STR_FMT " asks for " STR_FMT
                           ", which has to be approved.\n\n## Proposed Action\n\n```json\n",
                           STR_ARG(report_title(edit, action)), STR_ARG(from->worker_id),
                           STR_ARG(json_text_of(action, "kind")));

        if (!r)
                r = json_write_pretty(out, report_proposed(action), 2);
        return r ? error_trace(r)
                 : error_trace(buf_append_str(
                           out,
                           STR("\n```\n\n## Policy\n\nNothing of it happens before a manager approves.\n")));
}

static int report_propose(Edit *edit, const ReportFrom *from, const Json *action, ReportCounts *counts) {
        _cleanup_(buf_deinit) Buf body = BUF_NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Str id = edit_id(edit, "art");
        const char *path = place_artifact(edit->arena, json_text_of(action, "project_id"), id, ".md");
        Json *matter = report_matter(edit, from, action, id);
        int r = matter ? report_body(edit, from, action, &body) : error_origin(-ENOMEM);

        if (!path)
                return edit_fail(edit, CALL_E_COMPANY, "No such project");
        if (!r)
                r = document_text(matter, DOCUMENT_MATTER, buf_str(&body), &text);
        if (!r)
                r = edit_create(edit, path, arena_str(edit->arena, buf_str(&text)));
        return r ? error_trace(r) : error_trace(report_push(edit->arena, &counts->proposal_ids, id));
}

/* ---- doing ----------------------------------------------------------------------------------- */

static Str report_visibility(const Json *action) {
        Str visibility = json_text_of(action, "visibility");

        return visibility.n ? visibility : STR("managers");
}

static int report_comment(Edit *edit, const ReportFrom *from, const Json *action) {
        const Json *comment;

        return talk_add_comment(
                edit,
                &(TalkComment){.author_id = from->actor.id,
                               .author_role = from->actor.role,
                               .visibility = report_visibility(action),
                               .target = {.project_id = json_text_of(action, "project_id"),
                                          .agent_id = json_text_of(action, "target_agent_id"),
                                          .artifact_id = json_text_of(action, "target_artifact_id"),
                                          .run_id = json_text_of(action, "target_run_id")},
                               .body = json_text_of(action, "body")},
                &comment);
}

static void report_write_list(JsonWriter *w, const Json *action, const char *key) {
        const Json *list = json_get(action, key);

        jw_key(w, key);
        if (list)
                jw_value(w, list);
        else
                jw_raw(w, STR("[]"));
}

static void report_write_ref(JsonWriter *w, const Json *action, const char *key, const char *says) {
        Str value = json_text_of(action, key);

        if (!value.n)
                return;
        jw_begin_object(w);
        jw_field_cstr(w, "kind", "note");
        jw_field_str(w, "value", value);
        jw_field_cstr(w, "description", says);
        jw_end_object(w);
}

static Str report_or(Str text, const char *other) {
        return text.n ? text : str_from(other);
}

/* The job that an action asks for, as job.submit takes it; without workspace_dir, which is the submitter's. */
static Json *report_job(Edit *edit, const ReportFrom *from, const Json *action, Str id) {
        Draft draft;
        JsonWriter *w = draft_begin(&draft, "job");

        jw_field_str(w, "job_id", id);
        jw_field_cstr(w, "job_kind", "execution");
        jw_field_str(w, "worker_kind", report_or(json_text_of(action, "worker_kind"), "codex"));
        jw_field_str(w, "project_id", json_text_of(action, "project_id"));
        jw_field_str(w, "goal", json_text_of(action, "goal"));
        report_write_list(w, action, "constraints");
        report_write_list(w, action, "deliverables");
        jw_field_str(w, "permission_level",
                     report_or(json_text_of(action, "permission_level"), "read-only"));
        jw_key(w, "context_refs");
        jw_begin_array(w);
        report_write_ref(w, action, "context_note", "from the worker that asked for this job");
        report_write_ref(w, action, "task_id", "task");
        report_write_ref(w, action, "milestone_id", "milestone");
        jw_end_array(w);
        draft_optional(w, "worker_agent_id", json_text_of(action, "worker_agent_id"));
        jw_field_str(w, "manager_actor_id", from->actor.id);
        jw_field_str(w, "manager_role", from->actor.role);
        return draft_end(&draft, edit->arena);
}

static int report_launch(Edit *edit, const ReportFrom *from, const Json *action, ReportCounts *counts) {
        Str id = edit_id(edit, "job");
        Json *job = report_job(edit, from, action, id);
        int r = job ? json_push(counts->jobs, job) : error_origin(-ENOMEM);

        return r ? error_trace(r) : error_trace(report_push(edit->arena, &counts->job_ids, id));
}

/* Of what cannot be done nothing is begun: one action of many must not take the others with it. */
static bool report_can(Edit *edit, const Json *action) {
        Str kind = json_text_of(action, "kind"), project = json_text_of(action, "project_id");
        const char *path = project.n ? place_project(edit->arena, project, "project.yaml") : NULL;

        if (str_is(kind, "noop"))
                return !project.n || (path && edit_exists(edit, path));
        if (!path || !edit_exists(edit, path))
                return false;
        return !str_is(kind, "add_comment") || (str_trim(json_text_of(action, "body")).n &&
                                                (str_trim(json_text_of(action, "target_agent_id")).n ||
                                                 str_trim(json_text_of(action, "target_artifact_id")).n ||
                                                 str_trim(json_text_of(action, "target_run_id")).n));
}

int report_do(Edit *edit, const ReportFrom *from, const Json *action, ReportCounts *counts, bool *ret) {
        Str kind = json_text_of(action, "kind");
        bool is_job = str_is(kind, "launch_job");
        PolicyResource resource = {.visibility = report_visibility(action), .team = from->actor.team};

        *ret = report_can(edit, action) &&
               (from->is_approved ||
                policy_decide(&from->actor, is_job ? POLICY_LAUNCH : POLICY_APPROVE, &resource).is_allowed);
        if (!*ret)
                return 0;
        return is_job                        ? report_launch(edit, from, action, counts)
               : str_is(kind, "add_comment") ? report_comment(edit, from, action)
                                             : 0;
}

/* ---- one of a report ------------------------------------------------------------------------- */

static int report_queue(Edit *edit, Arbiter *arbiter, const ReportFrom *from, const Json *action,
                        ReportCounts *counts) {
        int r;

        if (!report_can(edit, action)) {
                counts->n_skipped++;
                return arbiter_note(arbiter, action, false);
        }
        counts->n_queued++;
        r = report_propose(edit, from, action, counts);
        return r ? r : arbiter_note(arbiter, action, false);
}

int report_act(Edit *edit, Arbiter *arbiter, const ReportFrom *from, const Json *action,
               ReportCounts *counts) {
        bool is_done = false;
        int r;

        switch (arbiter_judge(arbiter, action)) {
        case ARBITER_DEDUPED: counts->n_deduped++; return 0;
        case ARBITER_SKIPPED: counts->n_skipped++; return arbiter_note(arbiter, action, false);
        case ARBITER_QUEUED: return report_queue(edit, arbiter, from, action, counts);
        case ARBITER_ALLOWED: break;
        }
        r = report_do(edit, from, action, counts, &is_done);
        if (r)
                return r;
        counts->n_executed += is_done;
        counts->n_skipped += !is_done;
        return arbiter_note(arbiter, action, is_done);
}
