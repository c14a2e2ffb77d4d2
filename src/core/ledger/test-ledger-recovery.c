/* SPDX-License-Identifier: MIT */
/* What a ledger makes of files that are not as it left them, and of a disk that refuses. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/ledger/ledger-chain.h"
#include "core/ledger/test-ledger-fixture.h"

static size_t events_text(char *out, size_t n_max, unsigned first, unsigned n) {
        size_t at = 0;

        for (unsigned i = 0; i < n; i++) {
                event_text(out + at, n_max - at, first + i, "a");
                at += strlen(out + at);
                out[at++] = '\n';
        }
        out[at] = 0;
        return at;
}

/* Whatever of the last line is there: the lines before are served, new ones can be appended, what was cut is
 * kept. */
static void test_torn_at_every_byte(void **state) {
        Fixture *f = *state;
        char text[1024];
        size_t n = events_text(text, sizeof(text), 1, 3), n_two = events_text(text, sizeof(text), 1, 2);

        events_text(text, sizeof(text), 1, 3);
        for (size_t cut = n_two; cut <= n; cut++) {
                bool is_whole = cut >= n - 1; /* the newline alone may be missing */
                size_t n_kept = count_files(f->state, "cut.");

                file_put(f->path, text, cut, false);
                assert_int_equal(fixture_open(f), 0);
                assert_int_equal(ledger_n_committed(f->ledger), is_whole ? 3 : 2);
                assert_int_equal(put_event(f, 9, "b"), 0);
                assert_event(f, 1, 2, "a");
                assert_event(f, is_whole ? 3 : 2, 9, "b");
                fixture_reopen(f);
                assert_int_equal(ledger_n_committed(f->ledger), is_whole ? 4 : 3);
                assert_int_equal(count_files(f->state, "cut."), n_kept + (cut > n_two && !is_whole));
                fixture_close(f);
        }
}

static void test_damage_in_the_middle(void **state) {
        Fixture *f = *state;
        char text[16384];
        size_t n = events_text(text, sizeof(text), 1, 2);

        memset(text + n, 0, 4096);
        n += 4096;
        text[n++] = '\n';
        n += (size_t)sprintf(text + n, "{\"id\":\"half\n\n[1,2]\n{\"no\":\"id\"}\n\xff\xfe\n");
        n += events_text(text + n, sizeof(text) - n, 3, 2);
        file_put(f->path, text, n, false);
        assert_int_equal(fixture_open(f), 0);
        assert_int_equal(ledger_n_committed(f->ledger), 4);
        for (unsigned i = 0; i < 4; i++)
                assert_event(f, i, i + 1, "a");
        assert_int_equal(ledger_stats(f->ledger).n_damaged, 5);
        assert_int_equal(ledger_n_bytes(f->ledger), n); /* nothing was taken out */
}

static void test_repeated_line(void **state) {
        Fixture *f = *state;
        char text[1024];
        uint64_t position;
        size_t n = events_text(text, sizeof(text), 1, 2);

        n += events_text(text + n, sizeof(text) - n, 2, 2);
        file_put(f->path, text, n, false);
        assert_int_equal(fixture_open(f), 0);
        assert_int_equal(ledger_n_committed(f->ledger), 4);
        assert_false(ledger_entry(f->ledger, 1).is_repeated);
        assert_true(ledger_entry(f->ledger, 2).is_repeated);
        assert_false(ledger_entry(f->ledger, 3).is_repeated);
        assert_int_equal(ledger_find_id(f->ledger, STR("e2"), &position), 0);
        assert_int_equal(position, 1);
}

static void test_line_too_long(void **state) {
        Fixture *f = *state;
        size_t n = LEDGER_LINE_MAX + 4096;
        char text[512], *line = malloc(n);

        assert_non_null(line);
        memset(line, 'x', n);
        line[n - 1] = '\n';
        file_put(f->path, line, n, false);
        file_put(f->path, text, events_text(text, sizeof(text), 1, 1), true);
        assert_int_equal(fixture_open(f), 0);
        assert_int_equal(ledger_n_committed(f->ledger), 1);
        assert_event(f, 0, 1, "a");
        fixture_close(f);
        file_put(f->path, line, n - 1, true); /* and as a tail: cut as a whole */
        assert_int_equal(fixture_open(f), 0);
        assert_int_equal(ledger_n_committed(f->ledger), 1);
        assert_int_equal(count_files(f->state, "cut."), 1);
        free(line);
}

