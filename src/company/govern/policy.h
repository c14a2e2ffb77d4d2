#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Policy: who may see, approve or launch what. One function of what it is given, nothing else: no file, no
 * clock, no workspace. Who is asked, and what becomes of the verdict, is for the callers.
 */
#include "base/str.h"

typedef enum PolicyAction { POLICY_READ, POLICY_APPROVE, POLICY_LAUNCH } PolicyAction;

typedef struct PolicyActor {
        Str id, role; /* human, ceo, director, manager, worker */
        Str team;     /* empty: none */
} PolicyActor;

typedef struct PolicyResource {
        Str visibility; /* org, managers, team; anything else is private_agent */
        Str team;       /* empty: none */
        Str producer;   /* empty: nobody's */
} PolicyResource;

typedef struct PolicyVerdict {
        bool is_allowed;
        const char *rule_id, *reason;
} PolicyVerdict;

PolicyVerdict policy_decide(const PolicyActor *actor, PolicyAction action, const PolicyResource *resource);
const char *policy_action_name(PolicyAction action);
