#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Scope: which project a path belongs to. The root is the top of the git work tree around it, else the path
 * itself; the key is made of the normalised remote, else of the root, so that two clones are one scope.
 *
 * Git's own files are read, git is not run: the work tree, its config (with commondir of linked work trees)
 * and nothing else. Includes and insteadOf are not followed.
 */
#include "base/arena.h"
#include "core/call.h"

enum { SCOPE_KEY_DIGITS = 12 };

typedef struct Scope {
        Str key;        /* s_ and 12 hex digits */
        Str root;       /* absolute */
        Str label;      /* last part of the root */
        Str git_remote; /* normalised; empty: none */
        Str group_id;   /* of the group that attach makes for it: g_ and 12 hex digits */
} Scope;

/* Worker. Everything in the scope lies in the arena, NUL-terminated. A path that is no folder (yet) is taken
 * as it is. */
int scope_detect(Arena *arena, Str path, Scope *ret);

/* Finds the scope of path ("" is ".") on a worker, then runs fn. Returns what a handler returns. */
typedef int (*ScopeFn)(Call *call, const Scope *scope, const void *args);
int scope_call(Call *call, Str path, ScopeFn fn, const void *args);

/* The normalised form of a remote's URL. data is NULL without memory. */
Str scope_normalize_remote(Arena *arena, Str url);