/* A terabyte of nothing, as `truncate -s 1T` makes it: it kept a worker for an hour. */
static void test_hole(void **state) {
        const off_t large = (off_t)1 << 40;
        Fixture *f = *state;
        char text[256];

        file_put(f->path, text, events_text(text, sizeof(text), 1, 1), false);
        assert_int_equal(truncate(f->path, large), 0);
        assert_int_equal(fixture_open(f),
                         0); /* behind the last line: cut, and kept aside as the hole that it is */
        assert_int_equal(ledger_n_committed(f->ledger), 1);
        assert_int_equal(count_files(f->state, "cut."), 1);
        assert_int_equal(put_event(f, 2, "a"), 0);
        fixture_close(f);

        assert_int_equal(truncate(f->path, large), 0);
        file_put(f->path, "\n", 1, true);
        file_put(f->path, text, events_text(text, sizeof(text), 3, 1), true);
        assert_int_equal(fixture_open(f), 0); /* between two lines: damage, and passed over */
        assert_int_equal(ledger_n_committed(f->ledger), 3);
        assert_event(f, 2, 3, "a");
        assert_int_equal(count_files(f->state, "cut."), 1);
}

static void test_torn_by_others_while_open(void **state) {
        Fixture *f = *state;

        assert_int_equal(fixture_open(f), 0);
        assert_int_equal(put_event(f, 1, "a"), 0);
        file_put(f->path, "{\"id\":\"x", 8, true);
        assert_int_equal(put_event(f, 2, "a"), 0);
        assert_int_equal(ledger_n_committed(f->ledger), 2);
        assert_event(f, 1, 2, "a");
        assert_int_equal(count_files(f->state, "cut."), 1);
}

/* Everything of the failed group and behind it fails, nothing of it is seen; then service goes on. */
static void test_no_space(void **state) {
        Fixture *f = *state;
        struct rlimit old, small;
        Write big, small_one, behind;
        char line[8192], file[128];

        assert_int_equal(fixture_open(f), 0);
        assert_int_equal(put_event(f, 1, "a"), 0);
        signal(SIGXFSZ, SIG_IGN);
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
        small = (struct rlimit){4096, old.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);

        snprintf(line, sizeof(line), "{\"id\":\"big\",\"x\":\"%06000d\"}", 0);
        snprintf(file, sizeof(file), "%s/doc", f->dir);
        write_begin(&big, f);
        write_line(&big, line);
        assert_int_equal(ledger_change_file(&big.change, file, STR("new"), NULL), 0);
        assert_int_equal(ledger_change_commit(&big.change), 0);
        write_begin(&small_one, f);
        write_event(&small_one, 2, "a");
        assert_int_equal(ledger_change_commit(&small_one.change), 0);
        loop_turn(f->loop);
        write_begin(&behind, f);
        write_event(&behind, 3, "a");
        assert_int_equal(write_end(&behind, f), -EFBIG);
        assert_int_equal(big.r, -EFBIG);
        assert_int_equal(small_one.r, -EFBIG);
        assert_int_equal(access(file, F_OK), -1);
        assert_int_equal(count_files(f->state, ".stage."), 0);
        assert_int_equal(ledger_n_committed(f->ledger), 1);
        assert_int_equal(ledger_n(f->ledger), 1);

        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        assert_int_equal(put_event(f, 4, "a"), 0);
        assert_int_equal(ledger_n_committed(f->ledger), 2);
        assert_event(f, 1, 4, "a");
        fixture_reopen(f);
        assert_int_equal(ledger_n_committed(f->ledger), 2);
}

static void put_many(Fixture *f, unsigned first, unsigned n) {
        static const char *const names[] = {"a", "b", "c"};
        Write write;

        write_begin(&write, f);
        for (unsigned i = 0; i < n; i++)
                write_event(&write, first + i, names[(first + i) % 3]);
        assert_int_equal(write_end(&write, f), 0);
}

static void check_many(Fixture *f, unsigned n) {
        LedgerTag tags[] = {ledger_tag(f->ledger, STR("to:a")), ledger_tag(f->ledger, STR("to:c"))};
        uint64_t position, want = 0, n_seen = 0;
        LedgerCursor cursor;
        char id[16];

        assert_int_equal(ledger_n_committed(f->ledger), n);
        for (unsigned i = 0; i < n; i += n / 97 + 1) {
                snprintf(id, sizeof(id), "e%u", i);
                assert_int_equal(ledger_find_id(f->ledger, str_from(id), &position), 0);
                assert_int_equal(position, i);
                assert_int_equal(ledger_first_after_ts(f->ledger, i), i + 1);
                assert_true(ledger_has_tag(f->ledger, i, tags[0]) == (i % 3 == 0));
        }
        assert_int_equal(ledger_cursor_init(&cursor, f->ledger, tags, 2, 0, false), 0);
        while (ledger_cursor_next(&cursor, &position)) {
                want += want % 3 == 1;
                assert_int_equal(position, want++);
                n_seen++;
        }
        assert_int_equal(n_seen, n - (n + 1) / 3);
        assert_event(f, n - 1, n - 1, (n - 1) % 3 == 0 ? "a" : (n - 1) % 3 == 1 ? "b" : "c");
}

