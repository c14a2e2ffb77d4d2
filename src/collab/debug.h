#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What the debug operations share: they need developer mode, and if a group is named it must be there and
 * `by` must be the user or its foreman.
 */
#include "collab/group/group.h"

typedef struct Debug Debug;
/* group: NULL when none was named. settings: the observability settings. */
typedef int (*DebugFn)(Call *call, Group *group, const Json *settings, const Carry *carry);
