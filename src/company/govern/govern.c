/* SPDX-License-Identifier: MIT */
#include "company/govern/govern.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "company/event.h"
#include "company/place.h"
#include "core/document.h"
#include "core/shape.h"
#include "gen/shapes.h"

/* ---- artifacts ------------------------------------------------------------------------------- */

int artifact_load(Edit *edit, Str project_id, Str artifact_id, Artifact *ret) {
        char what[DOCUMENT_WHAT_MAX];
        Json *matter = NULL;
        int r;

        *ret = (Artifact){.path = place_artifact(edit->arena, project_id, artifact_id, ".md")};
        r = ret->path ? edit_read(edit, ret->path, 0, &ret->text) : FILE_E_MISSING;
        if (r == FILE_E_MISSING)
                return edit_fail(edit, CALL_E_COMPANY, "Artifact not found: " STR_FMT, STR_ARG(artifact_id));
        if (r)
                return r < 0 ? error_trace(r) : edit_fail(edit, CALL_E_COMPANY, "The artifact is too large");
        r = document_parse(edit->arena, ret->text, DOCUMENT_MATTER, &matter, &ret->body, what);
        if (r > 0)
                return edit_fail(edit, CALL_E_COMPANY, "The artifact's front matter cannot be read: %s",
                                 what);
        ret->matter = matter;
        return error_trace(r);
}

/* One component of a path at a time. */
static bool govern_is_component(Str name) {
        return name.n && !str_is(name, ".") && !str_is(name, "..");
}

bool govern_is_inside(Str path) {
        if (!path.n || memchr(path.data, 0, path.n) || str_starts(path, STR(".local/muster")))
                return false;
        while (path.n) {
                const char *slash = memchr(path.data, '/', path.n);
                size_t n = slash ? (size_t)(slash - path.data) : path.n;

                if (!govern_is_component((Str){path.data, n}))
                        return false;
                path = (Str){path.data + n, path.n - n};
                if (slash && path.n == 1)
                        return false; /* a folder */
                path = (Str){path.data + (slash != NULL), path.n - (slash != NULL)};
        }
        return true;
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* A run that is not there gets no file of events: it would look like a run that has lost its document. */
static bool govern_has_run(Edit *edit, Str project_id, Str run_id) {
        const char *path = place_run(edit->arena, project_id, run_id, "events.jsonl");

        return path && edit_exists(edit, path);
}

PolicyVerdict govern_ask(Edit *edit, const GovernAsk *ask) {
        PolicyVerdict verdict = policy_decide(&ask->actor, ask->action, &ask->resource);
        EventPolicy event = {.is_allowed = verdict.is_allowed,
                             .rule_id = str_from(verdict.rule_id),
                             .reason = str_from(verdict.reason),
                             .action = str_from(policy_action_name(ask->action)),
                             .resource_id = ask->resource_id,
                             .resource_kind = str_from(ask->resource_kind),
                             .resource_visibility = ask->resource.visibility};

        if (govern_has_run(edit, ask->project_id, ask->run_id))
                event_policy(edit,
                             &(EventOf){.project_id = ask->project_id,
                                        .run_id = ask->run_id,
                                        .actor = ask->actor.id},
                             &event);
        return verdict;
}

int govern_deny(Edit *edit, const char *what, const PolicyVerdict *verdict) {
        return edit_refuse(edit, CALL_E_COMPANY, "Policy denied %s: %s (%s)", what, verdict->rule_id,
                           verdict->reason);
}

PolicyVerdict govern_ask_decision(Edit *edit, Decision *decision, const Artifact *artifact, Str team) {
        GovernAsk ask = {
                .actor = decision->actor,
                .action = POLICY_APPROVE,
                .resource = {.visibility = json_text_of(artifact->matter, "visibility"), .team = team},
                .project_id = decision->project_id,
                .run_id = json_text_of(artifact->matter, "run_id"),
                .resource_id = decision->artifact_id,
                .resource_kind = json_text_of(artifact->matter, "type").data};

        decision->verdict = govern_ask(edit, &ask);
        return decision->verdict;
}

/* ---- what is written ------------------------------------------------------------------------- */

Str govern_yaml(Edit *edit, JsonWriter *w) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Json *json = NULL;
        Str whole = STR("");

        if (edit_try(edit, w->failed ? -ENOMEM : 0) &&
            edit_try(edit,
                     error_fold(json_parse(edit->arena, w->out->data, w->out->n, NULL, &json, NULL))) &&
            edit_try(edit, document_text(json, DOCUMENT_YAML, STR_NULL, &text)))
                whole = arena_str(edit->arena, buf_str(&text));
        (void)edit_try(edit, whole.data ? 0 : -ENOMEM);
        return whole;
}

static void govern_write_policy(JsonWriter *w, const PolicyVerdict *verdict) {
        jw_key(w, "policy");
        event_write_policy(w, &(EventPolicy){.is_allowed = verdict->is_allowed,
                                             .rule_id = str_from(verdict->rule_id),
                                             .reason = str_from(verdict->reason)});
}

static void govern_write_subject(JsonWriter *w, const Decision *decision, Str target_file, Str patch_file) {
        jw_key(w, "subject");
        jw_begin_object(w);
        jw_field_cstr(w, "kind", decision->kind);
        jw_field_str(w, "artifact_id", decision->artifact_id);
        jw_field_str(w, "project_id", decision->project_id);
        if (target_file.n)
                jw_field_str(w, "target_file", target_file);
        if (patch_file.n)
                jw_field_str(w, "patch_file", patch_file);
        jw_end_object(w);
}

