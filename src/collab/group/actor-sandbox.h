#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The sandbox of actors, as group.yaml says it: the members `sandbox` (none, bwrap) and `sandbox_network`
 * (host, none, veth) of an actor's entry, or of the whole group for those that say nothing. They are ours,
 * not the contract's; the original keeps members that it does not know. Pure functions over documents; the
 * sandbox itself is core/sandbox/sandbox-job.h.
 */
#include "collab/group/group-doc.h"
#include "core/sandbox/sandbox.h"

enum { _ACTOR_SANDBOX_E_SUCCESS, ACTOR_SANDBOX_E_WORD };

/* What an actor is started in. Condition: a word there that nobody knows, so that nobody knows what was
 * meant; ret is then what holds most. */
int actor_sandbox_wish(const GroupDoc *doc, const ActorView *actor, SandboxWish *ret);
/* The members for clients, as they hold for the actor; nothing when neither it nor its group says any. */
void actor_sandbox_write(const GroupDoc *doc, const ActorView *actor, JsonWriter *w);
bool actor_sandbox_is_key(Str key); /* one of the two */
/* NULL, or why what an object has under these keys cannot be. null is fine. */
const char *actor_sandbox_fault(const Json *object);
/* Whether what it says, if anything, is what holds for the actor anyway. */
bool actor_sandbox_is_same(const Json *object, const GroupDoc *doc, const ActorView *actor);
/* Takes them over into an object of the document: null removes. After actor_sandbox_fault(). */
int actor_sandbox_apply(Document *document, Json *to, const Json *patch);
