#pragma once
/* SPDX-License-Identifier: MIT */
/* Inside of Scope: the work tree around a path and the URL of its remote "origin". Worker. */
#include "base/arena.h"

/* Shortens root (absolute, resolved) to the top of its work tree, if it lies in one. url: in the arena,
 * empty when there is none. */
int scope_git(Arena *arena, char *root, Str *ret_url);
