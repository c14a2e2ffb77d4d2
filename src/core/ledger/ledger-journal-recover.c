/* SPDX-License-Identifier: MIT */
/*
 * What the ledger lost and the journal kept is put back: the machine went down, or the disk was gone. It is
 * put back only where the ledger has nothing else by now: zeros, the same bytes, or its end. What finds no
 * place, because somebody wrote to the ledger before us, is kept in cut.*.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "core/ledger/ledger-internal.h"

typedef struct Recovery {
        const LedgerPlace *place;
        int file;
        int64_t wall_us;
        bool is_dry;
        Buf aside;
        LedgerJournalFound *found;
} Recovery;

static bool is_head_of(const JournalHead *head, int file, uint64_t ino) {
        uint64_t now;

        return head->words[LEDGER_JOURNAL_INO] == ino &&
               ledger_journal_witness(file, head->words[LEDGER_JOURNAL_BASE], &now) == 0 &&
               now == head->words[LEDGER_JOURNAL_WITNESS];
}

/* Whether the lines may go there: nothing else has been written since. */
static int look_at_place(Recovery *recovery, uint64_t offset, Str lines, bool *ret_is_free,
                         uint64_t *ret_n_lost) {
        _cleanup_(freep) char *there = malloc(lines.n + 1);
        size_t n;
        int r = there ? file_read_at(recovery->file, there, lines.n, offset, &n) : error_origin(-ENOMEM);

        if (r)
                return error_trace(r);
        *ret_is_free = true;
        *ret_n_lost = lines.n - n;
        for (size_t i = 0; i < n; i++) {
                *ret_n_lost += there[i] != lines.data[i];
                *ret_is_free &= there[i] == lines.data[i] || !there[i];
        }
        return 0;
}

static int ledger_journal_recover_put_back(Recovery *recovery, uint64_t offset, Str lines) {
        uint64_t n_lost = 0;
        bool is_free = false;
        int r = look_at_place(recovery, offset, lines, &is_free, &n_lost);

        if (r || !n_lost)
                return error_trace(r);
        if (!is_free || recovery->aside.n) {
                recovery->found->n_aside += lines.n;
                return error_trace(buf_append_str(&recovery->aside, lines));
        }
        recovery->found->n_restored += n_lost;
        return recovery->is_dry ? 0 : error_trace(file_write_at(recovery->file, lines, offset));
}

/* Only records that go on where the last one ended. */
static int put_all_back(Recovery *recovery, Str bytes, const JournalHead *head) {
        size_t at = sizeof(*head);
        uint64_t offset = head->words[LEDGER_JOURNAL_BASE], tag;
        Str lines;
        int r = 0;

        while (r == 0 && journal_next(bytes, head, LEDGER_JOURNAL_COMMIT_MAX, &at, &tag, &lines) &&
               tag == offset) {
                r = ledger_journal_recover_put_back(recovery, offset, lines);
                offset += lines.n;
        }
        return error_trace(r);
}

static int ledger_journal_recover_keep_aside(Recovery *recovery) {
        _cleanup_(closep) int fd = ledger_open_cut(recovery->place, recovery->wall_us);
        int r;

        if (fd < 0)
                return error_trace(fd);
        r = file_write_at(fd, buf_str(&recovery->aside), 0);
        if (r == 0 && fsync(fd) < 0)
                r = error_origin(-errno);
        return error_trace(r ? r : dir_sync(recovery->place->state_path));
}

/* Only now that all of it is safe elsewhere the journal may go. */
static int ledger_journal_recover_finish(Recovery *recovery, const char *path) {
        int r = recovery->aside.n ? ledger_journal_recover_keep_aside(recovery) : 0;

        if (r == 0 && fdatasync(recovery->file) < 0)
                r = error_origin(-errno);
        if (r == 0 && unlink(path) < 0)
                r = error_origin(-errno);
        return error_trace(r);
}

int ledger_journal_recover(const LedgerPlace *place, int file, uint64_t ino, int64_t wall_us, bool is_dry,
                           LedgerJournalFound *ret) {
        Recovery recovery = {
                .place = place, .file = file, .wall_us = wall_us, .is_dry = is_dry, .found = ret};
        _cleanup_(buf_deinit) Buf bytes = BUF_NULL;
        _cleanup_(freep) char *path = ledger_journal_path(place);
        JournalHead head;
        int r;

        *ret = (LedgerJournalFound){0};
        if (!path)
                return error_origin(-ENOMEM);
        r = file_read(path, LEDGER_JOURNAL_SIZE, &bytes);
        if (r == FILE_E_MISSING || r == FILE_E_TOO_LARGE)
                return 0;
        if (r)
                return error_fold(r);
        if (!journal_head(buf_str(&bytes), &head) || !is_head_of(&head, file, ino))
                return 0;
        r = put_all_back(&recovery, buf_str(&bytes), &head);
        if (r == 0 && !is_dry && (ret->n_restored || ret->n_aside))
                r = ledger_journal_recover_finish(&recovery, path);
        buf_deinit(&recovery.aside);
        return error_trace(r);
}
