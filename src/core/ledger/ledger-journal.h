#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Journal: makes small commits safe with one write in place.
 *
 * A sync behind an append makes the file system commit the new length, too; one behind a write into bytes
 * that are there already does not, and takes two thirds of the time. So the lines of a small commit are
 * written to the ledger as ever, but what is synced is their copy in state/ledger/journal, a file that never
 * changes its size. The ledger itself is synced a second later, or when the journal is full.
 *
 * Lines below `base` are safe in the ledger, those from `base` to `end` in the journal. Everything that the
 * journal cannot answer for takes the ordinary way: lines of other programs in between, large commits,
 * changes with files, another file in the ledger's place. The copy is needed only when the ledger loses what
 * was not synced, because the machine went down: then the next load puts it back (journal_recover()).
 *
 * For workers, under the ledger's lock; owned by the Ledger, whose jobs run one at a time.
 */
#include "base/str.h"

#include <stdint.h>

typedef struct LedgerPlace LedgerPlace;

enum {
        JOURNAL_SIZE = 256 * 1024,
        JOURNAL_COMMIT_MAX = 32 * 1024, /* larger ones are synced in the ledger itself */
        JOURNAL_WORTH = 8,              /* so many commits before a ledger gets one */
};

typedef struct Journal {
        int fd;       /* -1: there is none, or not any more */
        uint64_t ino; /* of the ledger file; 0: nothing is known to be safe yet */
        uint64_t base, end;
        uint64_t at; /* where the next record goes; 0: it begins a new epoch */
        uint64_t epoch;
        unsigned n_commits; /* that could have used it before it was there */
} Journal;
#define JOURNAL_NULL ((Journal){.fd = -1})

enum { _JOURNAL_E_SUCCESS, JOURNAL_E_DIRECT };
/* Lines that have just been written to the ledger (`file`, its inode number) at `offset`. 0: they are safe.
 * JOURNAL_E_DIRECT: sync the ledger, and then tell journal_synced(). */
int journal_put(Journal *journal, const LedgerPlace *place, int file, uint64_t ino, uint64_t offset,
                Str lines);
/* The ledger itself is safe up to `end`. */
void journal_synced(Journal *journal, uint64_t ino, uint64_t end);
/* A commit failed and was taken back: no load may ever put it back. */
void journal_forget(Journal *journal, const LedgerPlace *place);
void journal_close(Journal *journal, bool is_synced); /* is_synced: the ledger is safe as a whole */

typedef struct JournalFound {
        uint64_t n_restored; /* bytes that the ledger had lost */
        uint64_t n_aside;    /* bytes for which there was no place any more: kept in cut.* */
} JournalFound;
/* Before the ledger is read. is_dry: only looks. */
int journal_recover(const LedgerPlace *place, int file, uint64_t ino, int64_t wall_us, bool is_dry,
                    JournalFound *ret);
