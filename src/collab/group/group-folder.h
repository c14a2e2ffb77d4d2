#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * A group's folder: made whole before its group.yaml appears in it, and gone at one moment (it is renamed
 * into the trash). Files are touched by workers.
 */
#include "collab/group/group.h"

typedef struct GroupSpec {
        Str id, title, topic; /* must live as long as the call */
} GroupSpec;

/*
 * Makes the folder of a new group (one that is there already is left alone), loads it and runs fn as
 * collab_edit() does. No event is written and the registry is not told: that is fn's business. Returns what
 * a handler returns; a failure is internal_error.
 */
int collab_make_group(Call *call, const GroupSpec *spec, GroupFn fn, const Carry *carry);

/* The group leaves the table and its folder goes to the trash. done follows in a later turn. -ENOMEM:
 * nothing happened.
 */
int group_remove(Group *group, void (*done)(void *user, int r), void *user);

/* Random id for a new group, in the arena. data is NULL when there is none to be had. */
Str group_new_id(Arena *arena);
