/* SPDX-License-Identifier: MIT */
/*
 * Writing the journal of a ledger. ledger-journal-recover.c reads it.
 */
#include "core/ledger/ledger-journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/siphash.h"
#include "core/ledger/ledger-internal.h"

enum { LEDGER_JOURNAL_SEEN = 4096 }; /* bytes before base that the witness is made of */

static const SipKey ledger_journal_key = {0x6d7573746572206a,
                                          0x6f75726e616c206b}; /* against accidents, not against people */

char *ledger_journal_path(const LedgerPlace *place) {
        return path_join(place->state_path, "journal");
}

int ledger_journal_witness(int file, uint64_t base, uint64_t *ret) {
        char bytes[LEDGER_JOURNAL_SEEN];
        size_t want = (size_t)MIN(base, (uint64_t)LEDGER_JOURNAL_SEEN), n;
        int r = file_read_at(file, bytes, want, base - want, &n);

        *ret = siphash(ledger_journal_key, (Str){bytes, n});
        return error_trace(r);
}

/* What an earlier run left has been seen to by the load, and the ledger is synced. */
static int open_filled(LedgerJournal *journal, const LedgerPlace *place) {
        _cleanup_(closep) int dir = open(place->state_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (dir < 0)
                return error_origin(-errno);
        return error_trace(
                journal_create(&journal->file, dir, "journal", LEDGER_JOURNAL_SIZE, journal->ino));
}

static bool is_at_hand(LedgerJournal *journal, const LedgerPlace *place) {
        if (journal->file.fd >= 0)
                return true;
        if (++journal->n_commits < LEDGER_JOURNAL_WORTH)
                return false;
        journal->n_commits = 0;
        return open_filled(journal, place) == 0;
}

static int write_record(LedgerJournal *journal, int file, uint64_t offset, Str lines) {
        uint64_t words[JOURNAL_WORDS] = {
                [LEDGER_JOURNAL_INO] = journal->ino, [LEDGER_JOURNAL_BASE] = journal->base};
        int r = journal->file.at
                        ? 0
                        : ledger_journal_witness(file, journal->base, &words[LEDGER_JOURNAL_WITNESS]);

        r = r ? r : journal_append(&journal->file, words, offset, lines, true);
        if (r == 0)
                journal->end = offset + lines.n;
        return error_trace(r);
}

int ledger_journal_put(LedgerJournal *journal, const LedgerPlace *place, int file, uint64_t ino,
                       uint64_t offset, Str lines) {
        if (ino != journal->ino || offset != journal->end || lines.n > LEDGER_JOURNAL_COMMIT_MAX ||
            (journal->file.fd >= 0 && !journal_has_room(&journal->file, lines.n)) ||
            !is_at_hand(journal, place))
                return LEDGER_JOURNAL_E_DIRECT;
        if (write_record(journal, file, offset, lines) == 0)
                return 0;
        ledger_journal_close(journal, false); /* what it holds stays good; no more is added */
        return LEDGER_JOURNAL_E_DIRECT;
}

void ledger_journal_synced(LedgerJournal *journal, uint64_t ino, uint64_t end) {
        journal_restart(&journal->file);
        journal_give_back(&journal->file);
        journal->ino = ino;
        journal->base = journal->end = end;
}

void ledger_journal_forget(LedgerJournal *journal, const LedgerPlace *place) {
        _cleanup_(freep) char *path = ledger_journal_path(place);

        ledger_journal_close(journal, false);
        if (path)
                (void)unlink(path);
}

void ledger_journal_close(LedgerJournal *journal, bool is_synced) {
        if (is_synced)
                journal_restart(&journal->file);
        journal_close(&journal->file);
        *journal = LEDGER_JOURNAL_NULL;
}
