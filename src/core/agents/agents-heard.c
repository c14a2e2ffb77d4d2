/* SPDX-License-Identifier: MIT */
/*
 * What is heard of an agent besides its hooks: the structured output of one that runs without a terminal (protocol.h), and the end of the
 * transcript that a hook has named (tail.h). Also how many turns it had, whoever tells of them.
 */
#include <string.h>

#include "base/macro.h"
#include "core/agents/agents-internal.h"
#include "core/agents/tail.h"
#include "core/usage/usage-book.h"

/* ---- turns ----------------------------------------------------------------------------------- */

void agent_count_turn(Agent *agent, const AgentFact *fact) {
        bool is_over =
                fact->kind == AGENT_STOPPED || fact->kind == AGENT_LIMITED || fact->kind == AGENT_FAILED;

        if (fact->is_sub || fact->verdict > AGENT_CONFIRMED)
                return;
        /* No two begin at once: that is what they are known by. */
        if (fact->kind == AGENT_TURN && !agent->turn_us)
                agent->turn_us = MAX(fact->at_us, agent->counted_us + 1);
        else if (is_over && agent->turn_us) {
                usage_turn(agent->agents->daemon->usage, agent->hosted, str_from(fact->runtime),
                           agent->turn_us, fact->at_us);
                agent->counted_us = agent->turn_us;
                agent->turn_us = 0;
        }
}

/* ---- structured output ----------------------------------------------------------------------- */

static void agent_on_protocol(void *user, AgentFact *fact) {
        Agent *agent = user;

        agent_take(agent, fact);
        agent_count_turn(agent, fact);
}

/* Turns that were over before this daemon began may have been counted: they are not counted here. Tokens are known again by their keys. */
static void agent_on_missed(void *user, AgentFact *fact) {
        agent_take(user, fact);
}

/* Where hooks name a transcript, that counts. */
static void agent_on_used(void *user, const TranscriptItem *item) {
        Agent *agent = user;
        Str runtime = str_from(agent->protocol.runtime);

        if (!agent->has_heard || transcript_form(runtime) == TRANSCRIPT_NONE)
                usage_told(agent->agents->daemon->usage, agent->hosted, runtime, item);
}

static ProtocolTold agent_told(Agent *agent, bool is_missed) {
        return (ProtocolTold){is_missed ? agent_on_missed : agent_on_protocol, agent_on_used, agent};
}

void agent_hear_output(Agent *agent, bool is_missed) {
        const ProtocolTold told = agent_told(agent, is_missed);
        uint64_t from = agent->heard;
        Str bytes = hosted_read_from(agent->hosted, false, &agent->heard);

        if (agent->heard != from)
                protocol_missed(&agent->protocol);
        agent->heard += bytes.n;
        protocol_feed(&agent->protocol, bytes, loop_wall_us(agent->agents->daemon->loop), &told);
}

static void agent_on_known(_unused_ void *user, _unused_ AgentFact *fact) {}

/* What an earlier daemon has heard, once more, for its tokens: they may have been counted and not kept when it was killed, and a line that tells
 * totals needs what stood before it. What is known already changes nothing. */
void agent_hear_again(Agent *agent) {
        const ProtocolTold told = {agent_on_known, agent_on_used, agent};
        uint64_t from = 0;
        Str bytes = hosted_read_from(agent->hosted, false, &from);

        if (from)
                protocol_missed(&agent->protocol);
        if (from < agent->heard)
                bytes.n = MIN(bytes.n, (size_t)(agent->heard - from));
        else
                bytes.n = 0;
        protocol_feed(&agent->protocol, bytes, loop_wall_us(agent->agents->daemon->loop), &told);
}

void agent_hear_end(Agent *agent, bool is_missed) {
        const ProtocolTold told = agent_told(agent, is_missed);

        if (agent->hosted->kind != SHIM_PIPES)
                return;
        protocol_end(&agent->protocol, hosted_scrollback(agent->hosted, SPOKEN_DOCUMENT_MAX + 1),
                     loop_wall_us(agent->agents->daemon->loop), &told);
}

void agents_printed(Agents *agents _unused_, Hosted *hosted) {
        if (hosted->agent)
                agent_hear_output(hosted->agent, false);
}

/* ---- transcripts ----------------------------------------------------------------------------- */

void agents_read(Agents *agents, Str process, Str runtime, Str tail) {
        Hosted *hosted = agents->daemon->host ? host_find(agents->daemon->host, process) : NULL;
        Agent *agent = hosted ? hosted->agent : NULL;
        AgentFact fact;

        if (!agent || !tail_read(runtime, tail, loop_wall_us(agents->daemon->loop), &fact) ||
            (fact.said_us == agent->read.said_us && fact.kind == agent->read.kind))
                return;
        agent_take(agent, &fact);
        agent_count_turn(agent, &fact);
        agent->read = fact;
}

/* What a line has said while somebody who is believed more was fresh counts once that one is old: the same rule, later. */
static void agent_read_again(Agent *agent, int64_t now_us) {
        AgentFact fact = agent->read;

        if (!agent->state.is_contradicted || fact.verdict != AGENT_WEAKER ||
            now_us - agent->state.at_us < AGENT_FRESH_US)
                return;
        fact.at_us = now_us;
        agent_take(agent, &fact);
        agent->read = fact;
}

/* Hooks say most, but not all: who interrupts an agent outside of a tool, or denies what it asks, is in its transcript only. */
void agent_look_at_transcript(Agent *agent, int64_t now_us) {
        bool may_be_over = agent->state.kind == AGENT_IS_WORKING || agent->state.kind == AGENT_IS_WAITING;

        if (!agent->has_heard || !may_be_over || agent->state.source != AGENT_HOOK)
                return;
        agent_read_again(agent, now_us);
        if (now_us - MAX(agent->state.at_us, agent->looked_us) < AGENT_LOOK_MS * 1000LL)
                return;
        agent->looked_us = now_us;
        usage_look(agent->agents->daemon->usage, agent->hosted);
}
