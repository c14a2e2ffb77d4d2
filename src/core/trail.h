#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Trail: an append-only file of JSON lines whose chain stands inside the lines.
 *
 * The last two members of an event are prev_event_hash (the event_hash of the event before, null for the
 * first) and event_hash, SHA-256 of the line without that member. A trail is no ledger: it has no lock, no
 * index and no folder of its own; there are thousands of them. Other programs append without asking, and
 * may die in the middle: a torn line stays where it is, whatever is glued to it, and every reader passes over
 * it. Lines are counted from 1 on, blank ones are not counted.
 *
 * Functions, no object: for workers. Who appends is the business of core/store/store.h.
 */
#include "base/json/json.h"
#include "base/sha256.h"

enum {
        TRAIL_LINE_MAX = 16 * 1024 * 1024, /* longer ones are passed over as what does not parse */
        TRAIL_SEAL_MAX = 192,              /* bytes that sealing adds to a body, at most */
        TRAIL_RAW_MAX = 64 * 1024,         /* so much is shown of a line that does not parse */
};

/* What a writer has to know of the lines that are there. All zero: nothing has been read yet. */
typedef struct TrailTail {
        uint64_t end;              /* bytes that were read */
        uint64_t n_lines;          /* that are not blank: number of the last one */
        char hash[SHA256_HEX_MAX]; /* of the last event that has one; "": none has */
        bool is_torn;              /* bytes without a newline are last */
        bool is_counted;           /* private: they are not blank */
} TrailTail;
/* Reads what has come since, up to `size`. A file that is another one, or shorter, needs a new tail. */
int trail_tail(int fd, uint64_t size, TrailTail *tail);
/* The same for bytes that are known. */
int trail_tail_take(TrailTail *tail, Str bytes);
/* The same for a line that trail_seal() has made, with the hash that it gave. */
void trail_tail_seal(TrailTail *tail, Str line, const char hash[SHA256_HEX_MAX]);

/* Appends a whole line to out: `body` is an object in canonical form without the two members; prev "" or NULL is
 * the first one's. ret gets the event's own hash. */
int trail_seal(Buf *out, Str body, const char *prev, char ret[SHA256_HEX_MAX]);
/* Of a sealed line, what was its body but for the last brace; of anything else, nothing. */
Str trail_body(Str line);

typedef struct TrailLine {
        uint64_t seq;
        uint64_t offset;
        Str raw;           /* without white space around it; cut to TRAIL_RAW_MAX when it is too long */
        const Json *json;  /* NULL: it does not parse. Good until the callback returns */
        const char *error; /* then: why, in words */
} TrailLine;
typedef struct TrailScan {
        int fd;
        uint64_t start, end; /* bytes to look at: from the beginning of a line on */
        int (*line)(void *user, const TrailLine *line);
        void *user;

        uint64_t n_lines, n_events; /* afterwards: that are not blank; that parse */
        Arena arena;                /* private from here */
        bool is_inside;
} TrailScan;
/* line() for every line that is not blank, also for a last one without newline, until it returns no 0. */
int trail_scan(TrailScan *scan);

/* What is wrong with one event; in the order of the contract. */
typedef enum TrailFault {
        TRAIL_INVALID_SHAPE,
        TRAIL_MISSING_KEY,
        TRAIL_INVALID_SCHEMA_VERSION,
        TRAIL_INVALID_PREV_HASH_TYPE,
        TRAIL_INVALID_EVENT_HASH,
        TRAIL_EVENT_HASH_MISMATCH,
        TRAIL_FIRST_PREV_HASH_NON_NULL,
        TRAIL_PREV_HASH_CHAIN_MISMATCH,
} TrailFault;
const char *trail_fault_name(TrailFault fault); /* as the contract has it: invalid_shape … */

typedef struct TrailIssue {
        uint64_t seq; /* of parsed events, from 1 */
        TrailFault fault;
        const char *key; /* of TRAIL_MISSING_KEY, else NULL */
} TrailIssue;
enum { TRAIL_KEYS = 14 }; /* that every event has */
typedef struct TrailCheck {
        int (*issue)(void *user, const TrailIssue *issue); /* may be NULL */
        void *user;
        uint64_t n_events, n_issues;
        char hash[SHA256_HEX_MAX]; /* private from here */
        Buf text;
        uint8_t order[TRAIL_KEYS]; /* of the members of the last line */
} TrailCheck;
/* The next event that parses, in order. One pass: its line is hashed as it stands where it is in canonical form. */
int trail_check(TrailCheck *check, const TrailLine *line);
void trail_check_deinit(TrailCheck *check);

typedef struct TrailReport {
        uint64_t n_bytes, n_lines, n_events, n_damaged; /* damaged: lines that do not parse */
        uint64_t n_issues;
        bool is_torn;
        TrailIssue first; /* when there is one */
} TrailReport;
int trail_verify(int fd, uint64_t size, TrailReport *ret);
