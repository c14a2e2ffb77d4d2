/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "company/run"

#include "company/run/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "company/draft.h"
#include "company/place.h"
#include "company/run/run.h"
#include "core/document.h"
#include "core/git/git.h"
#include "gen/shapes.h"

struct RunTree {
        void (*done)(Run *run);
        Str root;      /* of the repository */
        Str why;       /* why the run cannot start; empty: nothing stands in the way */
        Str folder;    /* where the program is to run */
        bool is_apart; /* it has a worktree */
        char head[GIT_HASH_SIZE];
        bool is_dirty;
        Buf patch;
        Str snapshot_error; /* empty: there is a snapshot */
};

/* ---- finding out, on a slow worker ----------------------------------------------------------- */

static void tree_fail(Run *run, Str why) {
        run->tree->why = why.data ? why : STR("out of memory");
}

static Str tree_known(Arena *arena, const Json *roots) {
        Str known = STR("");

        json_each (root, roots)
                known = arena_printf(arena, STR_FMT "%s" STR_FMT, STR_ARG(known),
                                     known.n ? ", " : " Known: ", STR_ARG(json_key(root)));
        return known.n ? known : STR(" No repo_ids configured yet.");
}

static bool tree_find_root(Run *run) {
        Arena *arena = &run->arena;
        Json *machine = NULL;
        const Json *roots;
        Str root;

        if (document_load(arena, run->workspace->root, PLACE_MACHINE, DOCUMENT_YAML, &machine, NULL, NULL))
                machine = NULL;
        roots = json_get(machine, "repo_roots");
        root = json_str(json_get_str(roots, run->spec.repo_id));
        run->tree->root = arena_str(arena, root);
        if (root.n && root.data[0] == '/')
                return true;
        tree_fail(run, arena_printf(arena,
                                    "Unknown repo_id \"" STR_FMT
                                    "\". Configure it in .local/machine.yaml." STR_FMT,
                                    STR_ARG(run->spec.repo_id), STR_ARG(tree_known(arena, roots))));
        return false;
}

static const Json *tree_milestone(const Json *task, Str milestone_id) {
        json_each (milestone, json_get(task, "milestones")) {
                if (str_eq(json_text_of(milestone, "id"), milestone_id))
                        return milestone;
        }
        return NULL;
}

/* What the task says of itself, else what kind of work the milestone is. */
static bool tree_look_at_task(Run *run) {
        const RunSpec *spec = &run->spec;
        const char *path = place_task(&run->arena, spec->project_id, spec->task_id);
        const Json *flag, *milestone = NULL;
        bool is_wanted = false;
        Json *task = NULL;

        if (!path ||
            document_load(&run->arena, run->workspace->root, path, DOCUMENT_MATTER, &task, NULL, NULL)) {
                tree_fail(run,
                          arena_printf(&run->arena, "Task not found: " STR_FMT, STR_ARG(spec->task_id)));
                return false;
        }
        if (spec->milestone_id.n && !(milestone = tree_milestone(task, spec->milestone_id))) {
                tree_fail(run, arena_printf(&run->arena, "Milestone not found in task " STR_FMT ": " STR_FMT,
                                            STR_ARG(spec->task_id), STR_ARG(spec->milestone_id)));
                return false;
        }
        flag = json_get(json_get(task, "scope"), "requires_worktree_isolation");
        run->tree->is_apart = json_bool(flag, &is_wanted)
                                      ? is_wanted
                                      : milestone && str_is(json_text_of(milestone, "kind"), "coding");
        return true;
}

static bool tree_add_worktree(Run *run, Git *git) {
        const RunSpec *spec = &run->spec;
        Str path;

        if (!run->tree->is_apart)
                return true;
        run->worktree_relpath =
                str_from(place_worktree(&run->arena, spec->project_id, spec->task_id, spec->run_id));
        run->worktree_branch =
                arena_printf(&run->arena, "ac/" STR_FMT "/" STR_FMT "/" STR_FMT, STR_ARG(spec->project_id),
                             STR_ARG(spec->task_id), STR_ARG(spec->run_id));
        path = arena_printf(&run->arena, "%s/" STR_FMT, run->workspace->path,
                            STR_ARG(run->worktree_relpath));
        run->tree->folder = path;
        if (run->worktree_relpath.data && run->worktree_branch.data && path.data &&
            git_worktree_add(git, run->worktree_branch.data, path.data) == 0)
                return true;
        tree_fail(run, arena_printf(&run->arena, "git worktree add failed: %s", git->why));
        run->worktree_relpath = run->worktree_branch = STR_NULL;
        return false;
}

