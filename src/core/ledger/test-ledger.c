/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/ledger/test-ledger-fixture.h"

static void test_append_and_reopen(void **state) {
        Fixture *f = *state;
        char text[512];

        assert_int_equal(fixture_open(f), 0);
        assert_int_equal(put_event(f, 1, "a"), 0);
        put_events(f, 2, 3, "b");
        assert_int_equal(ledger_n_committed(f->ledger), 4);
        assert_int_equal(f->n_committed, 4);
        assert_event(f, 0, 1, "a");
        assert_event(f, 3, 4, "b");
        file_get(f->path, text, sizeof(text));
        assert_int_equal(strlen(text), ledger_n_bytes(f->ledger));

        fixture_reopen(f);
        assert_int_equal(ledger_n_committed(f->ledger), 4);
        assert_event(f, 2, 3, "b");
        assert_listed(f, "to:a to:b", 0, false, "0 1 2 3");
}

static void test_group_commit(void **state) {
        Fixture *f = *state;

        assert_int_equal(fixture_open(f), 0);
        put_events(f, 1, 500, "a");
        assert_int_equal(ledger_n_committed(f->ledger), 500);
        assert_true(ledger_stats(f->ledger).n_commits <= 2); /* one turn, one commit */
        assert_true(ledger_stats(f->ledger).n_syncs <= 2);
}

static void test_index(void **state) {
        Fixture *f = *state;
        uint64_t position = 99;
        Write write;

        assert_int_equal(fixture_open(f), 0);
        write_begin(&write, f);
        for (unsigned i = 0; i < 10; i++)
                write_event(&write, i * 10, i % 3 == 0 ? "a" : i % 3 == 1 ? "b" : "c");
        assert_int_equal(write_end(&write, f), 0);
        assert_int_equal(write.change.first, 0);
        assert_int_equal(write.change.n_lines, 10);

        assert_int_equal(ledger_find_id(f->ledger, STR("e30"), &position), 0);
        assert_int_equal(position, 3);
        assert_int_equal(ledger_find_id(f->ledger, STR("e31"), &position), LEDGER_E_NOT_FOUND);
        assert_listed(f, "to:a to:c", 0, false, "0 2 3 5 6 8 9");
        assert_listed(f, "to:a to:c to:nobody", 4, false, "5 6 8 9");
        assert_listed(f, "to:a to:c", 6, true, "5 3 2 0");
        assert_listed(f, "to:nobody", 0, false, "");
        assert_true(ledger_has_tag(f->ledger, 4, ledger_tag(f->ledger, STR("to:b"))));
        assert_false(ledger_has_tag(f->ledger, 5, ledger_tag(f->ledger, STR("to:b"))));
        assert_int_equal(ledger_first_after_ts(f->ledger, 30), 4);
        assert_int_equal(ledger_first_after_ts(f->ledger, -1), 0);
        assert_int_equal(ledger_first_after_ts(f->ledger, 90), 10);
        assert_string_equal(ledger_entry(f->ledger, 5).kind.data, "chat");
        assert_int_equal(ledger_entry(f->ledger, 5).ts_us, 50);
}

static void test_pending(void **state) {
        Fixture *f = *state;
        uint64_t position;
        Write write;

        assert_int_equal(fixture_open(f), 0);
        write_begin(&write, f);
        write_event(&write, 1, "a");
        assert_int_equal(ledger_change_commit(&write.change), 0);
        assert_int_equal(ledger_find_id(f->ledger, STR("e1"), &position), LEDGER_E_PENDING);
        assert_true(ledger_is_tag_pending(f->ledger, STR("to:a")));
        assert_int_equal(ledger_n(f->ledger), 1);
        assert_int_equal(ledger_n_committed(f->ledger), 0);
        fixture_settle(f);
        assert_true(write.is_done);
        assert_int_equal(ledger_find_id(f->ledger, STR("e1"), &position), 0);
        assert_false(ledger_is_tag_pending(f->ledger, STR("to:a")));
}

static void test_refused_lines(void **state) {
        Fixture *f = *state;
        Write write;

        assert_int_equal(fixture_open(f), 0);
        write_begin(&write, f);
        assert_int_equal(ledger_change_line(&write.change, STR("{\"id\":")), -EINVAL);
        assert_int_equal(ledger_change_line(&write.change, STR("{\"no\":1}")), -EINVAL);
        assert_int_equal(ledger_change_line(&write.change, STR("{\"id\":\"a\",\n\"x\":1}")), -EINVAL);
        assert_int_equal(ledger_change_line(&write.change, STR("")), -EINVAL);
        ledger_change_deinit(&write.change);
}

static void test_time_stamps(void **state) {
        Fixture *f = *state;
        int64_t a, b;

        loop_clock_freeze(f->loop, 1000);
        assert_int_equal(fixture_open(f), 0);
        a = ledger_next_ts_us(f->ledger);
        b = ledger_next_ts_us(f->ledger);
        assert_int_equal(a, 1000);
        assert_int_equal(b, 1001);
        assert_int_equal(put_event(f, 5000, "a"), 0);
        assert_int_equal(ledger_next_ts_us(f->ledger), 5001);
}

