#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * A ledger looked at from outside, without the daemon: what `muster ledger verify|repair|stat` do. Works on
 * any file of JSON lines; an object with members id, ts and kind shows more. May block. Takes the same lock
 * as everybody who appends, to look only as long as it takes to read the size.
 */
#include "core/ledger/ledger-chain.h"
#include "core/ledger/ledger-journal.h"

typedef enum LedgerIndexState {
        LEDGER_INDEX_ABSENT,
        LEDGER_INDEX_FRESH,    /* all lines are in it */
        LEDGER_INDEX_BEHIND,   /* new lines will be added when it is opened */
        LEDGER_INDEX_UNUSABLE, /* damaged, or of another file; will be made again */
} LedgerIndexState;
const char *ledger_index_state_name(LedgerIndexState state);

typedef struct LedgerKind {
        char name[LEDGER_KIND_MAX + 1];
        uint64_t n;
} LedgerKind;

typedef struct LedgerReport {
        uint64_t n_bytes, n_lines, n_events;
        uint64_t n_damaged;  /* lines that are not events */
        uint64_t n_repeated; /* events whose id was there before */
        uint64_t n_tail;     /* bytes behind the last newline */
        bool is_tail_event;  /* … which are an event that lacks its newline */
        int64_t first_ts_us, last_ts_us;
        ScanDamage damage[SCAN_DAMAGE_MAX];
        size_t n_damage;
        LedgerIndexState index;
        ChainReport chain;
        LedgerJournalFound journal; /* what a power loss took from the file; the next load puts it back */
        LedgerKind *kinds;          /* owned */
        size_t n_kinds;
} LedgerReport;

/* state_path may be a folder that does not exist: then there is no lock, index or chain. */
int ledger_inspect(const char *path, const char *state_path, LedgerReport *report);
/* The same for who waits: tells now and then how many bytes have been read. */
typedef struct LedgerProgress {
        void (*tell)(void *user, uint64_t n_done, uint64_t n_bytes);
        void *user;
} LedgerProgress;
int ledger_inspect_telling(const char *path, const char *state_path, const LedgerProgress *progress,
                           LedgerReport *report); /* progress may be NULL */
void ledger_report_deinit(LedgerReport *report);
bool ledger_report_is_sound(const LedgerReport *report);

typedef struct LedgerRepair {
        uint64_t n_cut;    /* bytes of a torn tail, now in state_path/cut.<stamp> */
        uint64_t n_moved;  /* damaged lines, in another such file */
        bool is_completed; /* the last event got its newline */
        LedgerJournalFound journal;
} LedgerRepair;
/* Under the lock all the time. A daemon that has it open notices. Index and chain are made again. */
int ledger_repair(const char *path, const char *state_path, const LedgerProgress *progress,
                  LedgerRepair *ret); /* progress may be NULL */