static void tree_snapshot(Run *run, Git *git) {
        RunTree *tree = run->tree;
        int r = git_head(git, tree->head);

        if (!r)
                r = git_is_dirty(git, &tree->is_dirty);
        if (!r && tree->is_dirty)
                r = git_diff(git, &tree->patch);
        if (r)
                tree->snapshot_error = arena_str(&run->arena, str_from(r > 0 ? git->why : strerror(-r)));
}

/* Relative, and through no link out of the repository. */
static void tree_enter(Run *run) {
        RunTree *tree = run->tree;
        Str sub = run->spec.workdir_rel, root = tree->folder.n ? tree->folder : tree->root;
        _cleanup_(closep) int fd = open(root.data, O_PATH | O_DIRECTORY | O_CLOEXEC), inner = -1;

        tree->folder = root;
        if (fd >= 0 && sub.n) {
                inner = path_open_beneath(fd, sub.data, O_PATH | O_DIRECTORY, 0);
                tree->folder = arena_printf(&run->arena, STR_FMT "/" STR_FMT, STR_ARG(root), STR_ARG(sub));
        }
        if (fd < 0 || (sub.n && inner < 0) || !tree->folder.data)
                tree_fail(run, arena_printf(&run->arena, "Working directory does not exist: " STR_FMT,
                                            STR_ARG(tree->folder)));
}

/* An app server runs in the repository itself, and nothing is said of its state (facts §6.3, §6.4). */
static void tree_run(void *user) {
        Run *run = user;
        RunTree *tree = run->tree;
        bool is_server = run_is_app_server(run);
        Git git;
        int r;

        if (!tree_find_root(run) || (run->spec.task_id.n && !is_server && !tree_look_at_task(run)))
                return;
        if (is_server) {
                tree_enter(run);
                return;
        }
        r = git_open(&git, tree->root.data, run->spec.environment);
        if (r)
                tree->snapshot_error = arena_str(&run->arena, str_from(r > 0 ? git.why : strerror(-r)));
        if (r && tree->is_apart)
                tree_fail(run, tree->snapshot_error);
        else if (!r && tree_add_worktree(run, &git))
                tree_snapshot(run, &git);
        git_close(&git);
        if (!tree->why.n)
                tree_enter(run);
}

static void tree_done(void *user) {
        Run *run = user;
        Daemon *daemon = run->workspace->company->daemon;

        run->is_busy = false;
        run->tree->done(run);
        daemon_release_stop(daemon);
}

void tree_prepare(Run *run, void (*done)(Run *run)) {
        Daemon *daemon = run->workspace->company->daemon;

        if (!run->spec.repo_id.n || !run->may_start) {
                done(run);
                return;
        }
        run->tree = arena_alloc(&run->arena, sizeof(*run->tree));
        if (run->tree)
                *run->tree = (RunTree){.done = done};
        if (!run->tree || loop_work_slow(daemon->loop, tree_run, tree_done, run)) {
                finish_note(run, "out of memory");
                done(run);
                return;
        }
        run->is_busy = true;
        daemon_hold_stop(daemon);
}

void tree_free(Run *run) {
        if (run->tree)
                buf_deinit(&run->tree->patch);
        run->tree = NULL;
}

/* ---- writing it down ------------------------------------------------------------------------- */

static void tree_tell_worktree(Edit *edit, const Run *run) {
        const RunSpec *spec = &run->spec;
        EventOf of = run_event_of(run);
        JsonWriter *w;

        of.actor = run->agent_id;
        w = event_begin(edit, &of, "worktree.prepared");
        jw_begin_object(w);
        jw_field_str(w, "repo_id", spec->repo_id);
        jw_field_str(w, "task_id", spec->task_id);
        if (spec->milestone_id.n)
                jw_field_str(w, "milestone_id", spec->milestone_id);
        else
                jw_field_null(w, "milestone_id");
        jw_field_str(w, "worktree_relpath", run->worktree_relpath);
        jw_field_str(w, "branch", run->worktree_branch);
        jw_end_object(w);
        event_end(edit);
}

