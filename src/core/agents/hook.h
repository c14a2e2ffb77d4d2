#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Hooks of agent programs: what each tells of a moment, as its documentation has it (docs/agents.md), read as one fact. One table for
 * all: Codex has taken over the events of Claude Code, Gemini has its own names for the same moments, OpenCode tells its events.
 *
 * Pure functions over a parsed payload of unknown origin: a member that is missing or of another type is one that was not told.
 * Who may tell something of an agent is not decided here (agents.h).
 */
#include "core/agents/fact.h"
#include "core/runtimes.h"

enum { HOOK_PAYLOAD_MAX = 1 << 20 }; /* bytes that the hook program passes on */

/* event: as the hook's own command line says it; empty: the payload does. payload NULL: it was too long, or none came. False: no
 * event was named at all. One that is not in the table is AGENT_NOTED. */
bool hook_read(Str runtime, Str event, const Json *payload, int64_t now_us, AgentFact *ret);

/* Whether a hook of this program takes messages along, at the boundaries of a turn. */
bool hook_takes_mail(Str runtime);
/* What it is to print for that: behind `kind`, AGENT_STOPPED or AGENT_TURN. */
void hook_write_mail(JsonWriter *w, const AgentFact *fact, Str text);
/* What it is to print to refuse a tool, behind AGENT_TOOL. */
void hook_write_refusal(JsonWriter *w, const AgentFact *fact, Str why);
/* The events that a program of this name is asked to tell; ends with NULL. NULL: it has no hooks that are known here. */
const char *const *hook_events(Str runtime);
/* Whether the program waits for the hook to decide on a permission. */
bool hook_asks(const AgentFact *fact);
/* What it is to print then. note: for the agent; empty: none. */
void hook_write_decision(JsonWriter *w, bool is_allowed, Str note);
