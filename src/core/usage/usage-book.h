#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * UsageBook: what agents use, as their own transcripts, or their structured output, tell it: which files are read, for whom, and what is kept of it.
 *
 *   agent.fact ──► usage_heard(): the file that a hook names ──► worker: what is new in it ──► table (usage-table.h) ──► ledger
 *   its stdout ──► usage_told(): structured output of one that names none (spoken.h) ──────┘
 *
 * A file counts for the hosted process in whose tree the hook ran, never for another: one that a living agent has named is not read for
 * somebody else. It is read when a hook comes, once more a moment later, and when the process ends; nothing is watched. The ledger is
 * <home>/usage/ledger.jsonl, synced at interval, a line for each response; what is told again has the same key and changes nothing, also
 * after a restart. Opened when there is something, or something comes. Owned by the Daemon; loop thread only.
 */
#include "core/host/host.h"
#include "core/usage/prices.h"
#include "core/usage/usage-table.h"

enum {
        USAGE_FILES_MAX =
                1000, /* that are followed; then one of an agent that has ended is given up, else none is added */
        USAGE_READERS_MAX = 2,     /* at a time, on workers */
        USAGE_AGAIN_MS = 2000,     /* after the last hook of a file it is looked at once more */
        USAGE_LINES_KEPT = 200000, /* of the ledger; then the older half moves to its archive */
        USAGE_CALLS_MAX = 256,     /* that wait until the ledger is read; another is refused */
        USAGE_TURNS_MAX = 256,     /* that wait until the ledger is read; another is not counted */
        USAGE_MODELS_MAX = 64,     /* that the metrics tell apart; the others are one */
};

typedef struct UsageBook UsageBook;

/* Tokens since the daemon began, for metrics. */
typedef struct UsageModel {
        Str runtime, model; /* model "other": all that are not told apart */
        UsageTokens tokens;
} UsageModel;

typedef struct UsageFiles {
        uint64_t n_followed, n_refused, n_skipped, n_wrong;
} UsageFiles;

int usage_book_new(UsageBook **ret, Daemon *daemon); /* blocks: looks whether something is kept */
void usage_book_stop(UsageBook *self); /* NULL: fine. A stop waits until what was told is kept */
UsageBook *usage_book_free(UsageBook *self);
/* Told the last lines of a transcript when it was read to its end; process: the id of whose it is. */
void usage_book_on_tail(UsageBook *self, void (*tail)(Daemon *daemon, Str process, Str runtime, Str text));
void usage_book_on_change(UsageBook *self, void (*changed)(Daemon *daemon));

/* Told what a transcript says of limits; one function. */
typedef void (*UsageLimitsFn)(Daemon *daemon, const char *process, Str account, const TranscriptItem *item);
void usage_book_on_limits(UsageBook *self, UsageLimitsFn limits);

/* A hook of this process names a transcript; path: as it says it, of unknown origin. */
void usage_heard(UsageBook *self, Hosted *hosted, Str runtime, Str path);
/* What it prints tells of tokens; item as in spoken.h. What is known already changes nothing. */
void usage_told(UsageBook *self, Hosted *hosted, Str runtime, const TranscriptItem *item);
/* Its transcripts are read on; nothing new in them: nothing happens. NULL: fine. */
void usage_look(UsageBook *self, const Hosted *hosted);
/* A turn of it is over. */
void usage_turn(UsageBook *self, Hosted *hosted, Str runtime, int64_t begin_us, int64_t end_us);
void usage_ended(UsageBook *self, const Hosted *hosted); /* what its files say in the end still counts */

/* Runs fn once it is known what was kept: at once, or in a later turn. As a handler returns. */
int usage_book_call(Call *call, CallThenFn fn, const Carry *carry);
/* NULL while it is being read. */
const UsageTable *usage_book_table(const UsageBook *self);
bool usage_book_is_idle(const UsageBook *self);            /* nothing that was named is still to be read */
struct Budgets *usage_book_budgets(const UsageBook *self); /* NULL: there is no book, or none yet */
/* Of the process, as far as a transcript of it was read; empty: not known. */
Str usage_book_account(const UsageBook *self, const char *process);
/* Of its program, as its transcript says it; empty: not known. */
Str usage_book_version(const UsageBook *self, const char *process);
UsageFiles usage_book_files(const UsageBook *self);
const UsageModel *usage_book_models(const UsageBook *self, size_t *ret_n);
