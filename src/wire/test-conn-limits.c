/* SPDX-License-Identifier: MIT */
/* Limits of a connection: deadlines, and the account that it is charged to. */
#include "wire/test-conn-fixture.h"

/* ---- deadlines ------------------------------------------------------------------------------- */

static void test_handshake_deadline(void **state) {
        Bench *bench = *state;
        ConnLimits limits = {.high_water = 1000, .handshake_ms = 1000};
        Link late, early;

        link_open(&late, bench);
        link_start(&late, &lines, &limits);
        link_open(&early, bench);
        peer_says_text(&early, "there already\n");
        link_start(&early, &lines, &limits);
        peer_says_text(&late, "unfinished");
        turn_after(bench, 999);
        assert_int_equal(late.n_closed, 0);
        turn_after(bench, 1);
        assert_closed(&late, "handshake timeout");
        turn_after(bench, 1000000);
        assert_int_equal(early.n_closed, 0);
        link_end(&late);
        link_end(&early);
}

static void test_handshake_in_time(void **state) {
        Bench *bench = *state;
        ConnLimits limits = {.high_water = 1000, .handshake_ms = 1000};
        Link link;

        link_open(&link, bench);
        link_start(&link, &lines, &limits);
        turn_after(bench, 999);
        peer_says_text(&link, "\n");
        turns(bench, 1);
        turn_after(bench, 1000000);
        assert_int_equal(link.n_closed, 0);
        link_end(&link);
}

/* What was only looked at to choose a framing is no frame yet. */
static void test_handshake_and_reframe(void **state) {
        Bench *bench = *state;
        ConnLimits limits = {.high_water = 1000, .handshake_ms = 1000};
        Link link;

        link_open(&link, bench);
        link.on_frame = choose_framing;
        link_start(&link, &raw, &limits);
        peer_says_text(&link, "unfinished");
        turn_after(bench, 500);
        assert_int_equal(link.n_frames, 1);
        turn_after(bench, 500);
        assert_closed(&link, "handshake timeout");
        link_end(&link);
}

static void test_idle_deadline(void **state) {
        Bench *bench = *state;
        ConnLimits limits = {.high_water = 1000, .handshake_ms = 500, .idle_ms = 1000};
        Link link;

        link_open(&link, bench);
        link_start(&link, &lines, &limits);
        turn_after(bench, 400);
        peer_says_text(&link, "hello\n");
        turns(bench, 1);
        for (int i = 0; i < 10; i++) {
                turn_after(bench, 900);
                assert_int_equal(link.n_closed, 0);
                peer_says_text(&link, "."); /* any byte counts */
                turns(bench, 1);
        }
        turn_after(bench, 999);
        assert_int_equal(link.n_closed, 0);
        turn_after(bench, 1);
        assert_closed(&link, "idle");
        link_end(&link);
}

static void test_idle_without_handshake(void **state) {
        Bench *bench = *state;
        ConnLimits limits = {.high_water = 1000, .idle_ms = 1000};
        Link link;

        link_open(&link, bench);
        peer_says_text(&link, "hello\n");
        link_start(&link, &lines, &limits);
        turn_after(bench, 999);
        assert_int_equal(link.n_closed, 0);
        turn_after(bench, 1);
        assert_closed(&link, "idle");
        link_end(&link);
}

/* No handshake deadline is asked for: an unfinished first frame may take as long as it keeps coming. */
static void test_idle_before_the_first_frame(void **state) {
        Bench *bench = *state;
        ConnLimits limits = {.high_water = 1000, .idle_ms = 1000};
        Link link;

        link_open(&link, bench);
        link_start(&link, &lines, &limits);
        for (int i = 0; i < 5; i++) {
                turn_after(bench, 900);
                assert_int_equal(link.n_closed, 0);
                peer_says_text(&link, ".");
                turns(bench, 1);
        }
        turn_after(bench, 1000);
        assert_closed(&link, "idle");
        link_end(&link);
}

/* Silence is counted from the last byte, not from the end of a longer handshake deadline. */
static void test_idle_shorter_than_handshake(void **state) {
        Bench *bench = *state;
        ConnLimits limits = {.high_water = 1000, .handshake_ms = 60000, .idle_ms = 1000};
        Link link;

        link_open(&link, bench);
        link_start(&link, &lines, &limits);
        turn_after(bench, 5000);
        assert_int_equal(link.n_closed, 0);
        peer_says_text(&link, "hello\n");
        turns(bench, 1);
        turn_after(bench, 999);
        assert_int_equal(link.n_closed, 0);
        turn_after(bench, 1);
        assert_closed(&link, "idle");
        link_end(&link);
}