static const char *govern_word(const Decision *decision) {
        return decision->is_approved ? "approved" : "denied";
}

void govern_review(Edit *edit, Decision *decision, Str target_file, Str patch_file) {
        _cleanup_(buf_deinit) Buf json = BUF_NULL;
        JsonWriter w = JSON_WRITER(&json);
        const char *path;

        decision->review_id = edit_id(edit, "rev");
        jw_begin_object(&w);
        jw_field_int(&w, "schema_version", 1);
        jw_field_cstr(&w, "type", "review");
        jw_field_str(&w, "id", decision->review_id);
        jw_field_str(&w, "created_at", edit_now(edit));
        jw_field_str(&w, "actor_id", decision->actor.id);
        jw_field_str(&w, "actor_role", decision->actor.role);
        jw_field_cstr(&w, "decision", govern_word(decision));
        govern_write_subject(&w, decision, target_file, patch_file);
        govern_write_policy(&w, &decision->verdict);
        jw_field_str(&w, "notes", decision->notes.data ? decision->notes : STR(""));
        jw_end_object(&w);
        path = place_review(edit->arena, decision->review_id);
        if (edit_try(edit, path ? 0 : -ENOMEM))
                (void)edit_create(edit, path, govern_yaml(edit, &w));
}

JsonWriter *govern_event_begin(Edit *edit, const Decision *decision, const Artifact *artifact) {
        EventOf of = {.project_id = decision->project_id,
                      .run_id = json_text_of(artifact->matter, "run_id"),
                      .actor = decision->actor.id,
                      .visibility = STR("managers")};
        JsonWriter *w;

        if (!govern_has_run(edit, of.project_id, of.run_id))
                return NULL;
        w = event_begin(edit, &of, "approval.decided");
        jw_begin_object(w);
        jw_field_str(w, "review_id", decision->review_id);
        jw_field_cstr(w, "decision", govern_word(decision));
        jw_field_cstr(w, "subject_kind", decision->kind);
        return w;
}

void govern_event_end(Edit *edit, const Decision *decision, JsonWriter *w) {
        govern_write_policy(w, &decision->verdict);
        jw_end_object(w);
        event_end(edit);
}

/* ---- decisions ------------------------------------------------------------------------------- */

/* What a worker's heartbeat proposed can be refused here; letting it happen is for those above. */
static int govern_decide_action(Edit *edit, Decision *decision, const Artifact *artifact) {
        const Json *action = json_get(artifact->matter, "proposed_action");
        JsonWriter *w;

        decision->kind = "heartbeat_action";
        if (!govern_ask_decision(edit, decision, artifact, STR_NULL).is_allowed)
                return govern_deny(edit, "approval", &decision->verdict);
        if (decision->is_approved) {
                int r = decision->act ? decision->act(edit, decision, artifact) : error_origin(-ENOTSUP);

                if (r)
                        return r;
        }
        govern_review(edit, decision, STR_NULL, STR_NULL);
        w = govern_event_begin(edit, decision, artifact);
        if (!w)
                return 0;
        jw_field_str(w, "artifact_id", decision->artifact_id);
        jw_field_str(w, "proposed_action_kind", json_text_of(action, "kind"));
        if (decision->execution.n) {
                jw_key(w, "execution");
                jw_raw(w, decision->execution);
        }
        govern_event_end(edit, decision, w);
        return 0;
}

typedef struct GovernKind {
        const char *type;
        const Shape *shape;
        int (*decide)(Edit *edit, Decision *decision, const Artifact *artifact);
} GovernKind;

static const GovernKind *govern_kind(Str type) {
        static const GovernKind kinds[] = {
                {"memory_delta", &shape_artifact_memory_delta, govern_decide_delta},
                {"milestone_report", &shape_artifact_milestone_report, govern_decide_milestone},
                {"heartbeat_action_proposal", &shape_artifact_heartbeat_proposal, govern_decide_action},
        };

        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
                if (str_is(type, kinds[i].type))
                        return &kinds[i];
        return NULL;
}

static int govern_settle(Edit *edit, Decision *decision) {
        Artifact artifact;
        const GovernKind *kind;
        Issues issues = ISSUES(edit->arena);
        Str type;
        int r = artifact_load(edit, decision->project_id, decision->artifact_id, &artifact);

        if (r)
                return error_trace(r);
        type = json_text_of(artifact.matter, "type");
        kind = govern_kind(type);
        if (!type.n)
                return edit_fail(edit, CALL_E_COMPANY, "The artifact does not say its type");
        if (!kind || (decision->wanted && !str_is(type, decision->wanted)))
                return edit_fail(edit, CALL_E_COMPANY,
                                 "This cannot be decided on an artifact of type " STR_FMT, STR_ARG(type));
        if (!shape_check(kind->shape, artifact.matter, NULL, &issues))
                return edit_fail(edit, CALL_E_COMPANY, "The artifact's front matter does not fit: " STR_FMT,
                                 STR_ARG(issues_text(&issues)));
        if (!str_eq(json_text_of(artifact.matter, "project_id"), decision->project_id))
                return edit_fail(edit, CALL_E_COMPANY, "The artifact is of another project");
        return kind->decide(edit, decision, &artifact);
}

int govern_decide(Edit *edit, const Decision *given) {
        Decision *decision = arena_alloc(edit->arena, sizeof(*decision));

        if (!decision)
                return error_origin(-ENOMEM);
        *decision = *given;
        edit->user = decision;
        return govern_settle(edit, decision);
}
