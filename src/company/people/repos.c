/* SPDX-License-Identifier: MIT */
/* Repositories: which ones a project names, and where they are on this machine. */
#include "company/people/repos.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/macro.h"
#include "company/draft.h"
#include "company/people/people.h"
#include "company/place.h"
#include "company/visit.h"
#include "company/workspace.h"
#include "core/document.h"
#include "gen/agentcompany-ops.h"
#include "gen/shapes.h"

/* ---- links of a project ---------------------------------------------------------------------- */

static int repos_compare(const void *a, const void *b) {
        const RepoLink *x = a, *y = b;
        int order = memcmp(x->repo_id.data, y->repo_id.data, MIN(x->repo_id.n, y->repo_id.n));

        return order ? order : (x->repo_id.n > y->repo_id.n) - (x->repo_id.n < y->repo_id.n);
}

static void repos_put(RepoLinks *links, RepoLink link) {
        for (size_t i = 0; i < links->n; i++)
                if (str_eq(links->items[i].repo_id, link.repo_id)) {
                        links->items[i] = link;
                        return;
                }
        links->items[links->n++] = link;
}

void repos_write(JsonWriter *w, const RepoLinks *links) {
        jw_begin_array(w);
        for (size_t i = 0; i < links->n; i++) {
                jw_begin_object(w);
                jw_field_str(w, "repo_id", links->items[i].repo_id);
                draft_optional(w, "label", links->items[i].label);
                jw_end_object(w);
        }
        jw_end_array(w);
}

static Json *repos_draft(Edit *edit, Str project_id, const RepoLinks *links) {
        Draft draft;
        JsonWriter *w = draft_begin(&draft, "project_repo_links");

        jw_field_str(w, "project_id", project_id);
        jw_field_str(w, "updated_at", edit_now(edit));
        jw_key(w, "repos");
        repos_write(w, links);
        return draft_end(&draft, edit->arena);
}

int repos_link(Edit *edit, Str project_id, const RepoLinks *more, RepoLinks *ret) {
        const char *path = place_project(edit->arena, project_id, "repos.yaml");
        const Json *repos;

        if (!path)
                return edit_fail(edit, CALL_E_COMPANY, "No such project: " STR_FMT, STR_ARG(project_id));
        repos = json_get(draft_read(edit, path, &shape_repo_links), "repos");
        *ret = (RepoLinks){
                .items = arena_alloc(edit->arena, (json_count(repos) + more->n) * sizeof(RepoLink))};
        if (!ret->items)
                return error_origin(-ENOMEM);
        json_each (repo, repos)
                repos_put(ret, (RepoLink){json_text_of(repo, "repo_id"), json_text_of(repo, "label")});
        for (size_t i = 0; i < more->n; i++)
                repos_put(ret, more->items[i]);
        if (ret->n)
                qsort(ret->items, ret->n, sizeof(*ret->items), repos_compare);
        draft_replace(edit, path, repos_draft(edit, project_id, ret));
        return 0;
}

int repos_of_project(int root, Arena *arena, Str project_id, Json **ret) {
        const char *path = place_project(arena, project_id, "repos.yaml");
        Json *json = NULL;
        int r = path ? document_load(arena, root, path, DOCUMENT_YAML, &json, NULL, NULL)
                     : DOCUMENT_E_MISSING;

        if (r < 0)
                return error_trace(r);
        *ret = !r && shape_fits(&shape_repo_links, json) ? json_get(json, "repos")
                                                         : json_new(arena, JSON_ARRAY);
        return *ret ? 0 : error_origin(-ENOMEM);
}

static int repos_link_decide(Edit *edit, const Carry *carry) {
        const AgentcompanyWorkspaceProjectLinkRepoArgs *args =
                container_of(carry, AgentcompanyWorkspaceProjectLinkRepoArgs, carry);
        RepoLink link = {args->repo_id, str_trim(args->label)};
        RepoLinks *links = arena_alloc(edit->arena, sizeof(*links));

        edit->user = links;
        edit->makes_folders = true;
        return links ? repos_link(edit, args->project_id, &(RepoLinks){&link, 1}, links)
                     : error_origin(-ENOMEM);
}

static void repos_link_reply(Call *call, Edit *edit, const Carry *carry) {
        const AgentcompanyWorkspaceProjectLinkRepoArgs *args =
                container_of(carry, AgentcompanyWorkspaceProjectLinkRepoArgs, carry);
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_str(w, "workspace_dir", args->workspace_dir);
        jw_field_str(w, "project_id", args->project_id);
        jw_key(w, "repos");
        repos_write(w, edit->user);
        jw_end_object(w);
}

int op_agentcompany_workspace_project_link_repo(Call *call, Workspace *workspace,
                                                const AgentcompanyWorkspaceProjectLinkRepoArgs *args) {
        return company_edit(call, workspace, repos_link_decide, repos_link_reply, &args->carry);
}

/* ---- where one is on this machine ------------------------------------------------------------ */

typedef struct RepoRoot {
        Carry carry;
        const AgentcompanyWorkspaceRepoRootSetArgs *args;
        Str path; /* absolute */
} RepoRoot;

/* The contract answers these as if the method were not there. */
static int repos_check_folder(Edit *edit, const RepoRoot *root) {
        Str git = arena_printf(edit->arena, "%s/.git", root->path.data);
        struct stat st;

        if (stat(root->path.data, &st))
                return edit_fail(edit, CALL_E_COMPANY_METHOD, "There is no %s", root->path.data);
        if (!S_ISDIR(st.st_mode))
                return edit_fail(edit, CALL_E_COMPANY_METHOD, "%s is no folder", root->path.data);
        if (root->args->require_git && git.data && stat(git.data, &st))
                return edit_fail(edit, CALL_E_COMPANY_METHOD, "%s is no git repository: it has no .git",
                                 root->path.data);
        return 0;
}

static int repos_root_decide(Edit *edit, const Carry *carry) {
        const RepoRoot *root = container_of(carry, RepoRoot, carry);
        int r = repos_check_folder(edit, root);

        return r ? r : people_set_machine(edit, "repo_roots", root->args->repo_id, root->path);
}

static void repos_root_reply(Call *call, _unused_ Edit *edit, const Carry *carry) {
        const RepoRoot *root = container_of(carry, RepoRoot, carry);
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_str(w, "workspace_dir", root->args->workspace_dir);
        jw_field_str(w, "repo_id", root->args->repo_id);
        jw_field_str(w, "repo_path", root->path);
        jw_end_object(w);
}

int op_agentcompany_workspace_repo_root_set(Call *call, Workspace *workspace,
                                            const AgentcompanyWorkspaceRepoRootSetArgs *args) {
        RepoRoot *root = arena_alloc(&call->arena, sizeof(*root));

        if (!root)
                return error_origin(-ENOMEM);
        *root = (RepoRoot){.args = args, .path = visit_path(call, args->repo_path)};
        if (!root->path.data)
                return error_origin(-ENOMEM);
        return company_edit(call, workspace, repos_root_decide, repos_root_reply, &root->carry);
}
