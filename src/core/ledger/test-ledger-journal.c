/* SPDX-License-Identifier: MIT */
/* What the journal gives back after the machine went down, and what it must not. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/ledger/ledger-journal.h"
#include "core/ledger/ledger-tool.h"
#include "core/ledger/test-ledger-fixture.h"

enum { N_EVENTS = 40 };

/* A power loss that has not happened yet: what was on the disk when it did. */
typedef struct Crash {
        char path[128];
        JournalHead head;
        char journal[LEDGER_JOURNAL_SIZE + 1];
        uint64_t n_ledger;
} Crash;

static uint64_t size_of(const char *path) {
        struct stat st;

        assert_int_equal(stat(path, &st), 0);
        return (uint64_t)st.st_size;
}

/* Events one by one, most of them in the journal; then the ledger is closed as if nothing happened. */
static Crash *prepare(Fixture *f) {
        Crash *crash = calloc(1, sizeof(*crash));

        assert_non_null(crash);
        snprintf(crash->path, sizeof(crash->path), "%s/journal", f->state);
        assert_int_equal(fixture_open(f), 0);
        for (unsigned i = 0; i < N_EVENTS; i++)
                assert_int_equal(put_event(f, i, "a"), 0);
        assert_true(ledger_stats(f->ledger).n_journaled >= N_EVENTS - LEDGER_JOURNAL_WORTH - 2);
        assert_int_equal(file_get(crash->path, crash->journal, sizeof(crash->journal)), LEDGER_JOURNAL_SIZE);
        memcpy(&crash->head, crash->journal, sizeof(crash->head));
        fixture_close(f);
        crash->n_ledger = size_of(f->path);
        assert_true(crash->head.words[LEDGER_JOURNAL_BASE] > 0 &&
                    crash->head.words[LEDGER_JOURNAL_BASE] < crash->n_ledger);
        return crash;
}

/* The journal as it was. */
static void happen(Crash *crash) {
        crash->head.sum = journal_head_sum(&crash->head);
        memcpy(crash->journal, &crash->head, sizeof(crash->head));
        file_put(crash->path, crash->journal, LEDGER_JOURNAL_SIZE, false);
}

static void assert_all_there(Fixture *f, unsigned n) {
        assert_int_equal(fixture_open(f), 0);
        assert_int_equal(ledger_n_committed(f->ledger), n);
        for (unsigned i = 0; i < n; i++)
                assert_event(f, i, i, "a");
}

static void test_lost_tail(void **state) {
        Fixture *f = *state;
        Crash *crash = prepare(f);

        for (uint64_t keep = crash->head.words[LEDGER_JOURNAL_BASE]; keep < crash->n_ledger; keep += 41) {
                assert_int_equal(truncate(f->path, (off_t)keep), 0);
                if (keep % 2)
                        assert_int_equal(truncate(f->path, (off_t)crash->n_ledger), 0); /* zeros */
                happen(crash);
                assert_all_there(f, N_EVENTS);
                assert_int_equal(put_event(f, N_EVENTS, "a"), 0); /* and it goes on */
                fixture_close(f);
                assert_int_equal(count_files(f->state, "cut."), 0);
        }
        free(crash);
}

static void test_nothing_lost(void **state) {
        Fixture *f = *state;
        Crash *crash = prepare(f);

        happen(crash);
        assert_all_there(f, N_EVENTS);
        assert_int_equal(size_of(f->path), crash->n_ledger);
        free(crash);
}

/* The ledger was closed, and so synced: who cuts it then means it. */
static void test_cut_by_hand(void **state) {
        Fixture *f = *state;
        Crash *crash = prepare(f);

        assert_int_equal(truncate(f->path, (off_t)crash->head.words[LEDGER_JOURNAL_BASE]), 0);
        assert_int_equal(fixture_open(f), 0);
        assert_true(ledger_n_committed(f->ledger) < N_EVENTS);
        free(crash);
}

/* A second after the last commit the ledger is synced; the same counts then. */
static void test_cut_under_way(void **state) {
        Fixture *f = *state;
        JournalHead head = {0}, none = {0};
        char path[128];

        snprintf(path, sizeof(path), "%s/journal", f->state);
        assert_int_equal(fixture_open(f), 0);
        for (unsigned i = 0; i < N_EVENTS; i++)
                assert_int_equal(put_event(f, i, "a"), 0);
        do {
                loop_turn_wait(f->loop);
                assert_true(file_get(path, (char *)&head, sizeof(head)) > 0);
        } while (memcmp(&head, &none, sizeof(head) - 1) != 0);
        fixture_settle(f);
}

