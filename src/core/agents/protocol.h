#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * AgentProtocol: what an agent program without a terminal prints in its structured form, line by line, read as facts (docs/agents.md):
 *
 *   claude     -p --output-format stream-json: system, assistant, user, result, rate_limit_event, control_request
 *   codex      exec --json: thread.started, turn.completed and the like; app-server: turn/completed, thread/status/changed and the like
 *   gemini     --output-format stream-json: init, message, tool_use, tool_result, result
 *   opencode   run --format json: step_start, tool_use, step_finish, error
 *
 * Each line says by its own members whose form it is, so a daemon that comes in the midst of a run reads on. What is no such line tells
 * nothing. Lines are of unknown origin, and skimmed: only the few members that count are looked at. What they say of tokens is spoken.h. It
 * blocks nowhere and knows no clock; its memory is one line (USAGE_LINE_MAX). Owned by the Agent. Initialise with {0}.
 */
#include "core/agents/fact.h"
#include "core/usage/spoken.h"
#include "core/usage/usage-meter.h"

/* Who is told; used may be NULL. */
typedef struct ProtocolTold {
        void (*fact)(void *user, AgentFact *fact);
        TranscriptFn used;
        void *user;
} ProtocolTold;

typedef struct AgentProtocol {
        UsageLines lines;
        const char *runtime;        /* of the line that came last; NULL: none has come */
        char session[AGENT_ID_MAX]; /* of lines that do not name it */
        bool is_limited;            /* a limit was told, and no turn since */
        AgentFact last;             /* that was told: the same again is not */
        Spoken spoken;
} AgentProtocol;

/* Of its stdout, as it comes; who is told is told within this call. */
void protocol_feed(AgentProtocol *self, Str piece, int64_t now_us, const ProtocolTold *told);
void protocol_missed(AgentProtocol *self); /* between what was fed and what comes something is lost */
/* It has ended: what is left is a line, too; output: all that it has printed, for what is no line. */
void protocol_end(AgentProtocol *self, Str output, int64_t now_us, const ProtocolTold *told);
/* One line; false: it tells nothing of what the agent does. */
bool protocol_line(AgentProtocol *self, Str line, int64_t now_us, const ProtocolTold *told, AgentFact *ret);
void protocol_deinit(AgentProtocol *self);
