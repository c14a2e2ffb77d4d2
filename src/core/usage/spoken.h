#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Spoken: what an agent program without a terminal says of tokens in its structured output, for one of which no transcript is read (docs/usage.md).
 *
 *   claude     a response is told while it comes, with little of its output; the `result` of a turn has all, subagents too
 *   codex      exec: a turn ends with the total of its thread; app-server: the total behind each response
 *   gemini     the end has the sums of this process, by model; with `json` it is one document
 *   opencode   each step by itself
 *
 * Whose form a line has is found out by protocol.h; which of it was known already is the business of usage-table.h. Lines are of unknown origin.
 * It blocks nowhere and knows no clock. Initialise with {0}; plain data.
 */
#include "core/usage/transcript.h"

enum {
        SPOKEN_OPEN = 8,               /* responses of which more may be told while others are, too */
        SPOKEN_DOCUMENT_MAX = 1 << 20, /* bytes; of a longer output nothing is read as one document */
};

typedef enum SpokenForm {
        SPOKEN_NONE,
        SPOKEN_CLAUDE,
        SPOKEN_CODEX,
        SPOKEN_SERVER, /* Codex' app-server */
        SPOKEN_GEMINI,
        SPOKEN_OPENCODE
} SpokenForm;

typedef struct SpokenResponse {
        uint64_t id; /* a hash */
        UsageTokens tokens;
} SpokenResponse;

typedef struct Spoken {
        char model[TRANSCRIPT_ID_MAX]; /* of the response that came last */
        UsageTokens counted;           /* of the responses of the turn under way */
        SpokenResponse open[SPOKEN_OPEN];
        unsigned n_open;
        bool is_partial; /* of the turn under way not all lines came */
        bool has_said;   /* something of tokens */
} Spoken;

/* session: of this line, or of one before it; empty: not known. */
void spoken_line(Spoken *self, SpokenForm form, Str session, Str text, TranscriptFn fn, void *user);
void spoken_missed(Spoken *self); /* lines are lost */
/* All that a process has printed that has ended: what is told there is told once. */
void spoken_document(Spoken *self, Str text, TranscriptFn fn, void *user);
