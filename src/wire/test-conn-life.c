/* SPDX-License-Identifier: MIT */
/* The end of a connection: finishing, draining, lingering, aborting, from wherever it is asked for. */
#include "wire/test-conn-fixture.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/macro.h"

static void finish_here(Link *link, Str frame) {
        answer(link, frame);
        conn_finish(link->conn, "finished");
}

static void abort_here(Link *link, _unused_ Str frame) {
        conn_abort(link->conn, "aborted");
}

static void abort_other(Link *link, _unused_ Str frame) {
        conn_abort(link->other->conn, "aborted by the other");
}

static void refuse(Link *link) {
        assert_int_equal(conn_write(link->conn, STR("too long")), 0);
        conn_finish(link->conn, "oversize");
}

static void test_finish_sends_everything(void **state) {
        Bench *bench = *state;
        Link link;

        link_begin(&link, bench);
        link.on_frame = finish_here;
        link.n_answer = 1 << 19;
        peer_says_text(&link, "x\n");
        turns(bench, 3);
        assert_true(conn_is_closing(link.conn));
        assert_int_equal(link.n_closed, 0);
        conn_finish(link.conn, "twice"); /* the first one counts */
        hear_until(&link, 1 << 19);
        turns(bench, 1);
        peer_hears(&link);
        assert_true(link.heard_end);
        assert_closed(&link, "finished");
        link_end(&link);
}

static void test_finish_from_outside(void **state) {
        Link link;

        link_begin(&link, *state);
        assert_int_equal(conn_write(link.conn, STR("bye")), 0);
        conn_finish(link.conn, "finished");
        assert_int_equal(link.n_closed, 0); /* deferred */
        turns(*state, 1);
        assert_closed(&link, "finished");
        peer_hears(&link);
        assert_string_equal(buf_cstr(&link.heard), "bye");
        link_end(&link);
}

/* Frames behind the one that finished are not handed out; the peer gets its answer nevertheless. */
static void test_finish_with_backlog(void **state) {
        Bench *bench = *state;
        Link link;

        link_begin(&link, bench);
        link.on_frame = finish_here;
        link.n_answer = 5;
        peer_says_text(&link, "a\nb\nc\nd");
        turns(bench, 3);
        assert_frames(&link, "a|");
        assert_int_equal(link.n_closed, 0); /* lingers */
        peer_says_text(&link, "e\nf\n");
        turns(bench, 3);
        peer_hears(&link);
        assert_int_equal(link.heard.n, 5);
        assert_true(link.heard_end);
        assert_sleeps(bench);
        peer_goes(&link);
        turns(bench, 2);
        assert_closed(&link, "finished");
        assert_frames(&link, "a|");
        assert_int_equal(link.n_eof, 0);
        link_end(&link);
}

static void test_drain_limit(void **state) {
        Bench *bench = *state;
        Link link;

        link_begin(&link, bench);
        link.on_frame = finish_here;
        link.n_answer = 1 << 19;
        peer_says_text(&link, "x\n");
        turns(bench, 3);
        turn_after(bench, CONN_DRAIN_MS / 2);
        peer_hears(&link); /* takes a little: that does not buy more time */
        turn_after(bench, CONN_DRAIN_MS / 2 - 1);
        assert_int_equal(link.n_closed, 0);
        assert_sleeps(bench);
        turn_after(bench, 1);
        assert_closed(&link, "finished");
        link_end(&link);
}

/* Nor does it keep the loop busy when frames are left that nobody will handle. */
static void test_drain_with_backlog_sleeps(void **state) {
        Bench *bench = *state;
        Link link;

        link_begin(&link, bench);
        link.on_frame = finish_here;
        link.n_answer = 1 << 19;
        peer_says_text(&link, "x\ny\n");
        turns(bench, 3);
        assert_sleeps(bench);
        turn_after(bench, CONN_DRAIN_MS);
        assert_closed(&link, "finished");
        link_end(&link);
}

/* A peer that writes all it has before it reads anything gets the answers that were queued for it. */
static void test_drain_reads_on(void **state) {
        Bench *bench = *state;
        _cleanup_(freep) char *block = calloc(1, 1 << 20);
        Link link;

        link_open(&link, bench);
        link_start(&link, &short_lines, &plain);
        link.on_frame = answer;
        link.n_answer = 50000;
        link.on_oversize = refuse;
        peer_says_text(&link, "x\n");
        turns(bench, 2);
        peer_says(&link, block, 1 << 20);
        hear_until(&link, 50008);
        link_end(&link);
}

