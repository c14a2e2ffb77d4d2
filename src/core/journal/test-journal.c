/* SPDX-License-Identifier: MIT */
/* Records that are read back as they were written, by whole blocks or not, and a journal that finds a better place. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/macro.h"
#include "core/journal/journal.h"

enum { N_SIZE = 64 * 1024 };

typedef struct Fixture {
        char path[64];
        int dir;
        Journal journal;
        char text[8192];
} Fixture;

static int journal_setup(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        assert_non_null(f);
        snprintf(f->path, sizeof(f->path), "/tmp/test-journal.XXXXXX");
        assert_non_null(mkdtemp(f->path));
        f->dir = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        for (size_t i = 0; i < sizeof(f->text); i++)
                f->text[i] = (char)('a' + i % 23);
        f->journal = JOURNAL_NULL;
        assert_int_equal(journal_create(&f->journal, f->dir, "journal", N_SIZE, 0), 0);
        *state = f;
        return 0;
}

static int journal_teardown(void **state) {
        Fixture *f = *state;

        journal_close(&f->journal);
        (void)unlinkat(f->dir, "journal", 0);
        (void)rmdir(f->path);
        close_fd(f->dir);
        free(f);
        return 0;
}

/* Lengths on both sides of a block. */
static Str record_of(const Fixture *f, unsigned number) {
        static const size_t lengths[] = {1, 100, 4095, 4096, 7, 4064, 900, 8192, 32};

        return (Str){f->text + number % 23,
                     MIN(lengths[number % ARRAY_SIZE(lengths)], sizeof(f->text) - 23)};
}

static void add_record(Fixture *f, unsigned number, bool is_synced) {
        static const uint64_t words[JOURNAL_WORDS] = {7, 8, 9};

        assert_int_equal(journal_append(&f->journal, words, number, record_of(f, number), is_synced), 0);
}

/* What a recovery would find: that many records from this number on, and no more. */
static void assert_records(const Fixture *f, unsigned first, unsigned n) {
        _cleanup_(closep) int fd = openat(f->dir, "journal", O_RDONLY | O_CLOEXEC);
        static char bytes[N_SIZE + 1];
        size_t n_read, at = sizeof(JournalHead);
        JournalHead head;
        uint64_t tag;
        Str file, found;

        assert_int_equal(file_read_at(fd, bytes, sizeof(bytes), 0, &n_read), 0);
        assert_int_equal(n_read, N_SIZE); /* it never grows */
        file = (Str){bytes, n_read};
        assert_int_equal(journal_head(file, &head), n > 0);
        if (n)
                assert_int_equal(head.words[2], 9);
        for (unsigned i = first; i < first + n; i++) {
                Str want = record_of(f, i);

                assert_true(journal_next(file, &head, N_SIZE, &at, &tag, &found));
                assert_int_equal(tag, i);
                assert_int_equal(found.n, want.n);
                assert_memory_equal(found.data, want.data, want.n);
        }
        if (n)
                assert_false(journal_next(file, &head, N_SIZE, &at, &tag, &found));
}

static unsigned fill(Fixture *f, unsigned first, bool is_synced) {
        unsigned n = first;

        for (; journal_has_room(&f->journal, record_of(f, n).n); n++)
                add_record(f, n, is_synced);
        return n - first;
}

/* Past the page cache where the file system has that, and the same without. */
static void test_records(void **state) {
        Fixture *f = *state;

        for (unsigned i = 0; i < 12; i++) {
                add_record(f, i, true);
                assert_records(f, 0, i + 1);
        }
        journal_restart(&f->journal);
        assert_records(f, 0, 0);
        assert_records(f, 3, fill(f, 3, true));
        journal_restart(&f->journal);
        add_record(f, 40, true);
        assert_records(f, 40, 1); /* those of before lie behind it and are none */
}

/* Nobody waits for the disk any more: from the middle of a block on. */
static void test_plain(void **state) {
        Fixture *f = *state;

        for (unsigned i = 0; i < 3; i++)
                add_record(f, i, true);
        add_record(f, 3, false);
        assert_null(f->journal.block);
        assert_int_equal(fcntl(f->journal.fd, F_GETFL) & O_DIRECT, 0);
        add_record(f, 4, true);
        assert_records(f, 0, 5);
        journal_restart(&f->journal);
        assert_records(f, 0, 0);
        assert_records(f, 9, fill(f, 9, false));
}

static void test_move(void **state) {
        Fixture *f = *state;
        uint64_t before = f->journal.ino, beside = before - 1; /* it is the last one of its block */

        if (before % 16) /* a file system that numbers in another way */
                skip();
        journal_meet(&f->journal, before + 1);
        assert_false(f->journal.is_crowded);
        journal_meet(&f->journal, beside);
        add_record(f, 0, true);
        assert_false(journal_wants_to_move(&f->journal)); /* it has records */
        journal_restart(&f->journal);
        assert_true(journal_wants_to_move(&f->journal));
        for (unsigned i = 1; i <= JOURNAL_MOVES_MAX; i++) {
                assert_true(journal_wants_to_move(&f->journal));
                assert_int_equal(journal_move(&f->journal, f->dir, "journal"), 0);
                assert_false(journal_wants_to_move(&f->journal));
                assert_int_not_equal((f->journal.ino - 1) / 16, (beside - 1) / 16);
                assert_records(f, 0, 0);
                add_record(f, i, true);
                assert_records(f, i, 1);
                journal_restart(&f->journal);
                beside = f->journal.ino;
                journal_meet(&f->journal, beside);
        }
        assert_false(journal_wants_to_move(&f->journal)); /* often enough */
}

#define journal_test(name) cmocka_unit_test_setup_teardown(name, journal_setup, journal_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                journal_test(test_records),
                journal_test(test_plain),
                journal_test(test_move),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
