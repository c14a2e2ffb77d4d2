#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Actors as entries of group.yaml: which words they may hold, how one is made and changed, and how it is
 * written for clients and events. Pure functions over documents; what runs is collab/runner.h.
 */
#include "collab/group-change.h"

bool actor_runtime_is_known(Str word);

/* What a runtime is started with at a terminal, as a list of strings; empty for custom. NULL without memory.
 */
Json *actor_default_command(Arena *arena, Str name);
/* The strings of a list; null for everything else. NULL without memory. */
Json *actor_strings(Arena *arena, const Json *given);
/* The members of an object as text; NULL without memory. */
Json *actor_env(Arena *arena, const Json *given);

/* NULL, or why an entry with these words cannot be. */
const char *actor_fault(Str runtime, Str runner, Str submit, const Json *command);
/* The first free <runtime>-<n>. */
Str actor_free_id(Arena *arena, const GroupDoc *doc, Str runtime);

/* An object: the stored entry and the role that it has now. */
void actor_write(const GroupDoc *doc, const ActorView *actor, JsonWriter *w);
/* The same without its ends, for those who add something. */
void actor_write_members(const GroupDoc *doc, const ActorView *actor, JsonWriter *w);
/* The data of actor.add. */
void actor_write_added(const GroupDoc *doc, const ActorView *actor, JsonWriter *w);
/* Adds one of actor.start, .stop, .restart, .remove; runner: empty for null. */
void actor_change_event(GroupChange *change, const char *kind, Str by, Str actor, Str runner);
/* The wanted state of an actor, with its updated_at. */
void actor_change_enabled(GroupChange *change, Str id, bool is_enabled);
/* What follows when actors were switched off: a group without an enabled one is not wanted to run. */
void actor_change_running(GroupChange *change);
/* In reply(): {"actor": …, "event": …}; change->user is the actor's id as a C string. */
void actor_change_reply(Call *call, GroupChange *change);
