#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What the end of a transcript says of an agent: the youngest line that tells of a turn, read as a fact of source AGENT_TRANSCRIPT, whose said_us
 * is the time of that line. Of Claude Code and Codex; a message of Gemini does not say whether it is the last of its turn.
 *
 * A pure function over bytes of unknown origin. Which file, and when, is the business of core/usage/usage-book.h; what a file says of tokens of
 * core/usage/transcript.h.
 */
#include "core/agents/fact.h"

enum { TAIL_LINES_MAX = 64 }; /* that are looked at, from the last one on */

/* text: whole lines, but for the first, of which the beginning may be missing. False: none of them tells anything. */
bool tail_read(Str runtime, Str text, int64_t now_us, AgentFact *ret);