/* A record that is not whole was never answered; those before it count. */
static void test_torn_record(void **state) {
        Fixture *f = *state;
        Crash *crash = prepare(f);
        char *last = NULL, id[32];

        snprintf(id, sizeof(id), "\"id\":\"e%u\"", N_EVENTS - 1);
        for (char *at = crash->journal; !last && at < crash->journal + LEDGER_JOURNAL_SIZE - sizeof(id);
             at++)
                last = memcmp(at, id, strlen(id)) == 0 ? at : NULL;
        assert_non_null(last);
        *last ^= 1;
        assert_int_equal(truncate(f->path, (off_t)crash->head.words[LEDGER_JOURNAL_BASE]), 0);
        happen(crash);
        assert_all_there(f, N_EVENTS - 1);
        free(crash);
}

/* Another program came first and went on from the shorter file. */
static void test_place_is_taken(void **state) {
        static const char other[] = "{\"id\":\"other\",\"ts\":1,\"kind\":\"chat\"}\n";
        Fixture *f = *state;
        Crash *crash = prepare(f);
        uint64_t n_before;

        assert_int_equal(truncate(f->path, (off_t)crash->head.words[LEDGER_JOURNAL_BASE]), 0);
        file_put(f->path, other, strlen(other), true);
        happen(crash);
        assert_int_equal(fixture_open(f), 0);
        n_before = ledger_n_committed(f->ledger) - 1;
        assert_true(n_before < N_EVENTS);
        assert_line(f, n_before, "{\"id\":\"other\",\"ts\":1,\"kind\":\"chat\"}");
        assert_int_equal(count_files(f->state, "cut."), 1);
        free(crash);
}

/* Bytes before what the journal holds are others now: it is not that file any more. */
static void test_another_file(void **state) {
        Fixture *f = *state;
        Crash *crash = prepare(f);

        crash->head.words[LEDGER_JOURNAL_WITNESS] ^= 1;
        assert_int_equal(truncate(f->path, (off_t)crash->head.words[LEDGER_JOURNAL_BASE]), 0);
        happen(crash);
        assert_int_equal(fixture_open(f), 0);
        assert_true(ledger_n_committed(f->ledger) < N_EVENTS);
        free(crash);
}

static void test_tools(void **state) {
        Fixture *f = *state;
        Crash *crash = prepare(f);
        LedgerReport report;
        LedgerRepair repair;

        assert_int_equal(truncate(f->path, (off_t)crash->head.words[LEDGER_JOURNAL_BASE]), 0);
        happen(crash);
        assert_int_equal(ledger_inspect(f->path, f->state, &report), 0);
        assert_int_equal(report.journal.n_restored,
                         crash->n_ledger - crash->head.words[LEDGER_JOURNAL_BASE]);
        assert_false(ledger_report_is_sound(&report));
        ledger_report_deinit(&report);
        assert_int_equal(size_of(f->path), crash->head.words[LEDGER_JOURNAL_BASE]); /* it only looked */
        assert_int_equal(ledger_repair(f->path, f->state, NULL, &repair), 0);
        assert_int_equal(size_of(f->path), crash->n_ledger);
        assert_all_there(f, N_EVENTS);
        free(crash);
}

/* Many times its size, with lines of others and large ones in between. */
static void test_wraps(void **state) {
        static const char other[] = "{\"id\":\"other\",\"ts\":1,\"kind\":\"chat\"}\n";
        Fixture *f = *state;
        unsigned n = 0;

        assert_int_equal(fixture_open(f), 0);
        while (ledger_n_bytes(f->ledger) < UINT64_C(4) * LEDGER_JOURNAL_SIZE) {
                char text[2048];

                snprintf(text, sizeof(text),
                         "{\"id\":\"w%u\",\"ts\":%u,\"kind\":\"chat\",\"pad\":\"%01500d\"}", n, n, 0);
                if (n % 50 == 7)
                        file_put(f->path, other, strlen(other), true);
                Write write;
                write_begin(&write, f);
                write_line(&write, text);
                assert_int_equal(write_end(&write, f), 0);
                n++;
        }
        assert_true(ledger_stats(f->ledger).n_journaled > n / 2);
        fixture_reopen(f);
        assert_int_equal(ledger_n_committed(f->ledger), n + (n + 42) / 50);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                ledger_test(test_lost_tail),    ledger_test(test_nothing_lost),
                ledger_test(test_cut_by_hand),  ledger_test(test_cut_under_way),
                ledger_test(test_torn_record),  ledger_test(test_place_is_taken),
                ledger_test(test_another_file), ledger_test(test_tools),
                ledger_test(test_wraps),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
