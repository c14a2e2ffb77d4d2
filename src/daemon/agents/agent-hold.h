#pragma once
/* SPDX-License-Identifier: MIT */
/* Hooks that ask for a permission and wait for a person; see op-agent-hold.c. For the operations about agents and for setup.c. */
#include "core/agents/fact.h"
#include "core/approval/policy.h"
#include "core/host/host.h"
#include "gen/native-ops.h"

/* Whether this hook is one that can be held; one that does not say which run it is does not wait. */
bool agent_hold_wants(Call *call, const AgentFact *fact, const Json *payload, Str hook);
/* Asks for it; then() with the approval that the hook is to wait for (empty: none, it is not held) writes the result. As a handler
 * returns. hook: which run of the program it is. */
typedef void (*AgentHeldFn)(Call *call, Str approval, void *user);
int agent_hold_begin(Call *call, Hosted *hosted, const AgentFact *fact, const Json *payload, Str hook,
                     AgentHeldFn then, void *user);
int agent_hold_took(Call *call, const NativeAgentTookArgs *args);
/* The agent went on, somebody sits at its terminal, its process has ended: what is held is released. */
void agent_hold_fact(Call *call, const Hosted *hosted, const AgentFact *fact, const Json *payload);
void agent_hold_seated(Hosted *hosted, Daemon *daemon);
void agent_hold_ended(const Hosted *hosted, Daemon *daemon);