/* The id of its artifact; empty: there is none. */
static Str tree_put_patch(Edit *edit, const Run *run) {
        Str id, relpath;
        EventOf of = run_event_of(run);
        const char *path;
        JsonWriter *w;

        if (!run->tree->patch.n)
                return STR("");
        id = edit_id(edit, "art");
        path = place_artifact(edit->arena, run->spec.project_id, id, ".patch");
        if (!edit_try(edit, path ? 0 : -ENOMEM))
                return STR("");
        relpath = str_from(path);
        (void)edit_create(edit, path, buf_str(&run->tree->patch));
        w = event_begin(edit, &of, "artifact.produced");
        jw_begin_object(w);
        jw_field_str(w, "artifact_id", id);
        jw_field_str(w, "relpath", relpath);
        jw_field_cstr(w, "kind", "repo_dirty_patch");
        jw_field_str(w, "repo_id", run->spec.repo_id);
        jw_end_object(w);
        event_end(edit);
        return id;
}

static void tree_put_manifest(Edit *edit, const Run *run, Str patch_id) {
        const char *path =
                place_context_pack(edit->arena, run->spec.project_id, run->pack_id, "manifest.yaml");
        Json *manifest = path ? draft_read(edit, path, &shape_context_pack) : NULL;
        Json *snapshot = json_new(edit->arena, JSON_OBJECT);
        int r = snapshot ? 0 : -ENOMEM;

        if (!manifest)
                return;
        r = r ? r
              : json_set(edit->arena, snapshot, STR("repo_id"),
                         json_new_str(edit->arena, run->spec.repo_id));
        r = r ? r
              : json_set(edit->arena, snapshot, STR("head_sha"),
                         json_new_str(edit->arena, str_from(run->tree->head)));
        r = r ? r
              : json_set(edit->arena, snapshot, STR("dirty"),
                         json_new_bool(edit->arena, run->tree->is_dirty));
        if (!r && patch_id.n)
                r = json_set(edit->arena, snapshot, STR("dirty_patch_artifact_id"),
                             json_new_str(edit->arena, patch_id));
        r = r ? r : json_set(edit->arena, manifest, STR("repo_snapshot"), snapshot);
        if (edit_try(edit, r))
                draft_replace(edit, path, manifest);
}

static void tree_tell_snapshot(Edit *edit, const Run *run, Str patch_id) {
        const RunTree *tree = run->tree;
        EventOf of = run_event_of(run);
        JsonWriter *w = event_begin(edit, &of,
                                    tree->snapshot_error.n ? "context_pack.snapshot_failed"
                                                           : "context_pack.snapshot_written");

        jw_begin_object(w);
        jw_field_str(w, "context_pack_id", run->pack_id);
        jw_field_str(w, "repo_id", run->spec.repo_id);
        if (tree->snapshot_error.n) {
                jw_field_str(w, "error", tree->snapshot_error);
        } else {
                jw_field_cstr(w, "head_sha", tree->head);
                jw_field_bool(w, "dirty", tree->is_dirty);
                if (patch_id.n)
                        jw_field_str(w, "dirty_patch_artifact_id", patch_id);
                else
                        jw_field_null(w, "dirty_patch_artifact_id");
        }
        jw_end_object(w);
        event_end(edit);
}

void tree_write(Edit *edit, Run *run) {
        const RunTree *tree = run->tree;
        Str patch_id = STR("");

        if (!tree)
                return;
        if (tree->why.n) {
                finish_note(run, STR_FMT, STR_ARG(tree->why));
                return;
        }
        run->folder = tree->folder.data;
        if (run_is_app_server(run))
                return;
        if (tree->is_apart)
                tree_tell_worktree(edit, run);
        if (!tree->snapshot_error.n) {
                patch_id = tree_put_patch(edit, run);
                tree_put_manifest(edit, run, patch_id);
        }
        tree_tell_snapshot(edit, run, patch_id);
}
