#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * CallerEnv: what the command line that started an actor, or a whole group, had in its environment. It is
 * given to the actor below its own `env`, at this start and at each one that follows without such a caller.
 * It is no part of the group's documents: keys do not belong there. An actor that runs on carries it over to
 * the next daemon in its meta. Owned by the Collab.
 */
#include "collab/collab.h"

typedef struct CallerEnv CallerEnv;
enum { CALLER_ENVS_MAX = 4096 }; /* beyond: the one that was noted first is forgotten */

/* Takes note for one actor, or with an empty actor for all of the group. NULL: there is nothing to note.
 * call_fail() when it does not fit. */
int caller_env_take(Call *call, Str group_id, Str actor_id, const Json *object);
int caller_env_note(Collab *collab, Str group_id, Str actor_id, const Json *object);
const StrVec *caller_env_find(const Collab *collab, Str group_id, Str actor_id); /* NULL: none */
void caller_env_free_all(Collab *collab);
