#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Agents: what everything hosted does, with who says so and how old that is (state.h). One Agent for each Hosted.
 *
 *   os          setup.c: every change of a hosted process, its adoption
 *   protocol    agents-heard.c: what a process without a terminal prints, if it is the structured output of an agent program
 *   hook        op agent.fact: of the hosted process in whose tree the caller is, never of another
 *   transcript  agents-heard.c: the end of the file that a hook has named, read again while hooks are silent
 *   self        op fleet.report
 *   output      agents.c: bytes that come or do not come, of a terminal of which nobody tells anything
 *
 * A change is an item of the feed (domain "agent", kind "state") and is written into <home>/agents/<id>.json in a later turn, without a
 * sync: a state is no promise. The next daemon says what was known, how old it is, and that it may have changed. Of a program of which
 * only the kernel tells anything no file is written: the next daemon hears the same. The last
 * AGENT_FACTS_MAX facts of each are kept for `muster explain`. Owned by the Daemon; loop thread only.
 */
#include "core/agents/protocol.h"
#include "core/agents/state.h"
#include "core/host/host.h"

enum {
        AGENT_FACTS_MAX = 50,
        AGENT_SILENT_MS = 10000, /* hooks that were expected and not heard by then are silent */
        AGENT_QUIET_MS = 5000,   /* a terminal that prints nothing for so long is quiet */
        AGENT_TICK_MS = 1000,
        AGENT_LOOK_MS =
                10000, /* of one that works, or waits, and tells nothing, the transcript is looked at so often */
        AGENT_PROLONGED_MAX =
                3,            /* times that messages prolong a turn in a row; Claude Code ends it after 8 */
        AGENT_KEEP_MS = 1000, /* what changes no state is written after so long */
        AGENT_FILE_MAX = 256 << 10, /* bytes of what is kept of one */
};

typedef enum AgentHooks {
        AGENT_HOOKS_NONE,
        AGENT_HOOKS_EXPECTED,
        AGENT_HOOKS_HEARD,
        AGENT_HOOKS_SILENT
} AgentHooks;

typedef struct Agents Agents;
typedef struct Agent Agent;

struct Agent {
        Agents *agents;
        Hosted *hosted;
        AgentState state;
        bool expects_hooks; /* it was started with them */
        bool has_heard;     /* … and one came */
        bool is_printing;   /* what the last fact about its output said */
        bool was_doubtful;  /* when it was last told */
        bool is_told_silent;
        int64_t still_us;   /* when the output came behind which it was told to be still; 0: it was not */
        int64_t turn_us;    /* when the turn began that was not counted yet; 0: none */
        int64_t counted_us; /* when the one began that was counted last */
        int64_t looked_us;  /* when its transcript was last looked at */
        AgentFact read;     /* what that has told last */
        AgentProtocol protocol;
        uint64_t heard;       /* the place in its output up to which that has read */
        bool is_refused;      /* a hook was answered with a refusal, and has not said that it took it */
        unsigned n_prolonged; /* how often its turn was prolonged by messages, one after the other */
        AgentFact *facts;     /* a ring: the oldest at n_facts % AGENT_FACTS_MAX once it is full */
        size_t n_facts, n_room;
        bool is_told_of; /* by others than the kernel */
        bool is_dirty, is_being_kept;
        Timer keep;
};

int agents_new(Agents **ret, Daemon *daemon); /* blocks: makes the folder */
Agents *agents_free(Agents *agents); /* after the host; what is not written yet is written now. Blocks */

/* A hosted process has another state, was found again (blocks: reads what was kept), or is forgotten. */
void agents_changed(Agents *agents, Hosted *hosted);
void agents_adopt(Agents *agents, Hosted *hosted);
void agents_gone(Agents *agents, Hosted *hosted);
void agents_adopted_all(
        Agents *agents); /* removes what is kept of those that are not there any more; blocks */

/* It has no terminal, and has printed something to its stdout. */
void agents_printed(Agents *agents, Hosted *hosted);
/* The end of its transcript; process: its id. One that is gone is passed over. */
void agents_read(Agents *agents, Str process, Str runtime, Str tail);

/* Takes a fact in, remembers it and tells of what it changes. fact->verdict is filled in. */
void agent_take(Agent *agent, AgentFact *fact);
/* A turn is counted when it has ended, however it did; behind agent_take(). */
void agent_count_turn(Agent *agent, const AgentFact *fact);
/* Told of every fact behind that; one function. */
void agents_on_fact(Agents *agents, void (*on_fact)(Agent *agent, const AgentFact *fact));
/* Told of a terminal that prints nothing for AGENT_QUIET_MS while its agent is said to work; once, until it prints again. One function. */
void agents_on_still(Agents *agents, void (*on_still)(Agent *agent));
/* It is limited, and it is known now until when; 0: it is not any more. */
void agent_limited_until(Agent *agent, int64_t until_us);
/* NULL: there is none, or no memory for it. */
Agent *agent_of(Hosted *hosted);

AgentHooks agent_hooks(const Agent *agent);
const char *agent_hooks_name(AgentHooks hooks);
/* Why it may be wrong; NULL: no reason. */
const char *agent_doubt(const Agent *agent);
const AgentFact *agent_fact_at(const Agent *agent, size_t i); /* 0: the oldest that is remembered */
size_t agent_n_facts(const Agent *agent);                     /* that are remembered */
/* The object `agent` of ps and its like. */
void agent_write(JsonWriter *w, const Agent *agent);

/* agents-keep.c */
void agent_keep(Agent *agent, bool is_urgent);
void agent_keep_now(Agent *agent); /* blocks */
bool agent_restore(Agent *agent);  /* blocks */
void agent_keep_remove(Agent *agent);
Daemon *agents_daemon(const Agents *agents);
