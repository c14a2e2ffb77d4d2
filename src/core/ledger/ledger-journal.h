#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * LedgerJournal: makes small commits safe with one write in place (core/journal/journal.h says why).
 *
 * The lines of a small commit are written to the ledger as ever, but what is synced is their copy in
 * state/ledger/journal, a file that never changes its size. The ledger itself is synced a second later, or
 * when the journal is full. The words of its head are the ledger's inode number, `base`, and a hash of the
 * last bytes before that; the tag of a record is where its lines begin in the ledger.
 *
 * Lines below `base` are safe in the ledger, those from `base` to `end` in the journal. Everything that the
 * journal cannot answer for takes the ordinary way: lines of other programs in between, large commits,
 * changes with files, another file in the ledger's place. The copy is needed only when the ledger loses what
 * was not synced, because the machine went down: then the next load puts it back (ledger_journal_recover()).
 *
 * For workers, under the ledger's lock; owned by the Ledger, whose jobs run one at a time.
 */
#include "core/journal/journal.h"

typedef struct LedgerPlace LedgerPlace;

enum {
        LEDGER_JOURNAL_SIZE = 256 * 1024,
        LEDGER_JOURNAL_COMMIT_MAX = 32 * 1024, /* larger ones are synced in the ledger itself */
        LEDGER_JOURNAL_WORTH = 8,              /* so many commits before a ledger gets one */
};

typedef struct LedgerJournal {
        Journal file;
        uint64_t ino; /* of the ledger file; 0: nothing is known to be safe yet */
        uint64_t base, end;
        unsigned n_commits; /* that could have used it before it was there */
} LedgerJournal;
#define LEDGER_JOURNAL_NULL ((LedgerJournal){.file = JOURNAL_NULL})
enum { LEDGER_JOURNAL_INO, LEDGER_JOURNAL_BASE, LEDGER_JOURNAL_WITNESS }; /* words of the head */

enum { _LEDGER_JOURNAL_E_SUCCESS, LEDGER_JOURNAL_E_DIRECT };
/* Lines that have just been written to the ledger (`file`, its inode number) at `offset`. 0: they are safe.
 * LEDGER_JOURNAL_E_DIRECT: sync the ledger, and then tell ledger_journal_synced(). */
int ledger_journal_put(LedgerJournal *journal, const LedgerPlace *place, int file, uint64_t ino,
                       uint64_t offset, Str lines);
/* The ledger itself is safe up to `end`. */
void ledger_journal_synced(LedgerJournal *journal, uint64_t ino, uint64_t end);
/* A commit failed and was taken back: no load may ever put it back. */
void ledger_journal_forget(LedgerJournal *journal, const LedgerPlace *place);
void ledger_journal_close(LedgerJournal *journal,
                          bool is_synced); /* is_synced: the ledger is safe as a whole */

typedef struct LedgerJournalFound {
        uint64_t n_restored; /* bytes that the ledger had lost */
        uint64_t n_aside;    /* bytes for which there was no place any more: kept in cut.* */
} LedgerJournalFound;
/* Before the ledger is read. is_dry: only looks. */
int ledger_journal_recover(const LedgerPlace *place, int file, uint64_t ino, int64_t wall_us, bool is_dry,
                           LedgerJournalFound *ret);
/* For both of its files. */
char *ledger_journal_path(const LedgerPlace *place); /* malloc'd */
int ledger_journal_witness(int file, uint64_t base, uint64_t *ret);
