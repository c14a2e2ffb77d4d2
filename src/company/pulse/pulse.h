#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The pulse of a workspace: how often somebody looks whether agents have to be woken, and what came of it. Here
 * are its two documents; nothing ticks yet. Workers; trees lie in the arena.
 */
#include "base/json/json.h"

#define PULSE_CONFIG ".local/heartbeat/config.yaml"
#define PULSE_STATE  ".local/heartbeat/state.yaml"

/* A document that is missing, or does not have its shape, counts as what it would be at first. 0 or negative. */
int pulse_read(int root, Arena *arena, Json **config, Json **state);
/* The same of a text that was read. */
int pulse_config(Arena *arena, Str text, Json **config);
