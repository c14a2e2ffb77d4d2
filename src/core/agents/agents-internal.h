#pragma once
/* SPDX-License-Identifier: MIT */
/* What the parts of core/agents share: agents.c (facts, hosted processes), agents-heard.c (structured output, transcripts), agents-keep.c (files). */
#include "core/agents/agents.h"

struct Agents {
        Daemon *daemon;
        char *dir; /* <home>/agents */
        Timer tick;
        void (*on_fact)(Agent *agent, const AgentFact *fact); /* NULL: nobody wants to know */
        void (*on_still)(Agent *agent);                       /* the same */
        bool is_adopting; /* what is found is told of when all that was kept of it is read */
};

/* agents-heard.c: what is new of its output; is_missed: an earlier daemon may have heard it. It has ended: the last line, too. */
void agent_hear_output(Agent *agent, bool is_missed);
void agent_hear_again(Agent *agent);
void agent_hear_end(Agent *agent, bool is_missed);
void agent_look_at_transcript(Agent *agent, int64_t now_us); /* agents-heard.c; at every tick */
void agent_remember(Agent *agent, const AgentFact *fact);    /* agents.c */
