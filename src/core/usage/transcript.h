#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Transcript: what the file that an agent program keeps of a session says of tokens, line by line, as each program writes it (docs/usage.md).
 *
 *   claude   several lines for one response, with the same message.id: usage repeated, output growing
 *   codex    token_count events: running totals of a thread; a fork begins with the lines of its parent
 *   gemini   one message a line, or the whole session as one document
 *
 * Here only what is said; which of it was known already is the business of usage-table.h. Pure, and for any thread: nothing but the reader's
 * own state. Lines are of unknown origin: what does not fit is counted and passed over.
 */
#include "base/arena.h"
#include "base/str.h"

enum {
        TRANSCRIPT_LINE_MAX = 16 << 20, /* bytes; a longer line, or document, is passed over */
        TRANSCRIPT_ID_MAX = 128,        /* of an id, a model, a session; a longer one counts as none */
};

typedef enum TranscriptForm {
        TRANSCRIPT_NONE,
        TRANSCRIPT_CLAUDE,
        TRANSCRIPT_CODEX,
        TRANSCRIPT_GEMINI
} TranscriptForm;

#define USAGE_SUM_MAX (INT64_C(1) << 60) /* tokens: sums stop there, whoever says so much */

/* in: neither read from a cache nor written into one; out: with reasoning, which is a part of it. None that is read is above 2^53. */
typedef struct UsageTokens {
        int64_t in, cached, cache_write, out, reasoning;
} UsageTokens;

int64_t usage_tokens_sum(const UsageTokens *tokens); /* all but reasoning, which out has */
UsageTokens usage_tokens_minus(const UsageTokens *a, const UsageTokens *b);
void usage_tokens_add(UsageTokens *to, const UsageTokens *more);

/* What a program says of a limit of its account (codex). */
typedef struct TranscriptLimit {
        double used_percent;
        int64_t window_minutes; /* 0: not said */
        int64_t resets_us;      /* 0: not said */
} TranscriptLimit;
enum { TRANSCRIPT_LIMITS_MAX = 2 };

/* Texts are good until the function that gets it returns. One with limits may have no tokens and no id. */
typedef struct TranscriptItem {
        bool is_total;      /* tokens are those of the whole thread until now */
        bool is_session;    /* … of this model in the whole session, and all of all its models */
        bool is_of_process; /* the id is unique among what one process says */
        int64_t at_us;      /* 0: not said */
        UsageTokens tokens;
        /* Of a total: what the last request added. Of a session: what is new if its program has begun to count anew. */
        UsageTokens last;
        bool has_last;
        /* Of a session: of all its models; of this one and of all before this turn; what responses of this turn have told already. */
        UsageTokens all, before, all_before, all_counted;
        bool has_before;
        double cost_usd; /* as the program says it; negative: it does not */
        Str id; /* of the response, the session, or the thread (of a fork: the one that it began with) */
        Str model, session;
        TranscriptLimit limits[TRANSCRIPT_LIMITS_MAX];
        unsigned n_limits;
} TranscriptItem;

typedef void (*TranscriptFn)(void *user, const TranscriptItem *item);

/* One file, as far as it was read. Initialise with {.form = …}; plain data. */
typedef struct Transcript {
        TranscriptForm form;
        char model[TRANSCRIPT_ID_MAX], session[TRANSCRIPT_ID_MAX], thread[TRANSCRIPT_ID_MAX];
        char version[TRANSCRIPT_ID_MAX]; /* of the program that wrote it (claude); "": not said */
        uint64_t n_wrong;                /* lines that should have counted, and could not be read */
} Transcript;

TranscriptForm transcript_form(Str runtime); /* TRANSCRIPT_NONE: none that is known here */
/* A line, without its newline. scratch: reset by this. */
void transcript_line(Transcript *self, Str line, Arena *scratch, TranscriptFn fn, void *user);
/* The same of a session that is one document (gemini). */
void transcript_document(Transcript *self, Str text, Arena *scratch, TranscriptFn fn, void *user);
