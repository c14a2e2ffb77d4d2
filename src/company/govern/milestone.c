/* SPDX-License-Identifier: MIT */
/*
 * Milestones: a report about one is approved when the evidence that its task asks for is there; the task knows it
 * from then on.
 */
#include <errno.h>

#include "base/error.h"
#include "company/govern/govern.h"
#include "company/place.h"
#include "core/document.h"
#include "core/shape.h"
#include "gen/shapes.h"

typedef struct MilestoneTask {
        const char *path;
        Json *matter; /* of the task; may be changed */
        Str body;
        Json *milestone; /* in it */
} MilestoneTask;

static int milestone_load_task(Edit *edit, const Decision *decision, MilestoneTask *ret) {
        char what[DOCUMENT_WHAT_MAX] = "it does not have its shape";
        Str text;
        int r;

        *ret = (MilestoneTask){.path = place_task(edit->arena, decision->project_id, decision->task_id)};
        r = ret->path ? edit_read(edit, ret->path, 0, &text) : FILE_E_MISSING;
        if (r == FILE_E_MISSING)
                return edit_fail(edit, CALL_E_COMPANY, "Task not found: " STR_FMT,
                                 STR_ARG(decision->task_id));
        if (r)
                return r < 0 ? error_trace(r) : edit_fail(edit, CALL_E_COMPANY, "The task is too large");
        r = document_parse(edit->arena, text, DOCUMENT_MATTER, &ret->matter, &ret->body, what);
        if (r > 0 || (!r && !shape_fits(&shape_task, ret->matter)))
                return edit_fail(edit, CALL_E_COMPANY, "The task cannot be read: %s", what);
        return error_trace(r);
}

static Json *milestone_find(const Json *task, Str id) {
        json_each (one, json_get(task, "milestones"))
                if (str_eq(json_text_of(one, "id"), id))
                        return one;
        return NULL;
}

/* What has to be true before anybody is asked. */
static int milestone_check(Edit *edit, const Decision *decision, const Artifact *artifact,
                           MilestoneTask *task) {
        if (decision->wanted_task.n &&
            !str_eq(decision->wanted_task, json_text_of(artifact->matter, "task_id")))
                return edit_fail(edit, CALL_E_COMPANY, "The report is of another task");
        if (decision->wanted_milestone.n) {
                if (!milestone_find(task->matter, decision->wanted_milestone))
                        return edit_fail(edit, CALL_E_COMPANY, "Milestone not found: " STR_FMT,
                                         STR_ARG(decision->wanted_milestone));
                if (!str_eq(decision->wanted_milestone, json_text_of(artifact->matter, "milestone_id")))
                        return edit_fail(edit, CALL_E_COMPANY, "The report is of another milestone");
        }
        task->milestone = milestone_find(task->matter, decision->milestone_id);
        if (!task->milestone)
                return edit_fail(edit, CALL_E_COMPANY, "Milestone not found: " STR_FMT,
                                 STR_ARG(decision->milestone_id));
        if (decision->is_approved && str_is(json_text_of(task->milestone, "status"), "done"))
                return edit_fail(edit, CALL_E_COMPANY, "The milestone is already done");
        return 0;
}

/* ---- evidence -------------------------------------------------------------------------------- */

static bool milestone_needs(const Json *milestone, const char *what) {
        bool needs = str_is(json_text_of(milestone, "kind"), "coding");

        (void)json_bool(json_get(json_get(milestone, "evidence"), what), &needs);
        return needs;
}

static bool milestone_has_file(Edit *edit, const Decision *decision, const Json *ids, const char *suffix) {
        json_each (id, ids) {
                const char *path = place_artifact(edit->arena, decision->project_id, json_str(id), suffix);

                if (path && edit_exists(edit, path))
                        return true;
        }
        return false;
}

/* What is missing, or NULL. */
static const char *milestone_lacks(Edit *edit, const Decision *decision, const Artifact *artifact,
                                   const Json *milestone) {
        const Json *patches = json_get(artifact->matter, "evidence_artifacts"),
                   *tests = json_get(artifact->matter, "tests_artifacts");

        if (milestone_needs(milestone, "requires_patch") &&
            !milestone_has_file(edit, decision, patches, ".patch"))
                return "a patch (.patch)";
        if (milestone_needs(milestone, "requires_tests") &&
            !milestone_has_file(edit, decision, tests, ".txt") &&
            !milestone_has_file(edit, decision, tests, ".json"))
                return "tests (.txt or .json)";
        return NULL;
}

/* ---- its effect ------------------------------------------------------------------------------ */

static bool milestone_all_done(const Json *task) {
        json_each (one, json_get(task, "milestones"))
                if (!str_is(json_text_of(one, "status"), "done"))
                        return false;
        return true;
}

static int milestone_set_status(Edit *edit, Json *object, const char *status) {
        return error_trace(
                json_set(edit->arena, object, STR("status"), json_new_str(edit->arena, str_from(status))));
}

static int milestone_write_task(Edit *edit, MilestoneTask *task) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Json *ordered;
        int r = milestone_set_status(edit, task->milestone, "done");

        if (!r && milestone_all_done(task->matter) &&
            !str_is(json_text_of(task->matter, "status"), "canceled"))
                r = milestone_set_status(edit, task->matter, "done");
        if (r)
                return error_trace(r);
        ordered = shape_ordered(edit->arena, &shape_task, task->matter);
        if (!ordered)
                return error_origin(-ENOMEM);
        r = document_text(ordered, DOCUMENT_MATTER, task->body, &text);
        return r ? error_trace(r)
                 : error_trace(edit_replace(edit, task->path, arena_str(edit->arena, buf_str(&text))));
}

static void milestone_write_event(Edit *edit, const Decision *decision, const Artifact *artifact) {
        JsonWriter *w = govern_event_begin(edit, decision, artifact);

        if (!w)
                return;
        jw_field_str(w, "task_id", decision->task_id);
        jw_field_str(w, "milestone_id", decision->milestone_id);
        jw_field_str(w, "report_artifact_id", decision->artifact_id);
        govern_event_end(edit, decision, w);
}

int govern_decide_milestone(Edit *edit, Decision *decision, const Artifact *artifact) {
        MilestoneTask task;
        const char *lacks;
        int r;

        decision->kind = "milestone";
        decision->task_id = json_text_of(artifact->matter, "task_id");
        decision->milestone_id = json_text_of(artifact->matter, "milestone_id");
        r = milestone_load_task(edit, decision, &task);
        if (!r)
                r = milestone_check(edit, decision, artifact, &task);
        if (r)
                return error_trace(r);
        if (!govern_ask_decision(edit, decision, artifact, json_text_of(task.matter, "team_id")).is_allowed)
                return govern_deny(edit, "approval", &decision->verdict);
        lacks = decision->is_approved ? milestone_lacks(edit, decision, artifact, task.milestone) : NULL;
        if (lacks)
                return edit_refuse(edit, CALL_E_COMPANY,
                                   "The milestone cannot be approved: its report has no %s", lacks);
        if (decision->is_approved)
                r = milestone_write_task(edit, &task);
        decision->task_status = json_text_of(task.matter, "status");
        decision->milestone_status = json_text_of(task.milestone, "status");
        govern_review(edit, decision, STR_NULL, STR_NULL);
        milestone_write_event(edit, decision, artifact);
        return error_trace(r);
}
