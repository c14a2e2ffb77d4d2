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
#include "collab/group/group-change.h"
#include "collab/group/group.h"
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
typedef int (*ScopeFn)(Call *call, const Scope *scope, const Carry *carry);
int scope_call(Call *call, Str path, ScopeFn fn, const Carry *carry);

/* The normalised form of a remote's URL. data is NULL without memory. */
Str scope_normalize_remote(Arena *arena, Str url);

/* scopes/<scope_key>/scope.yaml of a group: a note about the scope for other programs. Worker. */

/* Written anew, durable; created_at and unknown keys of an older one stay. */
int scope_file_write(const Group *group, const Scope *scope, int64_t now_us);
/* Goes with its folder, which stays when others keep something there. None: fine. */
int scope_file_remove(const Group *group, Str key);

/* Inside of Scope: the work tree around a path and the URL of its remote "origin". Worker. */

/* A scope becomes the active one of a group: document, event group.attach, registry. */

/* The change has its document already (group_change_doc() gave one); scope.yaml is somebody else's. */
void group_change_attach(GroupChange *change, const Scope *scope, Str by);
