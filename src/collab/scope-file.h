#pragma once
/* SPDX-License-Identifier: MIT */
/* scopes/<scope_key>/scope.yaml of a group: a note about the scope for other programs. Worker. */
#include "collab/group.h"
#include "collab/scope.h"

/* Written anew, durable; created_at and unknown keys of an older one stay. */
int scope_file_write(const Group *group, const Scope *scope, int64_t now_us);
/* Goes with its folder, which stays when others keep something there. None: fine. */
int scope_file_remove(const Group *group, Str key);
