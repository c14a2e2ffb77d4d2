/* SPDX-License-Identifier: MIT */
/* Operations on projects: making one, and who should do its tasks. */
#include <errno.h>
#include <strings.h>

#include "base/error.h"
#include "base/macro.h"
#include "company/draft.h"
#include "company/people/people.h"
#include "company/people/repos.h"
#include "company/place.h"
#include "company/plan/plan.h"
#include "company/talk/talk.h"
#include "company/workspace.h"
#include "core/document.h"
#include "gen/agentcompany-ops.h"
#include "gen/native-ops.h"
#include "gen/shapes.h"

/* ---- create_with_defaults -------------------------------------------------------------------- */

typedef struct ProjectMade {
        Str id;
        StrList conversation_ids;
        RepoLinks links;
} ProjectMade;

void plan_make_project(Edit *edit, Str id, Str name) {
        static const char *const folders[] = {
                "artifacts", "context_packs", "conversations", "runs", "share_packs", "tasks", NULL};
        Draft draft;
        JsonWriter *w = draft_begin(&draft, "project");

        jw_field_str(w, "id", id);
        jw_field_str(w, "name", name);
        jw_field_cstr(w, "status", "active");
        jw_field_str(w, "created_at", edit_now(edit));
        draft_create(edit, place_project(edit->arena, id, "project.yaml"), draft_end(&draft, edit->arena));
        draft_create_text(edit, place_project(edit->arena, id, "memory.md"),
                          STR("# Project Memory (Curated)\n\n## Summary\n\n## Decisions\n\n## Links\n"));
        for (const char *const *folder = folders; *folder; folder++) {
                const char *path = place_project(edit->arena, id, *folder);

                if (path)
                        (void)edit_mkdir(edit, path);
        }
}

static int project_link(Edit *edit, ProjectMade *made, const StrList *repo_ids) {
        RepoLink *items = arena_alloc(edit->arena, repo_ids->n * sizeof(*items));

        if (!items)
                return error_origin(-ENOMEM);
        for (size_t i = 0; i < repo_ids->n; i++)
                items[i] = (RepoLink){.repo_id = repo_ids->items[i]};
        return repos_link(edit, made->id, &(RepoLinks){items, repo_ids->n}, &made->links);
}

static int project_decide(Edit *edit, const Carry *carry) {
        const AgentcompanyWorkspaceProjectCreateWithDefaultsArgs *args =
                container_of(carry, AgentcompanyWorkspaceProjectCreateWithDefaultsArgs, carry);
        ProjectMade *made = arena_alloc(edit->arena, sizeof(*made));

        if (!made)
                return error_origin(-ENOMEM);
        *made = (ProjectMade){.id = edit_id(edit, "proj")};
        edit->user = made;
        plan_make_project(edit, made->id, args->name);
        talk_defaults(edit, made->id, args->ceo_actor_id, &made->conversation_ids);
        return args->repo_ids.n ? project_link(edit, made, &args->repo_ids) : 0;
}

static void project_reply(Call *call, Edit *edit, _unused_ const Carry *carry) {
        const ProjectMade *made = edit->user;
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_str(w, "project_id", made->id);
        jw_field_cstr(w, "global_manager_agent_id", TALK_GLOBAL_MANAGER);
        jw_field_str(w, "project_secretary_agent_id", talk_secretary(edit->arena, made->id));
        draft_strings(w, "conversation_ids", &made->conversation_ids);
        jw_key(w, "repo_links");
        repos_write(w, &made->links);
        jw_end_object(w);
}

int op_agentcompany_workspace_project_create_with_defaults(
        Call *call, Workspace *workspace, const AgentcompanyWorkspaceProjectCreateWithDefaultsArgs *args) {
        return company_edit(call, workspace, project_decide, project_reply, &args->carry);
}

/* ---- company.project.new --------------------------------------------------------------------- */

static int project_decide_new(Edit *edit, const Carry *carry) {
        const NativeCompanyProjectNewArgs *args = container_of(carry, NativeCompanyProjectNewArgs, carry);
        Str id = draft_id(edit, "proj");

        if (!id.data)
                return error_origin(-ENOMEM);
        plan_make_project(edit, id, args->name);
        return 0;
}

static void project_reply_new(Call *call, Edit *edit, _unused_ const Carry *carry) {
        draft_reply_id(call, edit, "project_id");
}

int op_native_company_project_new(Call *call, Workspace *workspace,
                                  const NativeCompanyProjectNewArgs *args) {
        return company_edit(call, workspace, project_decide_new, project_reply_new, &args->carry);
}

/* ---- recommend_allocations ------------------------------------------------------------------- */

typedef struct Candidate {
        const Json *agent; /* a worker or manager; they are ordered by name */
        size_t n_running;
} Candidate;

typedef struct Candidates {
        Candidate *items;
        size_t n;
} Candidates;

static int candidates_read(Reading *reading, Candidates *ret) {
        Json *agents = NULL;
        int r = people_agents(reading->root, reading->arena, &agents);

        if (r)
                return error_trace(r);
        *ret = (Candidates){.items = arena_alloc(reading->arena, json_count(agents) * sizeof(Candidate))};
        if (!ret->items)
                return error_origin(-ENOMEM);
        json_each (agent, agents) {
                Str role = json_text_of(agent, "role");

                if (str_is(role, "worker") || str_is(role, "manager"))
                        ret->items[ret->n++] = (Candidate){.agent = agent};
        }
        return 0;
}

