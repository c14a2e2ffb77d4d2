#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Docket: a folder of the daemon's home with one ledger, and a table that says what its lines say. Nothing enters the table another way: a line is
 * kept first, and taken then. The folder is made, and the ledger opened, when the first line is to be kept, or at the start if there is one;
 * calls that come before its lines are read wait for that. Lines of what is forgotten move to an archive when there are too many; the
 * archive before that goes.
 *
 *   NEW → OPENING → READY → CLOSING      FAILED: its lines cannot be read; without a folder it is NEW again, and the next line tries once more
 *
 * What lines mean, and what is remembered, is its owner's (core/attention, core/approval), in whose object it is embedded. Loop thread only.
 */
#include "core/call.h"
#include "core/ledger/follower.h"

typedef struct Docket Docket;

typedef enum DocketLife {
        DOCKET_NEW,
        DOCKET_OPENING,
        DOCKET_READY,
        DOCKET_FAILED,
        DOCKET_CLOSING
} DocketLife;

typedef struct DocketType {
        const char *name;       /* of its folder */
        const char *unreadable; /* what a call is told that cannot be served */
        size_t n_calls_max;     /* that wait until it is read; further ones are refused */
        uint64_t n_lines_max;   /* from so many on it is shortened */
        bool is_promise;        /* synced and with a chain, whatever is configured for other ledgers */
        bool (*classify)(Arena *arena, const Json *line, LedgerFacts *facts);
        void (*take)(Docket *docket, const Json *line, int64_t ts_us);
        void (*ready)(Docket *docket);    /* all lines are read */
        void (*remember)(Docket *docket); /* it is being shortened: docket_remember() for all that stays */
} DocketType;

struct Docket {
        const DocketType *type;
        Daemon *daemon;
        DocketLife life;
        char *path; /* of the ledger */

        char *folder, *state_path, *archive; /* private from here on */
        Ledger *ledger;
        bool is_open; /* the ledger is; while it is opened it cannot be closed */
        bool holds;   /* the stop of the daemon, until the ledger is closed */
        LedgerFollower lines;
        int r;                         /* of the worker */
        LIST_HEAD(, DocketCall) calls; /* that wait for it */
        size_t n_calls;
        uint64_t *positions, n_positions; /* while it is shortened: of lines that go */
        bool *stays, is_shortening;
};

/* A line on its way. */
typedef struct DocketLine DocketLine;
typedef void (*DocketKeptFn)(DocketLine *line, int r);
struct DocketLine {
        Docket *docket;
        LedgerChange change;
        DocketKeptFn done;
        void *user;
        char id[32]; /* of what it is about, if its owner has said so */
};

/* Of a cleared object; opens what is there already, so all else of the owner is ready. On failure docket_deinit() is still to be called. */
int docket_init(Docket *docket, const DocketType *type, Daemon *daemon);
int docket_open(Docket *docket); /* of one that is NEW; ready() follows */
void docket_stop(Docket *docket);
void docket_deinit(Docket *docket);

/* Runs then() now, or when its lines are read; refuses where they cannot be. One that is NEW has none. */
int docket_call(Docket *docket, Call *call, CallThenFn then, const Carry *carry);

/* The members that every line has: v, id, ts, kind. The caller writes its own, and ends it. */
int docket_line_begin(const Docket *docket, JsonWriter *w, const char *kind);
int docket_line_end(JsonWriter *w, Buf *out);
/* 0: done() (NULL: nobody waits) follows once both lines (the second may be empty) are kept and taken. id: NULL: none. */
int docket_append(Docket *docket, Str first, Str second, const char *id, DocketKeptFn done, void *user);
bool docket_classify(const Json *line,
                     LedgerFacts *facts);      /* the same members, for classify(); false: it is no line */
void docket_remember(Docket *docket, Str tag); /* lines with this tag stay */