/* The peer writes on long after its line was found too long, and only then reads: the answer is there. */
static void test_oversize_lingers(void **state) {
        Bench *bench = *state;
        _cleanup_(freep) char *block = malloc(1 << 20);
        Link link;

        memset(block, 'x', 1 << 20);
        link_open(&link, bench);
        link_start(&link, &short_lines, &plain);
        link.on_oversize = refuse;
        peer_says_text(&link, "fine\n");
        peer_says(&link, block, 100);
        turns(bench, 2);
        assert_int_equal(link.n_oversize, 0); /* exactly at the limit */
        peer_says(&link, block, 1 << 20);
        peer_says_text(&link, "\nnot any more\n");
        turns(bench, 20);
        assert_int_equal(link.n_oversize, 1);
        assert_frames(&link, "fine|");
        assert_int_equal(link.n_closed, 0);
        peer_hears(&link);
        assert_string_equal(buf_cstr(&link.heard), "too long");
        assert_true(link.heard_end);
        assert_int_equal(link.hear_error, 0);
        peer_ends(&link);
        turns(bench, 2);
        assert_closed(&link, "oversize");
        link_end(&link);
}

static void test_linger_limits(void **state) {
        Bench *bench = *state;
        _cleanup_(freep) char *block = malloc(1 << 16);
        size_t n = 0;
        ssize_t k;
        Link slow, endless;

        memset(block, 'x', 1 << 16);
        link_open(&slow, bench);
        link_start(&slow, &short_lines, &plain);
        slow.on_oversize = refuse;
        peer_says(&slow, block, 200);
        turns(bench, 2);
        turn_after(bench, CONN_LINGER_MS - 1);
        assert_int_equal(slow.n_closed, 0);
        turn_after(bench, 1);
        assert_closed(&slow, "oversize");
        link_end(&slow);

        link_open(&endless, bench);
        link_start(&endless, &short_lines, &plain);
        endless.on_oversize = refuse;
        signal(SIGPIPE, SIG_IGN);
        while (!endless.n_closed && n < 2u * CONN_LINGER_BYTES) {
                k = write(endless.peer_out, block, 1 << 16);
                n += (size_t)MAX(k, 0);
                turns(bench, 1);
        }
        signal(SIGPIPE, SIG_DFL);
        assert_in_range(n, CONN_LINGER_BYTES, CONN_LINGER_BYTES + (4 << 20));
        assert_closed(&endless, "oversize");
        link_end(&endless);
}

/* While it lingers, the end of the peer's side ends it, even if an answer is still owed and input is paused.
 */
static void test_linger_of_a_paused_one(void **state) {
        Bench *bench = *state;
        Link link;

        link_begin(&link, bench);
        link.on_frame = pause_here;
        peer_says_text(&link, "a\nb\n");
        turns(bench, 2);
        conn_finish(link.conn, "finished");
        turns(bench, 2);
        assert_int_equal(link.n_closed, 0);
        peer_goes(&link);
        turns(bench, 3);
        assert_closed(&link, "finished");
        link_end(&link);
}

static void note_fault(Link *link) {
        link->n_answer = (size_t)conn_fault(link->conn);
        conn_finish(link->conn, "oversize");
}

/* What is too large can be told from what is no frame at all. */
static void test_fault(void **state) {
        static const Framing head = {.kind = FRAMING_HEAD, .n_max = 100};
        static const struct {
                const char *said;
                int fault;
        } cases[] = {
                {"GET /\r\nA\n", FRAMING_E_WRONG},
                {"GET "
                 "/01234567890123456789012345678901234567890123456789012345678901234567890123456789012345678"
                 "90123456789",
                 FRAMING_E_TOO_LARGE},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                Link link;

                link_open(&link, *state);
                link_start(&link, &head, &plain);
                link.on_oversize = note_fault;
                peer_says_text(&link, "OK\r\n\r\n");
                peer_says_text(&link, cases[i].said);
                turns(*state, 2);
                assert_frames(&link, "OK\r\n\r\n|");
                assert_int_equal(link.n_oversize, 1);
                assert_int_equal(link.n_answer, cases[i].fault);
                link_end(&link);
        }
}

/* A handler may let an oversize pass; what follows must not be read from beyond the input. */
static void test_oversize_not_finished(void **state) {
        char block[300];
        Link link;

        memset(block, 'x', sizeof(block));
        link_open(&link, *state);
        link_start(&link, &short_lines, &plain);
        peer_says(&link, block, sizeof(block));
        turns(*state, 1);
        assert_int_equal(link.n_oversize, 1);
        peer_says_text(&link, "a\nb\n");
        turns(*state, 1);
        assert_frames(&link, "a|b|");
        link_end(&link);
}

