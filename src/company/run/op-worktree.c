/* SPDX-License-Identifier: MIT */
/* worktree.cleanup: worktrees of runs that ended long ago go; their branches stay. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/time.h"
#include "company/govern/govern.h"
#include "company/place.h"
#include "company/trail/runs.h"
#include "company/workspace.h"
#include "core/document.h"
#include "core/git/git.h"
#include "gen/agentcompany-ops.h"

enum { WORKTREES_MAX = 10000 }; /* looked at by one call; the others are for the next one */

typedef struct Worktree {
        Str project_id, run_id, repo_id, relpath, branch, status, ended_at, created_at;
        const char *action, *reason;
        Str error; /* what git said; empty: nothing */
} Worktree;

typedef struct CleanupCall { /* in the call's arena */
        Call *call;
        Workspace *workspace;
        const AgentcompanyWorktreeCleanupArgs *args;
        int64_t now_us;
        const Json *roots; /* of repositories on this machine */
        Worktree *items;
        size_t n, n_room, n_eligible, n_removed, n_missing, n_failed, n_kept;
        int r;
} CleanupCall;

/* ---- which there are ------------------------------------------------------------------------- */

static int cleanup_see(void *user, Str project_id, const Json *run) {
        CleanupCall *cleanup = user;
        Arena *arena = &cleanup->call->arena;
        const Json *spec = json_get(run, "spec");
        Str relpath = json_text_of(spec, "worktree_relpath");
        Worktree *more;

        if (!relpath.n || cleanup->n >= WORKTREES_MAX)
                return 0;
        if (cleanup->n == cleanup->n_room) {
                cleanup->n_room = cleanup->n_room ? 2 * cleanup->n_room : 16;
                more = arena_alloc(arena, cleanup->n_room * sizeof(*more));
                if (!more)
                        return error_origin(-ENOMEM);
                if (cleanup->n)
                        memcpy(more, cleanup->items, cleanup->n * sizeof(*more));
                cleanup->items = more;
        }
        cleanup->items[cleanup->n++] =
                (Worktree){.project_id = arena_str(arena, project_id),
                           .run_id = arena_str(arena, json_text_of(run, "id")),
                           .repo_id = arena_str(arena, json_text_of(spec, "repo_id")),
                           .relpath = arena_str(arena, relpath),
                           .branch = arena_str(arena, json_text_of(spec, "worktree_branch")),
                           .status = arena_str(arena, json_text_of(run, "status")),
                           .ended_at = arena_str(arena, json_text_of(run, "ended_at")),
                           .created_at = arena_str(arena, json_text_of(run, "created_at"))};
        return 0;
}

static int cleanup_find(CleanupCall *cleanup) {
        Arena *arena = &cleanup->call->arena;
        StrList projects = {0};
        Str only = cleanup->args->project_id;
        int root = cleanup->workspace->root;
        int r = only.n ? 0 : place_names(arena, root, PLACE_PROJECTS, NULL, &projects);

        if (only.n)
                return error_trace(run_each(root, arena, only, cleanup_see, cleanup));
        for (size_t i = 0; !r && i < projects.n; i++)
                r = run_each(root, arena, projects.items[i], cleanup_see, cleanup);
        return error_trace(r);
}

/* ---- one of them ----------------------------------------------------------------------------- */

static void cleanup_say(Worktree *tree, const char *action, const char *reason) {
        tree->action = action;
        tree->reason = reason;
}

static bool cleanup_is_old(const CleanupCall *cleanup, const Worktree *tree) {
        int64_t ended_us = 0;

        return time_parse(tree->ended_at.n ? tree->ended_at : tree->created_at, &ended_us) &&
               (double)(cleanup->now_us - ended_us) >= cleanup->args->max_age_hours * 3600e6;
}

static void cleanup_remove(CleanupCall *cleanup, Worktree *tree) {
        Arena *arena = &cleanup->call->arena;
        Str root = json_str(json_get_str(cleanup->roots, tree->repo_id));
        Str path = arena_printf(arena, "%s/" STR_FMT, cleanup->workspace->path, STR_ARG(tree->relpath));
        Git git;
        int r;

        if (!root.n || !path.data) {
                cleanup_say(tree, "failed", "its repository is not configured on this machine");
                return;
        }
        r = git_open(&git, arena_str(arena, root).data, NULL);
        r = r ? r : git_worktree_remove(&git, path.data);
        tree->error = r ? arena_str(arena, str_from(r > 0 ? git.why : strerror(-r))) : STR("");
        git_close(&git);
        if (r)
                cleanup_say(tree, "failed", "git could not remove it");
        else
                cleanup_say(tree, "removed", "removed by retention policy");
}