static void candidates_note_run(Candidates *all, const Json *run) {
        if (!str_is(json_text_of(run, "status"), "running"))
                return;
        for (size_t i = 0; i < all->n; i++)
                all->items[i].n_running +=
                        str_eq(json_text_of(all->items[i].agent, "id"), json_text_of(run, "agent_id"));
}

/* How many runs of the project each of them has under way. */
static int candidates_count(Reading *reading, Str project_id, Candidates *all) {
        StrList ids = {0};
        int r = place_names(reading->arena, reading->root, place_project(reading->arena, project_id, "runs"),
                            NULL, &ids);

        for (size_t i = 0; !r && i < ids.n; i++) {
                const char *path = place_run(reading->arena, project_id, ids.items[i], "run.yaml");
                Json *run = NULL;

                r = path ? document_load(reading->arena, reading->root, path, DOCUMENT_YAML, &run, NULL,
                                         NULL)
                         : DOCUMENT_E_MISSING;
                if (!r && shape_fits(&shape_run, run))
                        candidates_note_run(all, run);
                r = r > 0 ? 0 : r;
        }
        return error_trace(r);
}

/* The assignee, else who has least to do: of the task's team, or of all when that has nobody. */
static const Json *candidates_choose(const Candidates *all, const Json *task) {
        Str assignee = json_text_of(task, "assignee_agent_id"), team = json_text_of(task, "team_id");
        const Candidate *best[2] = {NULL, NULL}; /* of the team, of all */

        for (size_t i = 0; i < all->n; i++) {
                const Candidate *one = &all->items[i];

                if (assignee.n && str_eq(json_text_of(one->agent, "id"), assignee))
                        return one->agent;
                if (!best[1] || one->n_running < best[1]->n_running)
                        best[1] = one;
                if (team.n && str_eq(json_text_of(one->agent, "team_id"), team) &&
                    (!best[0] || one->n_running < best[0]->n_running))
                        best[0] = one;
        }
        return best[0] ? best[0]->agent : best[1] ? best[1]->agent : NULL;
}

static bool recommend_is_work(Str title) {
        static const char *const words[] = {"build", "implement", "refactor", "code",
                                            "fix",   "ship",      "rewrite"};

        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                for (size_t at = 0, n = strlen(words[i]); at + n <= title.n; at++)
                        if (!strncasecmp(title.data + at, words[i], n))
                                return true;
        return false;
}

enum { HINT_MIN = 4000, HINT_PER_DAY = 6000, HINT_PER_MILESTONE = 3000, HINT_FOR_WORK = 6000 };

static int64_t recommend_tokens(const PlanTask *task) {
        int64_t days = 1, hint;

        (void)json_int64(json_get(json_get(task->matter, "schedule"), "duration_days"), &days);
        hint = HINT_PER_DAY * MIN(days, 1000000) + HINT_PER_MILESTONE * (int64_t)task->n_milestones;
        if (recommend_is_work(json_text_of(task->matter, "title")))
                hint += HINT_FOR_WORK;
        return MAX(hint, HINT_MIN);
}

static void recommend_write(Reading *reading, const PlanTask *task, const Json *agent, bool has_reason) {
        Str name = json_text_of(agent, "name"), why;
        JsonWriter *w = reading->w;

        jw_begin_object(w);
        jw_field_str(w, "task_id", task->task_id);
        jw_field_str(w, "preferred_provider", agent ? json_text_of(agent, "provider") : STR("codex"));
        draft_optional(w, "preferred_model", json_text_of(agent, "model_hint"));
        draft_optional(w, "preferred_agent_id", json_text_of(agent, "id"));
        jw_field_int(w, "token_budget_hint", recommend_tokens(task));
        why = agent ? arena_printf(reading->arena, "Selected " STR_FMT " based on team fit and active load.",
                                   STR_ARG(name))
                    : STR("No worker or manager is there; codex is the default.");
        jw_field_str(w, "rationale", why);
        if (has_reason)
                jw_field_str(w, "reason", why);
        jw_end_object(w);
}

static bool recommend_is_open(const PlanTask *task) {
        Str status = json_text_of(task->matter, "status");

        return !str_is(status, "done") && !str_is(status, "canceled");
}

int plan_recommend(Reading *reading, Str project_id, bool has_reason) {
        Candidates all;
        PlanTasks tasks;
        int r = plan_tasks(reading->root, reading->arena, project_id, &tasks);

        if (!r)
                r = candidates_read(reading, &all);
        if (!r)
                r = candidates_count(reading, project_id, &all);
        if (r)
                return error_trace(r);
        jw_begin_array(reading->w);
        for (size_t i = 0; i < tasks.n; i++)
                if (recommend_is_open(&tasks.items[i]))
                        recommend_write(reading, &tasks.items[i],
                                        candidates_choose(&all, tasks.items[i].matter), has_reason);
        jw_end_array(reading->w);
        return 0;
}

static int recommend_read(Reading *reading, const Carry *carry) {
        const AgentcompanyPmRecommendAllocationsArgs *args =
                container_of(carry, AgentcompanyPmRecommendAllocationsArgs, carry);
        JsonWriter *w = reading->w;
        int r;

        jw_begin_object(w);
        jw_field_str(w, "workspace_dir", args->workspace_dir);
        jw_field_str(w, "project_id", args->project_id);
        jw_field_time_ms(w, "generated_at", reading->wall_us);
        jw_key(w, "recommendations");
        r = plan_recommend(reading, args->project_id, false);
        jw_end_object(w);
        return error_trace(r);
}

int op_agentcompany_pm_recommend_allocations(Call *call, Workspace *workspace,
                                             const AgentcompanyPmRecommendAllocationsArgs *args) {
        return workspace_read(call, workspace, recommend_read, &args->carry);
}
