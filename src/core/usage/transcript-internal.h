#pragma once
/* SPDX-License-Identifier: MIT */
/* How tokens are written, in transcripts (transcript.c) and in structured output (spoken.c). */
#include "base/json/json.h"
#include "core/usage/transcript.h"

/* A name, an id: visible ASCII, so that it can stand anywhere; empty: it is none. */
Str transcript_id(Str value);
void transcript_keep(char to[TRANSCRIPT_ID_MAX], Str text); /* text is such an id; empty: nothing changes */
const Json *transcript_object(Str value, Arena *scratch);   /* NULL: it is no object, or a long one */
int64_t transcript_count(const Json *object, const char *name); /* 0 where nothing is said */
double transcript_cost(Str value, Arena *scratch);              /* in USD; negative: it says none */
/* `usage` of a message of Claude's; false: it is none. */
bool transcript_claude_usage(Str usage, Arena *scratch, UsageTokens *ret);
/* input_tokens has what was read from the cache, output_tokens has reasoning. */
bool transcript_codex_tokens(const Json *counts, UsageTokens *ret);