/* A path in a document of others: nothing outside of the folder of worktrees is removed for it. */
static void cleanup_decide(CleanupCall *cleanup, Worktree *tree) {
        bool is_over = !str_is(tree->status, "running");

        if (!str_starts(tree->relpath, STR(PLACE_WORKTREES "/")) || !govern_is_inside(tree->relpath))
                cleanup_say(tree, "failed", "its path leads out of the folder of worktrees");
        else if (!is_over)
                cleanup_say(tree, "kept", "run is still running");
        else if (!cleanup_is_old(cleanup, tree))
                cleanup_say(tree, "kept", "younger than retention threshold");
        else {
                cleanup->n_eligible++;
                if (!place_has(cleanup->workspace->root, tree->relpath.data))
                        cleanup_say(tree, "missing", "worktree path already absent");
                else if (cleanup->args->dry_run)
                        cleanup_say(tree, "kept", "dry-run eligible for removal");
                else
                        cleanup_remove(cleanup, tree);
        }
        cleanup->n_kept += !strcmp(tree->action, "kept");
        cleanup->n_missing += !strcmp(tree->action, "missing");
        cleanup->n_removed += !strcmp(tree->action, "removed");
        cleanup->n_failed += !strcmp(tree->action, "failed");
}

static void cleanup_run(void *user) {
        CleanupCall *cleanup = user;
        Json *machine = NULL;

        if (document_load(&cleanup->call->arena, cleanup->workspace->root, PLACE_MACHINE, DOCUMENT_YAML,
                          &machine, NULL, NULL))
                machine = NULL;
        cleanup->roots = json_get(machine, "repo_roots");
        cleanup->r = cleanup_find(cleanup);
        for (size_t i = 0; !cleanup->r && i < cleanup->n; i++)
                cleanup_decide(cleanup, &cleanup->items[i]);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void cleanup_write_item(const CleanupCall *cleanup, JsonWriter *w, const Worktree *tree) {
        jw_begin_object(w);
        jw_field_str(w, "project_id", tree->project_id);
        jw_field_str(w, "run_id", tree->run_id);
        if (tree->repo_id.n)
                jw_field_str(w, "repo_id", tree->repo_id);
        jw_field_str(w, "worktree_relpath", tree->relpath);
        jw_field_str(w, "worktree_abs",
                     arena_printf(&cleanup->call->arena, "%s/" STR_FMT, cleanup->workspace->path,
                                  STR_ARG(tree->relpath)));
        if (tree->branch.n)
                jw_field_str(w, "branch", tree->branch);
        jw_field_str(w, "status", tree->status);
        if (tree->ended_at.n)
                jw_field_str(w, "ended_at", tree->ended_at);
        jw_field_cstr(w, "action", tree->action);
        jw_field_cstr(w, "reason", tree->reason);
        if (tree->error.n)
                jw_field_str(w, "error", tree->error);
        jw_end_object(w);
}

static void cleanup_done(void *user) {
        CleanupCall *cleanup = user;
        Call *call = cleanup->call;
        JsonWriter *w;

        if (cleanup->r) {
                call_finish(call, cleanup->r);
                return;
        }
        w = call_result(call);
        jw_begin_object(w);
        jw_field_str(w, "workspace_dir", cleanup->args->workspace_dir);
        jw_field_bool(w, "dry_run", cleanup->args->dry_run);
        jw_key(w, "max_age_hours");
        jw_double(w, cleanup->args->max_age_hours);
        jw_field_uint(w, "scanned", cleanup->n);
        jw_field_uint(w, "eligible", cleanup->n_eligible);
        jw_field_uint(w, "removed", cleanup->n_removed);
        jw_field_uint(w, "missing", cleanup->n_missing);
        jw_field_uint(w, "failed", cleanup->n_failed);
        jw_field_uint(w, "kept", cleanup->n_kept);
        jw_key(w, "items");
        jw_begin_array(w);
        for (size_t i = 0; i < cleanup->n; i++)
                cleanup_write_item(cleanup, w, &cleanup->items[i]);
        jw_end_array(w);
        jw_end_object(w);
        call_finish(call, 0);
}

int op_agentcompany_worktree_cleanup(Call *call, Workspace *workspace,
                                     const AgentcompanyWorktreeCleanupArgs *args) {
        CleanupCall *cleanup = arena_alloc(&call->arena, sizeof(*cleanup));

        if (!cleanup)
                return error_origin(-ENOMEM);
        *cleanup = (CleanupCall){.call = call,
                                 .workspace = workspace,
                                 .args = args,
                                 .now_us = loop_wall_us(call->daemon->loop)};
        return loop_work_slow(call->daemon->loop, cleanup_run, cleanup_done, cleanup) ? error_origin(-ENOMEM)
                                                                                      : CALL_LATER;
}
