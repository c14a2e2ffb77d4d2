#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Places: where things lie in a workspace. This is the only file that knows its tree.
 *
 * Ids come from the wire and from files of others: each function takes only what may be one component of a
 * path, and gives NULL for anything else (and without memory), which callers treat as "there is none". Paths are
 * relative to the workspace, NUL-terminated, in the arena. They are opened with path_open_beneath(), so that no
 * link leads away. Workers and loop.
 */
#include "base/arena.h"
#include "core/op.h" /* StrList */

#define PLACE_COMPANY    "company/company.yaml"
#define PLACE_POLICY     "company/policy.yaml"
#define PLACE_MIGRATIONS "company/migrations/applied.yaml"
#define PLACE_MACHINE    ".local/machine.yaml"
#define PLACE_INDEX      ".local/index.sqlite"
#define PLACE_HEARTBEAT  ".local/heartbeat"
#define PLACE_AGENTS     "org/agents"
#define PLACE_TEAMS      "org/teams"
#define PLACE_PROJECTS   "work/projects"
#define PLACE_REVIEWS    "inbox/reviews"
#define PLACE_HELP       "inbox/help_requests"
#define PLACE_COMMENTS   "inbox/comments"
#define PLACE_SESSIONS   ".local/sessions"
#define PLACE_WORKTREES  ".local/worktrees"

extern const char *const place_folders[]; /* that a workspace must have; NULL-terminated */
extern const char *const place_files[];

/* name: a file in its folder; "": the folder itself. */
const char *place_agent(Arena *arena, Str agent_id, const char *name);
const char *place_team(Arena *arena, Str team_id, const char *name);
const char *place_project(Arena *arena, Str project_id, const char *name);
const char *place_run(Arena *arena, Str project_id, Str run_id, const char *name);
Str place_run_of_project(Arena *arena, Str run_id,
                         const char *name); /* relative to the project, as documents have it */
const char *place_worktree(Arena *arena, Str project_id, Str task_id, Str run_id);
const char *place_job(Arena *arena, Str project_id, Str job_id, const char *name);
const char *place_context_pack(Arena *arena, Str project_id, Str pack_id, const char *name);
const char *place_share_pack(Arena *arena, Str project_id, Str pack_id, const char *name);
const char *place_task(Arena *arena, Str project_id, Str task_id);
const char *place_artifact(Arena *arena, Str project_id, Str artifact_id, const char *suffix); /* ".md" */
const char *place_review(Arena *arena, Str review_id);
const char *place_help_request(Arena *arena, Str help_id);
const char *place_comment(Arena *arena, Str comment_id);
/* project_id empty: a conversation of the workspace; is_home: its slug is "home". */
const char *place_conversation(Arena *arena, Str project_id, Str conversation_id, bool is_home,
                               const char *name);
const char *place_session(Arena *arena, Str session_ref); /* percent-encoded, 200 bytes at most */

enum { PLACE_NAMES_MAX = 100000 }; /* entries of one folder; more is a failure */
/*
 * The names in a folder, sorted by bytes, without those that begin with a dot. suffix: of files that end so,
 * without it; NULL: of folders. A folder that is not there has none. Worker. 0, -E2BIG or another failure.
 */
int place_names(Arena *arena, int root, const char *folder, const char *suffix, StrList *ret);
/*
 * What has to be there before anything lies beside it: of a path in the folder of a project, an agent or a team that
 * one's document, with what it is called and its id. NULL: nothing.
 */
const char *place_owner(Arena *arena, const char *path, const char **ret_kind, Str *ret_id);
/* A file or folder, through no link: 0, FILE_E_MISSING (also of NULL), or negative: it cannot be told now, for want of
 * descriptors for example. Worker. */
int place_look(int root, const char *path);
bool place_has(int root, const char *path); /* whether it is there, as far as can be told */
