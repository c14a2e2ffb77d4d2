#pragma once
/* SPDX-License-Identifier: MIT */
/* What usage-book.c (files, and whose they are), usage-follow.c (a reading) and usage-ledger.c (what is kept) share. */
#include "core/ledger/ledger.h"
#include "core/usage/transcript-file.h"
#include "core/usage/usage-book.h"

typedef enum UsageLife { USAGE_UNOPENED, USAGE_OPENING, USAGE_OPEN, USAGE_FAILED, USAGE_CLOSING } UsageLife;

typedef struct UsageFollow UsageFollow;
struct UsageFollow {
        UsageFollow *next;
        UsageBook *book;
        TranscriptFile file;
        char *runtime, *name, *account; /* account NULL: not found out yet */
        char process[17];
        char version[TRANSCRIPT_ID_MAX]; /* of the program */
        pid_t pid;
        bool is_due, is_reading, is_refused;
        bool is_output; /* what the process prints: its path is no file */
        Timer again;

        struct UsageBatch *told;  /* of an output: what came since the last reading; NULL: nothing */
        struct UsageBatch *batch; /* of the worker */
        char *found_account;
        Buf tail;
        uint64_t tail_at; /* the place in the file up to which it was told */
        int r;
};

typedef struct UsageWait { /* in the call's arena */
        struct UsageWait *next;
        Call *call;
        CallThenFn fn;
        const Carry *carry;
} UsageWait;

typedef struct UsageTurn UsageTurn; /* that is over */
struct UsageTurn {
        UsageTurn *next;
        char *name, *runtime;
        char process[17];
        int64_t begin_us, end_us;
};

struct UsageBook {
        Daemon *daemon;
        UsageLife life;
        char *folder, *path, *state_path, *archive, *users_prices;
        Ledger *ledger;
        UsageTable *table; /* NULL: not read yet */
        Prices prices;
        UsageFollow *follows;
        size_t n_follows, n_reading, n_under_way;
        UsageWait *waits; /* the youngest first */
        size_t n_waits;
        UsageTurn *turns; /* told before the ledger was read, the youngest first */
        size_t n_turns;
        bool is_halving;
        uint64_t *positions;
        UsageFiles files;
        UsageModel models[USAGE_MODELS_MAX];
        size_t n_models;
        Arena words; /* of the models */
        void (*changed)(Daemon *daemon);
        void (*tail)(Daemon *daemon, Str process, Str runtime, Str text);
        UsageLimitsFn limits;
        struct Budgets *budgets;
        char *prices_why; /* what is wrong with the user's prices */
        int r;            /* of the worker that opens */
};

/* What a worker has read, or an output has told. */
typedef struct UsageBatch {
        Arena arena;
        TranscriptItem *items;
        size_t n, n_room;
        bool is_out_of_memory;
} UsageBatch;

void usage_follow_run(UsageBook *book); /* starts what is due and may begin */
void usage_follow_free(UsageFollow *follow);
void usage_follow_told(UsageFollow *follow, const TranscriptItem *item);
void usage_book_opened(UsageBook *self); /* calls that waited go on */
void usage_ledger_open(UsageBook *self);
int usage_ledger_line(UsageBook *self, LedgerChange *change, const UsageRecord *record);
LedgerChange *usage_ledger_begin(UsageBook *self); /* NULL without memory, or a ledger */
void usage_ledger_commit(UsageBook *self, LedgerChange *change);
