/* SPDX-License-Identifier: MIT */
/* The validation of what lies below one project. */
#include "base/macro.h"
#include "company/books/validate-internal.h"

/* ---- runs and packs -------------------------------------------------------------------------- */

static void validate_run(Validation *v, Str project, Str run) {
        const char *events = place_run(v->arena, project, run, "events.jsonl");

        validate_yaml(v, place_run(v->arena, project, run, "run.yaml"), &shape_run);
        if (!place_has(v->root, events))
                validate_add(v, "missing_file", events, "Missing file: %s", events ? events : "?");
}

static void validate_context_pack(Validation *v, Str project, Str pack) {
        validate_yaml(v, place_context_pack(v->arena, project, pack, "manifest.yaml"), &shape_context_pack);
        validate_yaml(v, place_context_pack(v->arena, project, pack, "policy_snapshot.yaml"),
                      &shape_policy_snapshot);
}

/* Every file that a manifest names lies in the workspace. */
static void validate_bundled(Validation *v, const Json *list) {
        json_each (item, list) {
                Str relpath = json_text_of(item, "bundle_relpath");
                Str path = arena_str(v->arena, relpath);

                if (relpath.n && path.data && !place_has(v->root, path.data))
                        validate_add(v, "missing_file", path.data, "Missing file: %s", path.data);
        }
}

static void validate_share_pack(Validation *v, Str project, Str pack) {
        const char *path = place_share_pack(v->arena, project, pack, "manifest.yaml");
        const Json *json = validate_load(v, path, DOCUMENT_YAML, NULL);

        if (!json)
                return;
        validate_shape(v, "schema_invalid", path, &shape_share_pack, json);
        validate_bundled(v, json_get(json, "included_artifacts"));
        validate_bundled(v, json_get(json, "included_files"));
        validate_bundled(v, json_get(json, "included_runs"));
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static void validate_contract(Validation *v, const char *path, const Json *task) {
        static const char *const lists[] = {"deliverables", "acceptance_criteria", "milestones", NULL};

        if (str_is(json_text_of(task, "status"), "draft"))
                return;
        for (const char *const *name = lists; *name; name++)
                if (!json_count(json_get(task, *name)))
                        validate_add(v, "contract_incomplete", path, "%s: %s must not be empty", path,
                                     *name);
}

static void validate_task(Validation *v, Str project, Str task) {
        static const char *const headings[] = {"Contract", "Milestones", NULL};
        const char *path = place_task(v->arena, project, task);
        Str body = STR_NULL;
        const Json *json = validate_load(v, path, DOCUMENT_MATTER, &body);

        if (!json)
                return;
        validate_shape(v, "frontmatter_schema", path, &shape_task, json);
        validate_headings(v, path, body, headings);
        validate_contract(v, path, json);
}

/* ---- artifacts ------------------------------------------------------------------------------- */

typedef struct ArtifactRules {
        const char *type;
        const char *headings[5];
} ArtifactRules;

static const ArtifactRules artifact_rules[] = {
        {"intake_brief", {"Summary", "Success Criteria", "Constraints"}},
        {"clarifications_qa", {"Questions", "Answers"}},
        {"proposal", {"Summary", "Plan", "Risks"}},
        {"workplan", {"Summary", "Breakdown", "Dependencies", "Estimates"}},
        {"milestone_report", {"Summary", "Evidence", "Next"}},
        {"manager_digest", {"Summary", "Decisions", "Risks"}},
        {"memory_delta", {"Summary", "Changes", "Evidence"}},
        {"failure_report", {"Summary", "Cause", "Next Steps"}},
        {"heartbeat_action_proposal", {"Summary", "Proposed Action", "Policy"}},
};

const char *const *validate_headings_of(Str artifact_type) {
        for (size_t i = 0; i < ARRAY_SIZE(artifact_rules); i++)
                if (str_is(artifact_type, artifact_rules[i].type))
                        return artifact_rules[i].headings;
        return NULL;
}

static void validate_delta(Validation *v, const char *path, const Json *json) {
        Str patch = arena_str(v->arena, json_text_of(json, "patch_file"));

        validate_shape(v, "memory_delta_invalid", path, &shape_artifact_memory_delta, json);
        if (patch.n && !place_has(v->root, patch.data))
                validate_add(v, "memory_delta_invalid", path, "%s: there is no patch_file %s", path,
                             patch.data);
}

static void validate_artifact(Validation *v, Str project, Str id) {
        const char *path = place_artifact(v->arena, project, id, ".md");
        Str body = STR_NULL, type;
        const Json *json = validate_load(v, path, DOCUMENT_MATTER, &body);

        if (!json)
                return;
        type = json_text_of(json, "type");
        if (str_is(type, "memory_delta"))
                validate_delta(v, path, json);
        else if (str_is(type, "milestone_report"))
                validate_shape(v, "milestone_report_invalid", path, &shape_artifact_milestone_report, json);
        else
                validate_shape(v, "frontmatter_schema", path, &shape_artifact_any, json);
        validate_headings(v, path, body, validate_headings_of(type));
}

/* ---- the project ----------------------------------------------------------------------------- */

void validate_project(Validation *v, _unused_ Str none, Str project) {
        const char *links = place_project(v->arena, project, "repos.yaml");

        validate_yaml(v, place_project(v->arena, project, "project.yaml"), &shape_project);
        if (place_has(v->root, links))
                validate_yaml(v, links, &shape_repo_links);
        validate_each(v, place_project(v->arena, project, "runs"), NULL, validate_run, project);
        validate_each(v, place_project(v->arena, project, "tasks"), ".md", validate_task, project);
        validate_each(v, place_project(v->arena, project, "artifacts"), ".md", validate_artifact, project);
        validate_each(v, place_project(v->arena, project, "context_packs"), NULL, validate_context_pack,
                      project);
        validate_each(v, place_project(v->arena, project, "share_packs"), NULL, validate_share_pack,
                      project);
}