/* The clock was wrong for a while, and is right again: while the ledger is open, and after a restart. */
static void test_time_goes_back(void **state) {
        enum { WRONG = 900000000, RIGHT = 1000000, N = 2000 };
        Fixture *f = *state;
        char path[128];

        loop_clock_freeze(f->loop, WRONG + N);
        assert_int_equal(fixture_open(f), 0);
        put_events(f, WRONG, N, "a");
        assert_true(ledger_entry(f->ledger, N - 1).ts_us == WRONG + N - 1);

        loop_clock_freeze(f->loop, RIGHT);
        assert_int_equal(ledger_next_ts_us(f->ledger), RIGHT);
        assert_true(ledger_check(f->ledger)); /* the index is made anew */
        fixture_settle(f);
        assert_false(ledger_check(f->ledger));
        assert_int_equal(ledger_n_committed(f->ledger), N);
        assert_true(ledger_entry(f->ledger, N - 1).ts_us < RIGHT);
        assert_int_equal(put_event(f, RIGHT, "b"), 0);
        assert_int_equal(ledger_first_after_ts(f->ledger, RIGHT - 1), N);

        loop_clock_freeze(f->loop, WRONG + N);
        fixture_close(f);
        snprintf(path, sizeof(path), "%s/index", f->state);
        (void)unlink(path);
        assert_int_equal(fixture_open(f), 0); /* with times of the future in its file from now on */
        assert_true(ledger_entry(f->ledger, N).ts_us > RIGHT);
        loop_clock_freeze(f->loop, RIGHT + 1);
        fixture_reopen(f);
        assert_false(ledger_stats(f->ledger).is_index_loaded);
        assert_int_equal(ledger_next_ts_us(f->ledger), RIGHT + 1);
        assert_int_equal(ledger_first_after_ts(f->ledger, RIGHT - 1), N);
        assert_event(f, N, RIGHT, "b");
}

static void test_files_with_lines(void **state) {
        Fixture *f = *state;
        char path[128], text[64];
        FileIdentity identity, old = {.ino = 1};
        Write write, other;

        assert_int_equal(fixture_open(f), 0);
        snprintf(path, sizeof(path), "%s/group.yaml", f->dir);
        write_begin(&write, f);
        write_event(&write, 1, "a");
        assert_int_equal(ledger_change_file(&write.change, path, STR("v: 1\n"), &(FileIdentity){0}), 0);
        assert_int_equal(write_end(&write, f), 0);
        file_get(path, text, sizeof(text));
        assert_string_equal(text, "v: 1\n");
        assert_int_equal(file_identify(path, &identity), 0);

        /* One that expected another file fails alone, its line does not appear. */
        write_begin(&write, f);
        write_event(&write, 2, "a");
        assert_int_equal(ledger_change_file(&write.change, path, STR("v: 2\n"), &old), 0);
        assert_int_equal(ledger_change_commit(&write.change), 0);
        write_begin(&other, f);
        write_event(&other, 3, "a");
        assert_int_equal(ledger_change_file(&other.change, path, STR("v: 3\n"), &identity), 0);
        assert_int_equal(write_end(&other, f), 0);
        assert_int_equal(write.r, -ESTALE);
        file_get(path, text, sizeof(text));
        assert_string_equal(text, "v: 3\n");
        assert_int_equal(ledger_n_committed(f->ledger), 2);
        assert_event(f, 1, 3, "a");
        assert_int_equal(count_files(f->state, ".stage."), 0);
        fixture_reopen(f);
        assert_event(f, 1, 3, "a");
}

typedef struct Prepared {
        Write write;
        const char *path;
        int wanted;
        size_t n_seen; /* bytes that the ledger had by then */
        bool has_next;
} Prepared;

static int test_prepare(LedgerChange *change) {
        Prepared *prepared = container_of(change, Prepared, write.change);
        char text[256];

        prepared->n_seen = file_get(prepared->path, text, sizeof(text));
        prepared->has_next = change->next;
        return prepared->wanted;
}

static void test_prepared(void **state) {
        Fixture *f = *state;
        Prepared good = {.path = f->path, .n_seen = 1},
                 bad = {.path = f->path, .n_seen = 1, .wanted = -EACCES};

        assert_int_equal(fixture_open(f), 0);
        write_begin(&good.write, f);
        write_event(&good.write, 1, "a");
        good.write.change.prepare = test_prepare;
        assert_int_equal(ledger_change_commit(&good.write.change), 0);
        write_begin(&bad.write, f);
        write_event(&bad.write, 2, "a");
        bad.write.change.prepare = test_prepare;
        assert_int_equal(write_end(&bad.write, f), -EACCES); /* alone */
        assert_int_equal(good.write.r, 0);
        assert_true(good.has_next && !bad.has_next);
        assert_int_equal(good.n_seen + bad.n_seen, 0); /* before the lines */
        assert_int_equal(ledger_n_committed(f->ledger), 1);
        assert_event(f, 0, 1, "a");
}