static void test_index_is_kept(void **state) {
        Fixture *f = *state;
        char path[128];

        assert_int_equal(fixture_open(f), 0);
        put_many(f, 0, 3000);
        fixture_reopen(f);
        assert_true(ledger_stats(f->ledger).is_index_loaded);
        assert_int_equal(ledger_stats(f->ledger).n_scanned, 0);
        check_many(f, 3000);
        put_many(f, 3000, 500); /* stays on the heap, is read again next time */
        check_many(f, 3500);
        fixture_reopen(f);
        assert_true(ledger_stats(f->ledger).is_index_loaded);
        assert_true(ledger_stats(f->ledger).n_scanned > 0);
        check_many(f, 3500);
        put_many(f, 3500, 2000);
        fixture_reopen(f);
        check_many(f, 5500);
        fixture_close(f);
        snprintf(path, sizeof(path), "%s/index", f->state);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(fixture_open(f), 0);
        assert_false(ledger_stats(f->ledger).is_index_loaded);
        check_many(f, 5500);
}

static void test_index_is_merged(void **state) {
        Fixture *f = *state;

        f->policy = LEDGER_NONE;
        assert_int_equal(fixture_open(f), 0);
        for (unsigned i = 0; i < 20; i++)
                put_many(f, i * 10000, 10000); /* merges run meanwhile */
        check_many(f, 200000);
        fixture_reopen(f);
        assert_true(ledger_stats(f->ledger).is_index_loaded);
        check_many(f, 200000);
}

/* Any damage to the index, and any change of the ledger that it does not know, is noticed. */
static void test_index_is_checked(void **state) {
        Fixture *f = *state;
        char path[128], *bytes = malloc(1 << 20), *text = malloc(1 << 20);
        struct stat st;
        size_t n;

        assert_non_null(bytes);
        assert_non_null(text);
        snprintf(path, sizeof(path), "%s/index", f->state);
        assert_int_equal(fixture_open(f), 0);
        put_many(f, 0, 2000);
        fixture_close(f);
        n = file_get(path, bytes, 1 << 20);
        for (size_t at = 0; at < n; at += at < 200 ? 1 : n / 150) {
                bytes[at] ^= 0x40;
                file_put(path, bytes, n, false);
                bytes[at] ^= 0x40;
                assert_int_equal(fixture_open(f), 0);
                assert_false(ledger_stats(f->ledger).is_index_loaded);
                assert_int_equal(ledger_n_committed(f->ledger), 2000);
                fixture_close(f);
        }
        for (size_t cut = 0; cut < n; cut += n / 60) {
                file_put(path, bytes, cut, false);
                assert_int_equal(fixture_open(f), 0);
                assert_false(ledger_stats(f->ledger).is_index_loaded);
                fixture_close(f);
        }
        /* The same length, another last line. */
        file_put(path, bytes, n, false);
        assert_int_equal(stat(f->path, &st), 0);
        n = file_get(f->path, text, 1 << 20);
        text[n - 10] ^= 1;
        file_put(f->path, text, n, false);
        assert_int_equal(fixture_open(f), 0);
        assert_false(ledger_stats(f->ledger).is_index_loaded);
        free(bytes);
        free(text);
}

static void test_chain(void **state) {
        Fixture *f = *state;
        char path[128], text[1024];
        ChainReport report;
        FILE *file;

        f->has_chain = true;
        assert_int_equal(fixture_open(f), 0);
        put_events(f, 1, 5, "a");
        file_put(f->path, "not an event\n", 13, true);
        assert_int_equal(put_event(f, 6, "a"), 0);
        fixture_close(f);
        snprintf(path, sizeof(path), "%s/chain", f->state);
        file = fopen(f->path, "re");
        assert_non_null(file);
        assert_int_equal(chain_verify(path, fileno(file), 1 << 20, &report), 0);
        assert_true(report.is_present && !report.is_broken);
        assert_int_equal(report.n_records, 7);
        assert_int_equal(report.n_behind, 0);
        fclose(file);

        file_get(f->path, text, sizeof(text));
        text[60] ^= 1; /* in the second line */
        file_put(f->path, text, strlen(text), false);
        file = fopen(f->path, "re");
        assert_non_null(file);
        assert_int_equal(chain_verify(path, fileno(file), 1 << 20, &report), 0);
        assert_true(report.is_broken);
        assert_int_equal(report.broken_at, strcspn(text, "\n") + 1);
        fclose(file);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                ledger_test(test_torn_at_every_byte),
                ledger_test(test_damage_in_the_middle),
                ledger_test(test_repeated_line),
                ledger_test(test_line_too_long),
                ledger_test(test_hole),
                ledger_test(test_torn_by_others_while_open),
                ledger_test(test_no_space),
                ledger_test(test_index_is_kept),
                ledger_test(test_index_is_merged),
                ledger_test(test_index_is_checked),
                ledger_test(test_chain),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
