#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * AgentFact: one thing that was heard of an agent: when, from whom, what. Facts are all that the state of an agent is made of
 * (state.h); where they come from is agents.h, and how a hook of an agent program becomes one is hook.h. A plain value: texts are
 * cut to fit, and hold no prompt, no answer and no argument of a tool.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/json/json-writer.h"
#include "base/str.h"

/* Who says it: each is believed before those above it. */
typedef enum AgentSource {
        AGENT_OUTPUT,     /* bytes that it prints, or does not */
        AGENT_SELF,       /* the agent itself, by fleet.report */
        AGENT_TRANSCRIPT, /* the file that its program keeps */
        AGENT_HOOK,       /* its program, by a hook */
        AGENT_PROTOCOL,   /* its program, by structured output */
        AGENT_OS,         /* the kernel: processes */
        _AGENT_SOURCES,
} AgentSource;

typedef enum AgentFactKind {
        AGENT_STARTED, /* os: it runs */
        AGENT_ADOPTED, /* os: it was found again by a daemon that knows what an earlier one knew */
        AGENT_ENDED,   /* os: it has ended, or did not start */
        AGENT_LOST,    /* os: nobody knows how it ended */
        AGENT_BEGAN,   /* a session of its program begins */
        AGENT_LEFT,    /* … ends */
        AGENT_TURN,    /* a turn begins: it works */
        AGENT_TOOL,    /* it uses a tool */
        AGENT_TOOL_DONE,
        AGENT_ASKS,    /* it waits for a person; detail says for what */
        AGENT_STOPPED, /* the turn has ended */
        AGENT_LIMITED, /* a limit of its account stops it */
        AGENT_FAILED,  /* an error ended the turn; detail is its code */
        AGENT_NOTED,   /* says nothing of its state, but that somebody is there */
        AGENT_PRINTS,  /* output: bytes came after a silence */
        AGENT_QUIET,   /* output: none for a while */
        _AGENT_FACT_KINDS,
} AgentFactKind;

/* What the machine made of it. */
typedef enum AgentVerdict {
        AGENT_DECIDED,   /* the state is another one because of it */
        AGENT_CONFIRMED, /* the state is the same, and younger */
        AGENT_WEAKER,    /* somebody who is believed more said something else, not long ago */
        AGENT_SUB,       /* of a subagent, which does not end a turn */
        AGENT_ANOTHER,   /* of another session in the same tree of processes */
        AGENT_LATE,      /* of a turn that is over */
        AGENT_HEARD,     /* kept, and nothing else */
        _AGENT_VERDICTS,
} AgentVerdict;

enum { AGENT_EVENT_MAX = 24, AGENT_ID_MAX = 48, AGENT_DETAIL_MAX = 96, AGENT_RUNTIME_MAX = 12 };

typedef struct AgentFact {
        int64_t at_us;         /* when it was heard */
        int64_t said_us;       /* when it happened, if who says it tells; 0: not told */
        int64_t until_us;      /* AGENT_LIMITED: when it ends; 0: not known */
        uint32_t n_background; /* AGENT_STOPPED: what runs on behind it */
        uint8_t source, kind, verdict;
        bool is_sub;    /* of a subagent */
        bool is_switch; /* AGENT_BEGAN, AGENT_LEFT: the same program changes its session */
        char runtime[AGENT_RUNTIME_MAX];
        char event[AGENT_EVENT_MAX]; /* as its source calls it */
        char session[AGENT_ID_MAX], turn[AGENT_ID_MAX];
        char tool[AGENT_ID_MAX];
        char detail[AGENT_DETAIL_MAX]; /* AGENT_ASKS: permission, question, plan, … */
} AgentFact;

const char *agent_source_name(AgentSource source);
bool agent_source_from_name(Str name, AgentSource *ret);
const char *agent_fact_kind_name(AgentFactKind kind);
bool agent_fact_kind_from_name(Str name, AgentFactKind *ret);
const char *agent_verdict_name(AgentVerdict verdict);
bool agent_verdict_from_name(Str name, AgentVerdict *ret);

/* Copies as much as fits, without half characters; what is no text for a terminal becomes '?'. */
void agent_text(char *to, size_t n, Str text);
#define agent_put(to, text) agent_text(to, sizeof(to), text)

void agent_fact_write(JsonWriter *w, const AgentFact *fact, int64_t now_us);
/* As agent_fact_write() has written it, perhaps by another version; false: it is none. */
bool agent_fact_read(const Json *json, AgentFact *ret);
