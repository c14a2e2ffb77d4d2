/* SPDX-License-Identifier: MIT */
/*
 * Writing the journal. ledger-journal-recover.c reads it.
 */
#include "core/ledger/ledger-journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/siphash.h"
#include "core/ledger/ledger-internal.h"
#include "core/ledger/ledger-journal-layout.h"

enum { INODES_PER_BLOCK = 16 }; /* ext4: 256 bytes each */

static const SipKey key = {0x6d7573746572206a,
                           0x6f75726e616c206b}; /* against accidents, not against people */

uint64_t journal_head_sum(const JournalHead *head) {
        return siphash(key, (Str){(const char *)head, offsetof(JournalHead, sum)});
}

uint64_t journal_mark_sum(const JournalMark *mark, Str lines) {
        SipKey own = {siphash(key, (Str){(const char *)mark, offsetof(JournalMark, sum)}), key.k1};

        return siphash(own, lines);
}

size_t journal_padded(uint64_t n) {
        return (size_t)((n + 7) & ~UINT64_C(7));
}

char *journal_path(const LedgerPlace *place) {
        return path_join(place->state_path, "journal");
}

int journal_witness(int file, uint64_t base, uint64_t *ret) {
        char bytes[JOURNAL_WITNESS];
        size_t want = (size_t)MIN(base, (uint64_t)JOURNAL_WITNESS), n;
        int r = ledger_read_at(file, bytes, want, base - want, &n);

        *ret = siphash(key, (Str){bytes, n});
        return error_trace(r);
}

/* As long as it will ever be, and all of it written: then a write in place changes nothing but bytes. */
static int ledger_journal_fill(int fd, const char *state_path) {
        _cleanup_(freep) char *zeros = calloc(1, JOURNAL_SIZE);
        int r;

        if (!zeros)
                return error_origin(-ENOMEM);
        r = ledger_write_at(fd, (Str){zeros, JOURNAL_SIZE}, 0);
        if (r == 0 && (ftruncate(fd, JOURNAL_SIZE) < 0 || fsync(fd) < 0))
                r = error_origin(-errno);
        return error_trace(r ? r : dir_sync(state_path));
}

static bool are_neighbours(uint64_t a, uint64_t b) {
        return (a - 1) / INODES_PER_BLOCK == (b - 1) / INODES_PER_BLOCK;
}

/*
 * A new file. Where the file system keeps no journal of its own, syncing a file writes the block that its
 * inode lies in, if that is dirty; and the ledger's is, with every line. So ours shall lie in another one:
 * those that do not are kept until one does, else we would get the same number again.
 */
static int create_apart(const char *path, uint64_t ino) {
        int crowd[INODES_PER_BLOCK], fd;
        size_t n = 0;
        struct stat st;

        for (;;) {
                (void)unlink(path);
                fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600);
                if (fd < 0 || n == INODES_PER_BLOCK || fstat(fd, &st) < 0 || !are_neighbours(st.st_ino, ino))
                        break;
                crowd[n++] = fd;
        }
        while (n > 0)
                close_fd(crowd[--n]);
        return fd < 0 ? error_origin(-errno) : fd;
}

/* What an earlier run left has been seen to by the load, and the ledger is synced. */
static int open_filled(Journal *journal, const LedgerPlace *place) {
        _cleanup_(freep) char *path = journal_path(place);
        _cleanup_(closep) int fd = -1;
        int r;

        if (!path)
                return error_origin(-ENOMEM);
        fd = create_apart(path, journal->ino);
        if (fd < 0)
                return error_trace(fd);
        r = ledger_journal_fill(fd, place->state_path);
        if (r)
                return error_trace(r);
        journal->at = 0;
        journal->fd = fd;
        fd = -1;
        return 0;
}

static bool is_at_hand(Journal *journal, const LedgerPlace *place) {
        if (journal->fd >= 0)
                return true;
        if (++journal->n_commits < JOURNAL_WORTH)
                return false;
        journal->n_commits = 0;
        return open_filled(journal, place) == 0;
}

static int add_head(Journal *journal, int file, Buf *out) {
        JournalHead head = {.epoch = journal->epoch + 1, .ino = journal->ino, .base = journal->base};
        int r;

        memcpy(head.magic, JOURNAL_MAGIC, sizeof(JOURNAL_MAGIC));
        r = journal_witness(file, head.base, &head.witness);
        if (r)
                return error_trace(r);
        head.sum = journal_head_sum(&head);
        journal->epoch = head.epoch;
        return error_trace(buf_append(out, &head, sizeof(head)));
}

static int ledger_journal_add_record(Journal *journal, uint64_t offset, Str lines, Buf *out) {
        JournalMark mark = {.epoch = journal->epoch, .offset = offset, .n = lines.n};
        int r;

        mark.sum = journal_mark_sum(&mark, lines);
        r = buf_append(out, &mark, sizeof(mark));
        if (r == 0)
                r = buf_append_str(out, lines);
        if (r == 0)
                r = buf_append(out, "\0\0\0\0\0\0\0", journal_padded(lines.n) - lines.n);
        return error_trace(r);
}

static int write_record(Journal *journal, int file, uint64_t offset, Str lines) {
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        int r = journal->at ? 0 : add_head(journal, file, &out);

        if (r == 0)
                r = ledger_journal_add_record(journal, offset, lines, &out);
        if (r == 0)
                r = ledger_write_at(journal->fd, buf_str(&out), journal->at);
        if (r == 0 && fdatasync(journal->fd) < 0)
                r = error_origin(-errno);
        if (r)
                return error_trace(r);
        journal->at += out.n;
        journal->end = offset + lines.n;
        return 0;
}

int journal_put(Journal *journal, const LedgerPlace *place, int file, uint64_t ino, uint64_t offset,
                Str lines) {
        size_t n = sizeof(JournalHead) + sizeof(JournalMark) + journal_padded(lines.n);

        if (ino != journal->ino || offset != journal->end || lines.n > JOURNAL_COMMIT_MAX ||
            journal->at + n > JOURNAL_SIZE || !is_at_hand(journal, place))
                return JOURNAL_E_DIRECT;
        if (write_record(journal, file, offset, lines) == 0)
                return 0;
        journal_close(journal, false); /* what it holds stays good; no more is added */
        return JOURNAL_E_DIRECT;
}

/* Needs no sync: the old head means lines that the ledger has. */
static void clear_head(const Journal *journal) {
        const JournalHead none = {0};

        (void)ledger_write_at(journal->fd, (Str){(const char *)&none, sizeof(none)}, 0);
}

void journal_synced(Journal *journal, uint64_t ino, uint64_t end) {
        if (journal->fd >= 0 && journal->at)
                clear_head(journal);
        journal->ino = ino;
        journal->base = journal->end = end;
        journal->at = 0;
}

void journal_forget(Journal *journal, const LedgerPlace *place) {
        _cleanup_(freep) char *path = journal_path(place);

        journal_close(journal, false);
        if (path)
                (void)unlink(path);
}

void journal_close(Journal *journal, bool is_synced) {
        if (is_synced && journal->fd >= 0)
                clear_head(journal);
        close_fd(journal->fd);
        *journal = JOURNAL_NULL;
}
