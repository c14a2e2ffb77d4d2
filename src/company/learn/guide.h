#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Guide: the text of an agent's AGENTS.md, of which two sections are kept by programs: rules out of mistakes
 * that came back, and the index of what the agent works on. The rest is people's, and stays as it is. Pure
 * functions on texts.
 */
#include <stdint.h>

#include "base/buf.h"

/* What a guide begins as. */
int guide_begin(Buf *out, Str agent_id);
/* Whether there is a rule for this mistake, wherever it stands. */
bool guide_has_rule(Str text, Str key);
/* The text with the rule directly below its heading; the heading is added when it is missing. */
int guide_add_rule(Buf *out, Str text, Str key, Str rule, int64_t n_repeats);
/* The text with the heading that rules stand under, at its end if it is missing. */
int guide_add_heading(Buf *out, Str text);
/* The heading, and a rule as it is proposed to a person; the line has no newline. */
extern const char guide_mistakes_heading[];
int guide_propose_rule(Buf *out, Str key, Str rule, int64_t n_repeats, Str by);
/* The text with the index made of lines (whole, with their newlines) in the place of the one that it has. */
int guide_set_index(Buf *out, Str text, Str lines);