/* Bytes that are queued for a peer that takes none are not bytes in either direction. */
static void test_idle_ignores_a_stuck_queue(void **state) {
        Bench *bench = *state;
        ConnLimits limits = {.high_water = 1000, .idle_ms = 1000};
        Link link;

        link_open(&link, bench);
        link.n_answer = 100000;
        link_start(&link, &lines, &limits);
        peer_says_text(&link, "hello\n");
        answer(&link, STR_NULL);
        conn_flush_soon(link.conn);
        turns(bench, 2);
        assert_true(conn_pending(link.conn) > 0);
        for (int i = 0; i < 4; i++) {
                assert_int_equal(link.n_closed, 0);
                assert_int_equal(conn_write(link.conn, STR("event")), 0);
                turn_after(bench, 250);
        }
        assert_closed(&link, "idle");
        link_end(&link);
}

/* Bytes that the peer takes count, too: it may only be listening. */
static void test_idle_counts_output(void **state) {
        Bench *bench = *state;
        ConnLimits limits = {.high_water = 1000, .idle_ms = 1000};
        Link link;

        link_open(&link, bench);
        peer_says_text(&link, "hello\n");
        link_start(&link, &lines, &limits);
        for (int i = 0; i < 5; i++) {
                turn_after(bench, 900);
                assert_int_equal(link.n_closed, 0);
                assert_int_equal(conn_write(link.conn, STR("event")), 0);
                turns(bench, 1);
                peer_hears(&link);
        }
        turn_after(bench, 1000);
        assert_closed(&link, "idle");
        link_end(&link);
}

/* Limits that change later: none, and then one. */
static void test_idle_limit_changes(void **state) {
        Bench *bench = *state;
        ConnLimits limits = {.high_water = 1000, .idle_ms = 1000}, none = {.high_water = 1000};
        Link link;

        link_open(&link, bench);
        link_start(&link, &lines, &limits);
        peer_says_text(&link, "hello\n");
        turns(bench, 1);
        conn_set_limits(link.conn, &none);
        turn_after(bench, 100000);
        assert_int_equal(link.n_closed, 0);
        conn_set_limits(link.conn, &limits); /* counts from here */
        turn_after(bench, 999);
        assert_int_equal(link.n_closed, 0);
        turn_after(bench, 1);
        assert_closed(&link, "idle");
        link_end(&link);
}

/* ---- accounts -------------------------------------------------------------------------------- */

static void test_account(void **state) {
        Accounts accounts = {.max_conns = 2, .max_bytes = 10};
        Account *a, *b, *c;

        (void)state;
        assert_int_equal(account_open_user(&accounts, 1, &a), 0);
        assert_int_equal(account_open_user(&accounts, 1, &b), 0);
        assert_ptr_equal(a, b);
        assert_int_equal(account_open_user(&accounts, 1, &c), ACCOUNT_E_QUOTA);
        assert_int_equal(account_open_host(&accounts, &(struct in6_addr){.s6_addr = {1}}, &c),
                         0); /* a host, not a user */
        assert_ptr_not_equal(a, c);
        assert_null(account_close(a));
        assert_int_equal(account_open_user(&accounts, 1, &b), 0);
        assert_ptr_equal(a, b);
        a->n_bytes = 10;
        assert_true(account_has_room(a));
        a->n_bytes = 11;
        assert_false(account_has_room(a));
        accounts.max_bytes = 0;
        assert_true(account_has_room(a));
        assert_null(account_close(NULL));
        account_close(a);
        account_close(a);
        account_close(c);
        accounts_deinit(&accounts);
        assert_null(accounts.first);
}