static void test_abort_inside_the_frame(void **state) {
        Link link;

        link_begin(&link, *state);
        link.on_frame = abort_here;
        peer_says_text(&link, "a\nb\nc\n");
        turns(*state, 1);
        assert_frames(&link, "a|");
        assert_closed(&link, "aborted");
        peer_hears(&link);
        turns(*state, 2);
        link_end(&link);
}

static void test_abort_inside_start(void **state) {
        Link link;

        link_open(&link, *state);
        link.on_frame = abort_here;
        peer_says_text(&link, "a\nb\n");
        link_start(&link, &lines, &plain);
        turns(*state, 1);
        assert_frames(&link, "a|");
        assert_closed(&link, "aborted");
        link_end(&link);
}

static void abort_at_eof(Link *link) {
        conn_abort(link->conn, "aborted at the end");
}

static void test_abort_inside_eof(void **state) {
        Link link;

        link_begin(&link, *state);
        link.on_eof = abort_at_eof;
        peer_ends(&link);
        turns(*state, 2);
        assert_closed(&link, "aborted at the end");
        link_end(&link);
}

/* Both have input in the same turn; whichever comes first closes the other, which then gets nothing. */
static void test_abort_from_another(void **state) {
        Link a, b;

        link_begin(&a, *state);
        link_begin(&b, *state);
        a.on_frame = b.on_frame = abort_other;
        a.other = &b;
        b.other = &a;
        peer_says_text(&a, "x\n");
        peer_says_text(&b, "x\n");
        turns(*state, 1);
        assert_int_equal(a.n_frames + b.n_frames, 1);
        turns(*state, 1);
        assert_int_equal(a.n_closed + b.n_closed, 1);
        assert_closed(a.n_closed ? &a : &b, "aborted by the other");
        link_end(&a);
        link_end(&b);
}

/* One whose backlog is waiting for the next turn. */
static void test_abort_with_backlog(void **state) {
        char flood[CONN_TURN_FRAMES * 2];
        Link a, b;

        link_begin(&a, *state);
        link_begin(&b, *state);
        memset(flood, '\n', sizeof(flood));
        peer_says(&a, flood, sizeof(flood));
        turns(*state, 1);
        assert_int_equal(a.n_frames, CONN_TURN_FRAMES);
        conn_abort(a.conn, "aborted");
        assert_true(conn_is_closing(a.conn));
        turns(*state, 2);
        assert_int_equal(a.n_frames, CONN_TURN_FRAMES);
        assert_closed(&a, "aborted");
        link_end(&a);
        link_end(&b);
}

/* Nobody is told: there is no handler yet. */
static void test_abort_before_start(void **state) {
        Bench *bench = *state;
        Link a, b;

        link_open(&a, bench);
        link_open(&b, bench);
        assert_int_equal(bench->shared.n_open, 2);
        conn_abort(a.conn, "never mind");
        conn_finish(b.conn, "never mind");
        turns(bench, 2);
        assert_int_equal(bench->shared.n_open, 0);
        assert_int_equal(a.n_closed + b.n_closed, 0);
        peer_goes(&a);
        peer_goes(&b);
}

static void test_finish_and_abort(void **state) {
        Link link;

        link_begin(&link, *state);
        link.n_answer = 1 << 19;
        answer(&link, STR_NULL);
        conn_finish(link.conn, "finished");
        turns(*state, 2);
        conn_abort(link.conn, "aborted"); /* did not take its last bytes */
        conn_finish(link.conn, "too late");
        conn_abort(link.conn, "too late");
        turns(*state, 2);
        assert_closed(&link, "aborted");
        link_end(&link);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                conn_test(test_finish_sends_everything),
                conn_test(test_finish_from_outside),
                conn_test(test_finish_with_backlog),
                conn_test(test_drain_limit),
                conn_test(test_drain_with_backlog_sleeps),
                conn_test(test_drain_reads_on),
                conn_test(test_oversize_lingers),
                conn_test(test_linger_limits),
                conn_test(test_linger_of_a_paused_one),
                conn_test(test_oversize_not_finished),
                conn_test(test_fault),
                conn_test(test_abort_inside_the_frame),
                conn_test(test_abort_inside_start),
                conn_test(test_abort_inside_eof),
                conn_test(test_abort_from_another),
                conn_test(test_abort_with_backlog),
                conn_test(test_abort_before_start),
                conn_test(test_finish_and_abort),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
