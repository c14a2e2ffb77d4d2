#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The pulse of a workspace: how often somebody looks whether agents have to be woken, and what came of it. Here
 * are its two documents; beat.h has its clock, tick.h what one beat does. Workers; trees lie in the arena.
 */
#include "base/json/json.h"
#include "company/edit.h"
#include "company/place.h"

#define PULSE_CONFIG PLACE_HEARTBEAT "/config.yaml"
#define PULSE_STATE  PLACE_HEARTBEAT "/state.yaml"

/* A document that is missing, or does not have its shape, counts as what it would be at first. 0 or negative. */
int pulse_read(int root, Arena *arena, Json **config, Json **state);
/* The same of a text that was read. */
int pulse_config(Arena *arena, Str text, Json **config);
int pulse_state(Arena *arena, Str text, Json **state);
/* The state as a part of an edit: read through it, and written back, in the order of its shape. As decide() returns. */
int pulse_edit_state(Edit *edit, Json **ret);
int pulse_edit_write(Edit *edit, Json *state);
