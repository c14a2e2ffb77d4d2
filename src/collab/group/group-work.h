#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * A step on a worker in the middle of what an op does with a group (reading a file that is no document,
 * making a folder, hashing a blob), inside an edit or outside of one.
 */
#include "collab/group/group.h"

/* fn: on a worker; group's paths and what carry belongs to may be touched, nothing else; a negative value fails the call. Then
 * `then` runs on the loop, and its value ends the call as usual. Returns what a handler returns. */
typedef int (*GroupWorkFn)(const Group *group, const Carry *carry);
int group_work(Call *call, Group *group, GroupWorkFn fn, GroupFn then, const Carry *carry);
