#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * UsageTable: what is known of tokens, one entry for each response, in memory, with sums made when somebody asks.
 *
 * Each entry has a key, by which what is told again is known: the same key of the same agent counts once, with the largest output; of another
 * agent of that account it counts for nobody. Running totals of a thread, and of a session, become differences here. When there are USAGE_ENTRIES_MAX the older
 * half is dropped. Knows no files and no clock; made by a worker from what is kept, then owned by the UsageBook (usage-book.h).
 */
#include "base/arena.h"
#include "base/siphash.h"
#include "core/usage/transcript.h"

enum {
        USAGE_ENTRIES_MAX = 100000,
        USAGE_THREADS_MAX = 60000, /* threads, sessions and their models of which the total is remembered */
        USAGE_ROWS_MAX = 1000,     /* of a report */
};

typedef enum UsageBasis { USAGE_UNPRICED, USAGE_REPORTED, USAGE_PRICED } UsageBasis;
const char *usage_basis_name(UsageBasis basis);

/* A line of the ledger. */
typedef struct UsageRecord {
        int64_t ts_us;
        Str name, account, runtime, model, session, process, key;
        UsageTokens tokens;
        double cost_usd; /* of USAGE_UNPRICED: 0 */
        UsageBasis basis;
        bool is_output;   /* it was printed, and stands in no transcript that is read */
        uint32_t n_turns; /* 1: it is a turn that has ended, and no response */
        int64_t n_ms;     /* … which took so long */
} UsageRecord;

typedef struct UsageTable UsageTable;

int usage_table_new(UsageTable **ret);
UsageTable *usage_table_free(UsageTable *table);

typedef enum UsageTaken {
        USAGE_NEW,
        USAGE_MORE,    /* the same response, with more output */
        USAGE_KNOWN,   /* nothing of it is new */
        USAGE_ANOTHERS /* another agent has told it before */
} UsageTaken;

/* record->key is copied nowhere but into a hash. *ret_more: by how many tokens there are more now. 0 or -ENOMEM. */
int usage_table_take(UsageTable *table, const UsageRecord *record, UsageTaken *ret, UsageTokens *ret_more);
/* The same of what a thread has used until now: record->tokens become what is new of it. last: of the last request; NULL: not said. */
int usage_table_differ(UsageTable *table, UsageRecord *record, Str thread, const UsageTokens *last,
                       bool *ret_is_new);
/* The same of what a session has used until now (item->is_session): what is known of it, from whatever source, is taken off. False: nothing
 * of it is new. */
bool usage_table_rest(UsageTable *table, UsageRecord *record, const TranscriptItem *item);
/* Whether structured output has told a total of the record's session since then: what its transcript says of that time is in it. */
bool usage_table_is_told(const UsageTable *table, const UsageRecord *record);
/* A line that was kept: of a thread its total is remembered, too. */
int usage_table_restore(UsageTable *table, const UsageRecord *record);
size_t usage_table_n(const UsageTable *table);

/* ---- sums ------------------------------------------------------------------------------------ */

typedef struct UsageSum {
        UsageTokens tokens;
        uint64_t n_responses, n_turns;
        int64_t n_ms; /* of turns */
        double reported_usd, priced_usd;
        uint64_t n_reported, n_priced; /* responses */
        int64_t n_unpriced;            /* tokens */
} UsageSum;

typedef enum UsageBy {
        USAGE_BY_NAME,
        USAGE_BY_GROUP,
        USAGE_BY_PROJECT,
        USAGE_BY_ACCOUNT,
        USAGE_BY_RUNTIME,
        USAGE_BY_MODEL,
        USAGE_BY_SESSION,
        USAGE_BY_DAY,
        USAGE_BY_HOUR,
        _USAGE_BYS
} UsageBy;

typedef struct UsageQuestion {
        UsageBy by;
        int64_t since_us, until_us; /* until: not itself; 0: no end */
        Str name;                   /* empty: all */
} UsageQuestion;

typedef struct UsageRow {
        Str key; /* good as long as the table is not changed */
        int64_t at_us;
        UsageSum sum;
} UsageRow;

typedef struct UsageAnswer {
        UsageRow *rows; /* most tokens first; of times in their order. free() */
        size_t n;
        bool is_cut;
        UsageSum total;
} UsageAnswer;

/* Every entry from since_us on, in no order; the record is good until the function returns, and has no key. */
typedef void (*UsageEachFn)(void *user, const UsageRecord *record);
void usage_table_each(const UsageTable *table, int64_t since_us, UsageEachFn fn, void *user);
/* 0 or -ENOMEM. */
int usage_table_ask(const UsageTable *table, const UsageQuestion *question, UsageAnswer *ret);
/* What a name tells of where it belongs: the group of an actor, the project of a task; empty: to none. */
Str usage_group_of(Str name);
Str usage_project_of(Str name);
bool usage_by_from_name(Str name, UsageBy *ret);
