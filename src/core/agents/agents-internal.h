#pragma once
/* SPDX-License-Identifier: MIT */
/* What the parts of core/agents share: agents.c (facts, hosted processes), agents-keep.c (files). */
#include "core/agents/agents.h"

struct Agents {
        Daemon *daemon;
        char *dir; /* <home>/agents */
        Timer tick;
        bool is_adopting; /* what is found is told of when all that was kept of it is read */
};

void agent_remember(Agent *agent, const AgentFact *fact); /* agents.c */
