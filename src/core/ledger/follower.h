#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * LedgerFollower: is given every line of a ledger once, in order, from a position on.
 *
 * A follower that stands at the end gets new lines in the turn in which they were kept. The daemon's own lines
 * come from memory: they are not read back from the file, and several followers share one parsed tree. Lines of
 * other programs, and those of a follower that is behind, are read from the file, one batch per turn, from the
 * page cache or by a worker. When lines are taken out of the ledger, the position moves with them.
 *
 * A follower is embedded in an object of its owner, who stops it before that object or the ledger goes; a read
 * that is under way then ends by itself. Loop thread only.
 */
#include <sys/queue.h>

#include "core/ledger/ledger.h"

enum {
        FOLLOWER_LINES = 64,         /* of one batch and turn, for followers that keep up */
        FOLLOWER_BYTES = 256 * 1024, /* the first line of a batch may be longer */
        FOLLOWER_LINES_MAX = 512,    /* that a type may ask for in one batch */
        FOLLOWER_SCAN = 4096,        /* lines that are passed over in one turn */
};

typedef struct LedgerFollower LedgerFollower;

/* A line on its way to followers; good until take() returns. */
typedef struct LedgerLine {
        uint64_t position;
        LedgerEntry entry;
        Str text;    /* empty: it cannot be read, or is longer than the follower takes */
        bool is_own; /* the text is what was kept. Otherwise it comes from a file that others can write */

        Arena arena; /* private */
        Json *json;
        bool is_parsed;
} LedgerLine;
/* The tree, made once. NULL: the text is empty or, by now, no JSON object in one line. */
const Json *ledger_line_json(LedgerLine *line);
bool ledger_line_is_whole(LedgerLine *line); /* the text can be passed on as it is */

/* Members may be NULL, except take(). Only caught_up(), failed() and rewritten() may stop their follower. */
typedef struct LedgerFollowerType {
        size_t n_lines, n_bytes; /* of a batch from the file */
        uint32_t n_line_max;     /* longer lines are given without their text; 0: all have it */
        bool is_early;           /* own lines are given before done() of their change, otherwise behind it */
        bool (*is_ready)(const LedgerFollower *follower); /* false: it waits for follower_go_on() */
        /* False: the line is passed over. Says the same of the same line each time. */
        bool (*wants)(const LedgerFollower *follower, const LedgerEntry *entry);
        void (*take)(LedgerFollower *follower,
                     LedgerLine *line);              /* its position is behind the line already */
        void (*taken)(LedgerFollower *follower);     /* after the lines of a turn */
        void (*caught_up)(LedgerFollower *follower); /* it was told to go on, and there is nothing */
        /* Lines cannot be read. True: they are given without their text; false: it stays where it is until
         * the next commit, or follower_go_on(). */
        bool (*failed)(LedgerFollower *follower, int r);
        void (*rewritten)(LedgerFollower *follower, uint64_t n_gone); /* the position has moved already */
} LedgerFollowerType;

struct LedgerFollower {
        const LedgerFollowerType *type; /* NULL: it follows nothing */
        Ledger *ledger;
        uint64_t position; /* of the next line; the owner may set it while nothing is read */
        bool is_paused;    /* by the owner, until it calls follower_go_on() */

        LIST_ENTRY(LedgerFollower) entry; /* private */
        struct FollowerRead *read;        /* under way; NULL: none */
        bool has_moved;                   /* in this turn */
        Deferred more;
};

/* It gets new lines from now on; older ones after follower_go_on(). */
void follower_start(LedgerFollower *follower, const LedgerFollowerType *type, Ledger *ledger,
                    uint64_t position);
void follower_stop(LedgerFollower *follower);  /* also one that follows nothing */
void follower_go_on(LedgerFollower *follower); /* later in this turn; ends a pause */
bool follower_is_behind(const LedgerFollower *follower);

/* For the ledger. */
typedef LIST_HEAD(FollowerList, LedgerFollower) FollowerList;
/* Lines that were just kept: `bytes` stand in the file from `start` on and hold the lines from position `first`
 * on. Followers that this does not reach read the file. */
void followers_tell(Ledger *ledger, bool is_early, uint64_t first, Str bytes, uint64_t start);
void followers_rewritten(Ledger *ledger, uint64_t n_gone);
