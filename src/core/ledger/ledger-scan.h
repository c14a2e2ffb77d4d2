#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Scan: reads a stretch of a ledger file line by line and describes each event as a Record. For workers and
 * the offline tools; knows nothing of the loop. Lines that are not events are passed over and remembered as
 * damage, by offset.
 */
#include "core/ledger/ledger-index.h"

enum { SCAN_DAMAGE_MAX = 64 };

typedef struct ScanDamage {
        uint64_t offset, n_bytes; /* neighbours are joined */
        uint64_t n_lines;
        bool is_binary; /* NULs or other bytes that no text has */
} ScanDamage;

typedef struct Scan {
        int fd;
        uint64_t at;  /* from here; afterwards: behind the last whole line */
        uint64_t end; /* to here */
        const Index *index;
        LedgerClassifyFn classify; /* NULL: lines are only counted, and given to line() */

        Buf records;                           /* what was found and not taken yet */
        int (*take)(void *user, Buf *records); /* after every block, may be NULL: they all stay in records */
        /* Every line with its newline, may be NULL. One that is longer than LEDGER_LINE_MAX comes in pieces.
         */
        int (*line)(void *user, Str piece, uint64_t offset, bool is_end);
        void *user;
        bool wants_holes; /* line() gets every byte of a sparse file; otherwise long holes are left out of a line's pieces */

        uint64_t taken_at, taken_damaged; /* at take(): how far its records go, and n_damaged there */
        uint64_t n_lines, n_events;
        uint64_t n_damaged;
        ScanDamage damage[SCAN_DAMAGE_MAX]; /* the first ones */
        size_t n_damage;
        bool is_tail_event; /* the bytes behind `at` are a whole event that lacks its newline */

        Arena arena; /* private from here */
        Buf block;
        uint64_t n_skipped; /* bytes of a line that is too long, given away already */
} Scan;

int scan_run(Scan *scan); /* `at`, `end`, `fd`, … set; the rest zero */
int scan_run_ahead(
        Scan *scan); /* the same with take() and without line(), on two threads; take() in this one */
void scan_deinit(Scan *scan);