static void test_lines_of_others(void **state) {
        Fixture *f = *state;
        char text[256];

        assert_int_equal(fixture_open(f), 0);
        assert_int_equal(put_event(f, 1, "a"), 0);
        event_text(text, sizeof(text), 2, "b");
        strcat(text, "\n");
        file_put(f->path, text, strlen(text), true);
        assert_int_equal(put_event(f, 3, "a"), 0);
        assert_int_equal(ledger_n_committed(f->ledger), 3);
        assert_event(f, 1, 2, "b");
        assert_event(f, 2, 3, "a");

        event_text(text, sizeof(text), 4, "b");
        strcat(text, "\n");
        assert_false(ledger_check(f->ledger));
        file_put(f->path, text, strlen(text), true);
        assert_true(ledger_check(f->ledger));
        fixture_settle(f);
        assert_false(ledger_check(f->ledger));
        assert_event(f, 3, 4, "b");
        assert_int_equal(f->n_committed, 4);
        assert_int_equal(ledger_stats(f->ledger).n_foreign, 2);
}

static void test_replaced_by_others(void **state) {
        Fixture *f = *state;
        char text[256], other[128];

        assert_int_equal(fixture_open(f), 0);
        put_events(f, 1, 5, "a");
        event_text(text, sizeof(text), 9, "b");
        strcat(text, "\n");
        snprintf(other, sizeof(other), "%s/other", f->dir);
        file_put(other, text, strlen(text), false);
        assert_int_equal(rename(other, f->path), 0);
        assert_int_equal(put_event(f, 10, "a"), 0);
        assert_int_equal(f->n_rewritten, 1);
        assert_int_equal(ledger_n_committed(f->ledger), 2);
        assert_event(f, 0, 9, "b");
        assert_event(f, 1, 10, "a");
        assert_listed(f, "to:a", 0, false, "1");

        file_put(f->path, text, strlen(text), false); /* in place, shorter */
        assert_true(ledger_check(f->ledger));
        fixture_settle(f);
        assert_int_equal(ledger_n_committed(f->ledger), 1);
}

static void test_waits_for_the_lock(void **state) {
        Fixture *f = *state;
        char path[128];
        Write write;
        int fd;

        assert_int_equal(fixture_open(f), 0);
        snprintf(path, sizeof(path), "%s/ledger.lock", f->state);
        assert_int_equal(file_lock(path, &fd), 0);
        write_begin(&write, f);
        write_event(&write, 1, "a");
        assert_int_equal(ledger_change_commit(&write.change), 0);
        for (int i = 0; i < 50; i++) {
                loop_turn(f->loop);
                usleep(100);
        }
        assert_false(write.is_done);
        close(fd);
        fixture_wait(f, &write.is_done);
        assert_int_equal(write.r, 0);
}

static void test_rewrite_done(void *user, int r) {
        *(int *)user = r;
        note('r');
}

static void test_rewrite(void **state) {
        Fixture *f = *state;
        uint64_t gone[] = {0, 2, 3};
        char archive[128], text[512], want[512] = "", line[256];
        Write write;
        int r = 1;

        assert_int_equal(fixture_open(f), 0);
        put_events(f, 1, 5, "a");
        snprintf(archive, sizeof(archive), "%s/archive/old.jsonl", f->state);
        assert_int_equal(ledger_rewrite(f->ledger, gone, 3, archive, test_rewrite_done, &r), 0);
        assert_int_equal(ledger_rewrite(f->ledger, gone, 3, archive, test_rewrite_done, &r), -EBUSY);
        write_begin(&write, f);
        write_event(&write, 6, "b");
        assert_int_equal(write_end(&write, f), 0);
        assert_int_equal(r, 0);
        assert_int_equal(f->n_rewritten, 1);
        assert_int_equal(ledger_n_committed(f->ledger), 3);
        assert_event(f, 0, 2, "a");
        assert_event(f, 1, 5, "a");
        assert_event(f, 2, 6, "b");
        for (unsigned i = 1; i <= 4; i += i == 1 ? 2 : 1) {
                event_text(line, sizeof(line), i, "a");
                strcat(strcat(want, line), "\n");
        }
        file_get(archive, text, sizeof(text));
        assert_string_equal(text, want);
        fixture_reopen(f);
        assert_int_equal(ledger_n_committed(f->ledger), 3);
        trail[n_trail = 0] = 0;
}

static void test_open_fails(void **state) {
        Fixture *f = *state;

        snprintf(f->path, sizeof(f->path), "%s/no/such/folder/ledger.jsonl", f->dir);
        assert_int_equal(fixture_open(f), -ENOENT);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                ledger_test(test_append_and_reopen),
                ledger_test(test_group_commit),
                ledger_test(test_index),
                ledger_test(test_pending),
                ledger_test(test_refused_lines),
                ledger_test(test_time_stamps),
                ledger_test(test_time_goes_back),
                ledger_test(test_files_with_lines),
                ledger_test(test_prepared),
                ledger_test(test_lines_of_others),
                ledger_test(test_replaced_by_others),
                ledger_test(test_waits_for_the_lock),
                ledger_test(test_rewrite),
                ledger_test(test_open_fails),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
