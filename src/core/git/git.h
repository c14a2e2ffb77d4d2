#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Git: questions to git about one folder, and worktrees of it, through core/exec: no shell, no terminal,
 * nobody is asked for a password, and a program that hangs is killed with all that it started. Everything
 * blocks: on workers, through loop_work_slow().
 *
 *   Git git;
 *   r = git_open(&git, folder, env);
 *   if (!r)
 *           r = git_head(&git, hash);
 *   if (r > 0)
 *           … git.why …
 *   git_close(&git);
 *
 * What the environment says of another repository (GIT_DIR and its like) is not passed on: the folder
 * counts. What the repository itself has configured is obeyed, and its hooks run when a worktree is added;
 * programs that it names for diffs and for watching files are not asked. Questions leave no lock in it. A
 * git that was killed while it added a worktree may leave that, its branch, or both. Owned by whoever
 * opened it.
 */
#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/strvec.h"

enum {
        GIT_LIMIT_MS = 30000,
        GIT_DIFF_MAX = 64 << 20,
        GIT_LIST_MAX = 4 << 20, /* bytes of a list of worktrees */
        GIT_WHY_MAX = 512,
        GIT_HASH_SIZE = 65, /* 40 or 64 digits and a NUL */
};

/* Conditions of all functions; `why` has a text for people then, git's own where it said one. */
enum {
        _GIT_E_SUCCESS,
        GIT_E_MISSING,   /* no such program on PATH */
        GIT_E_REFUSED,   /* it said no: no repository, no commit yet, a branch that is there, … */
        GIT_E_SLOW,      /* it was killed */
        GIT_E_TOO_LARGE, /* what it said */
};

typedef struct Git {
        char *folder;
        int limit_ms;      /* GIT_LIMIT_MS, unless the caller says another */
        size_t n_diff_max; /* GIT_DIFF_MAX, the same */
        char why[GIT_WHY_MAX];
        char *program; /* private from here on */
        StrVec env;
        char **list;
} Git;

/* folder: absolute. env: on whose PATH it is looked for, and what it gets; NULL: the daemon's own. Needs
 * git_close() also after a failure. */
int git_open(Git *git, const char *folder, const StrVec *env);
void git_close(Git *git);

int git_head(Git *git, char ret[GIT_HASH_SIZE]); /* the commit that is checked out */
int git_is_dirty(Git *git, bool *ret);           /* also by files that git does not know */
/* Of files that it knows, against the commit that is checked out; for `git apply`. ret: empty. */
int git_diff(Git *git, Buf *ret);

/* A new branch at the commit that is checked out, and a folder for it; those on the way are made. */
int git_worktree_add(Git *git, const char *branch, const char *path);
int git_worktree_remove(Git *git, const char *path); /* with all that was changed in it; the branch stays */

typedef struct GitWorktree {
        Str path, head;
        Str branch; /* without refs/heads/; empty: none */
} GitWorktree;
/* The first is the repository's own. In the arena. */
int git_worktree_list(Git *git, Arena *arena, GitWorktree **ret, size_t *ret_n);
