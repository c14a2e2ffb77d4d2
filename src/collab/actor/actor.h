#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Actors as entries of group.yaml: which words they may hold, how one is made and changed, and how it is
 * written for clients and events. Pure functions over documents; what runs is collab/actor/runner.h.
 */
#include <stdbool.h>

#include "base/str.h"
#include "collab/group/group-change.h"

bool actor_runtime_is_known(Str word);
void actor_write_runtimes(JsonWriter *w, const char *key); /* "key": all that are known */
bool actor_runner_is_known(Str word);
bool actor_submit_is_known(Str word);

/* What a runtime is started with at a terminal, as a list of strings; empty for custom and unknown ones.
 * NULL without memory. */
Json *actor_default_command(Arena *arena, Str name);
/* The strings of a list but the blank ones, the members of an object; empty for everything else, also when
 * not all are strings. NULL without memory. */
Json *actor_strings(Arena *arena, const Json *given);
Json *actor_env(Arena *arena, const Json *given);
/* Refuses a command and an environment that no program can have had, before the loop computes over them. */
int actor_check_sizes(Call *call, const Json *command, const Json *env);

/* NULL, or why an entry with these words cannot be. */
const char *actor_fault(Str runtime, Str runner, Str submit, const Json *command);
/* The first free <runtime>-<n>. */
Str actor_free_id(Arena *arena, const GroupDoc *doc, Str runtime);

/* An object: the stored entry, without secrets, the role and the sandbox that it has now. */
void actor_write(const Group *group, const ActorView *actor, JsonWriter *w);
/* The same without its ends, for those who add something. */
void actor_write_members(const Group *group, const ActorView *actor, JsonWriter *w);
/* The data of actor.add, without secrets. */
void actor_write_added(const Config *config, const GroupDoc *doc, const ActorView *actor, JsonWriter *w);
/* Adds one of actor.start, .stop, .restart, .remove; runner: empty for null. */
void actor_change_event(GroupChange *change, const char *kind, Str by, Str actor, Str runner);
/* The wanted state of an actor, with its updated_at. */
void actor_change_enabled(GroupChange *change, Str id, bool is_enabled);
/* What follows when actors were switched off: a group without an enabled one is not wanted to run. */
void actor_change_running(GroupChange *change);
/* In reply(): {"actor": …, "event": …}, and notes of its sandbox if there are any; change->word is the
 * actor's id as a C string. */
void actor_change_reply(Call *call, GroupChange *change);

/*
 * What an actor may be called: 1 to 32 characters, letters and digits of any script and '_', '-' not first,
 * and none of the names that mean somebody else (user, all, system, …).
 */

enum { ACTOR_ID_MAX = 32 };      /* characters, not bytes */
enum { ACTOR_WORDS_MAX = 4096 }; /* of a command; members of an environment */

bool actor_id_is_valid(Str id);     /* by its characters */
const char *actor_id_fault(Str id); /* what is wrong with them, for people; NULL: nothing is */
bool actor_id_is_reserved(Str id);  /* in any case */