static void test_charges(void **state) {
        Bench *bench = *state;
        char block[5000];
        Link a, b;

        memset(block, 'x', sizeof(block));
        link_begin(&a, bench);
        link_begin(&b, bench);
        assert_ptr_equal(a.account, b.account);
        assert_int_equal(a.account->n_conns, 2);
        peer_says(&a, block, sizeof(block));
        peer_says(&b, block, sizeof(block));
        turns(bench, 1);
        assert_in_range(a.account->n_bytes, 10000, 20000);
        peer_says_text(&a, "\n");
        peer_says_text(&b, "\n");
        turns(bench, 1);
        assert_int_equal(a.account->n_bytes, 0);
        a.n_answer = 1 << 19;
        answer(&a, STR_NULL);
        conn_flush_soon(a.conn);
        turns(bench, 1);
        assert_int_equal(a.account->n_bytes, conn_pending(a.conn));
        hear_until(&a, 1 << 19);
        assert_int_equal(a.account->n_bytes, 0);
        answer(&a, STR_NULL);
        conn_flush_soon(a.conn);
        turns(bench, 1);
        link_end(&a); /* with output that was never sent */
        assert_int_equal(b.account->n_bytes, 0);
        assert_int_equal(b.account->n_conns, 1);
        link_end(&b);
}

static void test_quota(void **state) {
        Bench *bench = *state;
        char block[5000];
        Link a, b;

        memset(block, 'x', sizeof(block));
        bench->accounts.max_bytes = 12000;
        link_begin(&a, bench);
        link_begin(&b, bench);
        peer_says(&a, block, sizeof(block));
        peer_says(&b, block, sizeof(block));
        turns(bench, 2);
        assert_int_equal(a.n_closed + b.n_closed, 0);
        peer_says(&b, block, sizeof(block));
        turns(bench, 2);
        assert_int_equal(a.n_closed, 0);
        assert_closed(&b, "quota of the peer used up");
        assert_true(account_has_room(a.account));
        peer_says_text(&a, "\n");
        turns(bench, 2);
        assert_int_equal(a.n_frames, 1);
        link_end(&a);
        link_end(&b);
}

/* Who crosses the line is not who has to go. */
static void test_quota_of_a_greedy_one(void **state) {
        Bench *bench = *state;
        char block[5000];
        Link greedy, other;

        memset(block, 'x', sizeof(block));
        bench->accounts.max_bytes = 24000;
        link_begin(&greedy, bench);
        link_begin(&other, bench);
        for (size_t i = 0; i < 3; i++)
                peer_says(&greedy, block, sizeof(block));
        turns(bench, 2);
        for (size_t i = 0; i < 2; i++)
                peer_says(&other, block, sizeof(block));
        turns(bench, 3);
        assert_closed(&greedy, "quota of the peer used up");
        assert_int_equal(other.n_closed, 0);
        assert_true(account_has_room(other.account));
        peer_says_text(&other, "\n");
        turns(bench, 2);
        assert_int_equal(other.n_frames, 1);
        link_end(&greedy);
        link_end(&other);
        assert_int_equal(bench->accounts.first->n_bytes, 0);
}

/* Two processes whose pids fell into one slot of 64 were taken for one: the greedy one kept the other out. */
static void test_eviction_knows_processes_apart(void **state) {
        Bench *bench = *state;
        Link links[3];

        for (size_t i = 0; i < 3; i++)
                link_begin(&links[i], bench);
        bench->accounts.max_conns = 3;
        assert_false(conn_evict(links[0].account, 8)); /* it has most itself */
        assert_true(conn_evict(links[0].account, 8 + ACCOUNT_CHAINS));
        turns(bench, 1);
        assert_closed(&links[0], "quota of the peer used up");
        assert_int_equal(links[1].account->n_conns, 2);
        for (size_t i = 0; i < 3; i++)
                link_end(&links[i]);
        assert_int_equal(bench->accounts.first->n_conns, 0);
        assert_null(share_largest(bench->accounts.first, false));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                conn_test(test_handshake_deadline),
                conn_test(test_handshake_in_time),
                conn_test(test_handshake_and_reframe),
                conn_test(test_idle_deadline),
                conn_test(test_idle_without_handshake),
                conn_test(test_idle_before_the_first_frame),
                conn_test(test_idle_shorter_than_handshake),
                conn_test(test_idle_ignores_a_stuck_queue),
                conn_test(test_idle_counts_output),
                conn_test(test_idle_limit_changes),
                cmocka_unit_test(test_account),
                conn_test(test_charges),
                conn_test(test_quota),
                conn_test(test_quota_of_a_greedy_one),
                conn_test(test_eviction_knows_processes_apart),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
