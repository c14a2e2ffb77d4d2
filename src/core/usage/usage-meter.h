#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * UsageMeter: what one program has used, read from its outputs while they arrive in pieces, line by line.
 * Each count and each sign of a compacted context is told once; the largest count is the program's.
 *
 *   usage_meter_feed(&meter, USAGE_STDOUT, piece, &told);      // as often as something comes
 *   usage_meter_end(&meter, &told);                            // a last line without its newline
 *   if (!usage_meter_best(&meter, &count))
 *           usage_estimate(n_input_units, usage_meter_units(&meter), &count);
 *
 * Somebody who comes later (a daemon that was started again) feeds what was kept of the outputs first, with
 * told = NULL, and goes on from there: the same things are known then, and none is told twice.
 *
 * Its memory is bounded whatever the program prints. It blocks nowhere and knows no thread; owned by whoever
 * embeds it. Initialise with {0}.
 */
#include "core/usage/usage.h"

enum {
        USAGE_LINE_MAX = 1 << 20,   /* bytes; a longer line is passed over */
        USAGE_VALUES_MAX = 1 << 16, /* of JSON in a line; the same */
        USAGE_COUNTS_MAX = 1024, /* different ones that are told; of later ones the largest still counts */
        USAGE_CYCLES_MAX = 256,  /* different ones that are told and summed up */
};

/* ---- lines ----------------------------------------------------------------------------------- */

/* A stream in pieces as lines of JSON; one that has neither a brace nor a bracket is passed over. Initialise with {0}. */
typedef struct UsageLines {
        Buf rest; /* of a line whose end has not come */
        bool is_skipping;
        uint64_t n_skipped; /* lines that were too long */
} UsageLines;

/* The line has no newline, is not empty, and good until the function returns: it may lie in the piece
 * itself. */
typedef void (*UsageLineFn)(void *user, Str line);
/* 0, or -ENOMEM: the line under way is passed over then, and nothing else is lost. */
int usage_lines_feed(UsageLines *lines, Str piece, UsageLineFn line, void *user);
void usage_lines_end(UsageLines *lines, UsageLineFn line, void *user); /* what is left is a line, too */
void usage_lines_deinit(UsageLines *lines);

/* ---- the meter ------------------------------------------------------------------------------- */

typedef enum UsageStream { USAGE_STDOUT, USAGE_STDERR, USAGE_N_STREAMS } UsageStream;
typedef enum UsageSource { USAGE_LINE, USAGE_NOTIFICATION } UsageSource;

typedef struct UsageSeen UsageSeen;
struct UsageSeen { /* a sign that was told */
        UsageSeen *next;
        UsageSource source;
        UsageCycle cycle;
};

/* Of a line first its signs, then its counts; each may be NULL. What they get is good until they return. */
typedef struct UsageTold {
        void (*cycle)(void *user, UsageSource source, const UsageCycle *cycle);
        void (*count)(void *user, const UsageCount *count);
        void *user;
} UsageTold;

typedef struct UsageMeter {
        UsageSeen *cycles; /* in the order in which they were found */
        int64_t n_cycles;  /* sum of what they count */

        UsageCount best; /* private from here on */
        bool has_best;
        size_t n_best_from;
        char best_from[USAGE_NAME_MAX];
        UsageLines lines[USAGE_N_STREAMS];
        UsageUnits units[USAGE_N_STREAMS];
        Arena scratch, kept; /* a line's tree; the signs */
        Buf mended;          /* a line that was no UTF-8 */
        UsageSeen **last;
        unsigned n_seen, n_counts;
        uint64_t *counts; /* fingerprints of those that were told */
        const UsageTold *told;
        UsageSource source;
} UsageMeter;

/* 0, or -ENOMEM: a line may be missing from it then. told: NULL: nobody. */
int usage_meter_feed(UsageMeter *meter, UsageStream stream, Str piece, const UsageTold *told);
/* What is read as a protocol: only its length counts. */
void usage_meter_pass(UsageMeter *meter, UsageStream stream, Str piece);
void usage_meter_end(UsageMeter *meter, const UsageTold *told);
/* A message that was parsed already: for programs whose lines are a protocol. Its counts: only by
 * usage_meter_count(). */
void usage_meter_notice(UsageMeter *meter, const Json *message, const UsageTold *told);
void usage_meter_count(UsageMeter *meter, const UsageCount *count, const UsageTold *told);
/* The largest total, of those the first; false: there was none. Its text lies in the meter. */
bool usage_meter_best(const UsageMeter *meter, UsageCount *ret);
/* UTF-16 units of all outputs, for an estimate. */
int64_t usage_meter_units(const UsageMeter *meter);
void usage_meter_deinit(UsageMeter *meter);
