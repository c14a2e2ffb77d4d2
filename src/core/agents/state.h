#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * AgentState: what an agent does, as far as its facts tell. Facts in, state out: pure, no clock, no files, no processes.
 *
 *   starting ──► idle ◄── turn ends ── working ── asks ──► waiting
 *                  └──── turn begins ────► ▲  ◄── answered, or the turn goes on ──┘
 *   working, idle ──► limited        any ──► error        any ──► ended, lost: by the kernel only
 *
 * Who says it counts (fact.h): what is said by somebody who is believed less does not change what was said by somebody who is
 * believed more and is younger than AGENT_FRESH_US; it is kept, and may raise doubt. Output alone changes only what nobody else
 * has told. A subagent never ends the turn. Facts of another session count only when the first one is over or idle.
 *
 * Doubt is no state. It says that the state may be wrong: nothing was heard for long, only bytes are known, or a daemon was away.
 */
#include "core/agents/fact.h"

typedef enum AgentStateKind {
        AGENT_IS_STARTING,
        AGENT_IS_IDLE,
        AGENT_IS_WORKING,
        AGENT_IS_WAITING,
        AGENT_IS_LIMITED,
        AGENT_IS_ERROR,
        AGENT_IS_ENDED,
        AGENT_IS_LOST,
        _AGENT_STATES,
} AgentStateKind;

enum { AGENT_FRESH_US = 60 * 1000000, AGENT_STALE_US = 120 * 1000000 };

typedef struct AgentState {
        uint8_t kind;         /* AgentStateKind */
        uint8_t source;       /* of the fact that decided, or confirmed it last */
        bool is_first;        /* nobody has told anything but that it started */
        bool is_restored;     /* what an earlier daemon knew, and nobody has said anything since */
        bool is_contradicted; /* by somebody who is believed less, since the last fact that counted */
        bool has_sub_asked;   /* waiting: it is a subagent that asks */
        uint32_t n_background;
        int64_t since_us; /* when it became this */
        int64_t at_us;    /* when it was last said */
        int64_t until_us; /* limited */
        int64_t said_us;  /* of the youngest fact that says when it happened */
        char runtime[AGENT_RUNTIME_MAX];
        char session[AGENT_ID_MAX], turn[AGENT_ID_MAX];
        char over[AGENT_ID_MAX]; /* the last turn that has ended, if it has an id */
        char tool[AGENT_ID_MAX]; /* that it uses, or asks for */
        char detail[AGENT_DETAIL_MAX];
} AgentState;

/* What else is known while somebody looks. */
typedef struct AgentEvidence {
        int64_t now_us;
        int64_t output_us; /* when it last printed something; 0: not known */
        int64_t input_us;  /* when somebody last typed at it; 0: not known */
} AgentEvidence;

const char *agent_state_name(AgentStateKind kind);
bool agent_state_from_name(Str name, AgentStateKind *ret);
/* is_run: it runs by itself, without a terminal: it works from its start on. */
void agent_state_init(AgentState *state, bool is_run, int64_t now_us);
/* Takes it in, and says so in fact->verdict. True: what is shown of the state is another. */
bool agent_state_take(AgentState *state, AgentFact *fact);
/* Why it may be wrong, in words; NULL: there is no reason. */
const char *agent_state_doubt(const AgentState *state, const AgentEvidence *evidence);
/* When there will be doubt if nothing is heard, printed or typed; 0: not by itself. */
int64_t agent_state_stale_us(const AgentState *state, int64_t output_us);

void agent_state_write(JsonWriter *w, const AgentState *state); /* as a file keeps it */
bool agent_state_read(const Json *json, AgentState *ret);
