/* SPDX-License-Identifier: MIT */
/* Input of a connection: frames, pausing, slices per turn, changes of framing, the peer's end. */
#include "wire/test-conn-fixture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"

/* ---- input ----------------------------------------------------------------------------------- */

static void test_frames(void **state) {
        Link link;

        link_open(&link, *state);
        peer_says_text(&link, "zero\n");
        link_start(&link, &lines, &plain);
        assert_frames(&link, "zero|"); /* at once: it was there already */
        peer_says_text(&link, "one\n\ntwo\nthr");
        turns(*state, 1);
        assert_frames(&link, "zero|one||two|");
        peer_says_text(&link, "e");
        turns(*state, 1);
        peer_says_text(&link, "e\nx");
        turns(*state, 1);
        assert_frames(&link, "zero|one||two|three|");
        assert_int_equal(link.account->n_requests, 5);
        assert_false(conn_is_closing(link.conn));
        link_end(&link);
        assert_closed(&link, "the test is over");
}

/* A secret in pieces and in long lines, with frames that are handed out late: the shared buffer has nothing of it. */
static void test_secrets(void **state) {
        Bench *bench = *state;
        _cleanup_(buf_deinit) Buf line = BUF_NULL;
        Link link;

        link_open(&link, bench);
        conn_keep_secret(link.conn);
        link_start(&link, &lines, &plain);
        link.on_frame = pause_here;
        for (int i = 0; i < 40; i++)
                assert_int_equal(buf_printf(&line, "secret %d %*s\n", i, i * 97, ""), 0);
        for (size_t at = 0; at < line.n; at += 501) {
                peer_says(&link, line.data + at, MIN((size_t)501, line.n - at));
                turns(bench, 2);
                assert_null(memmem(bench->shared.read_buffer, CONN_READ_MAX, "secret", 6));
                conn_resume(link.conn);
                turns(bench, 2);
        }
        for (int i = 0; i < 100; i++) {
                conn_resume(link.conn);
                turns(bench, 1);
        }
        assert_int_equal(link.n_frames, 40);
        assert_int_equal(link.frames.n, line.n);
        peer_says_text(&link, "half a secret");
        turns(bench, 1);
        assert_int_equal(conn_write(link.conn, STR("an answer\n")), 0);
        turns(bench, 1);
        link_end(&link);
}

/* Random pieces, paused after every frame, resumed a little later: order is kept and nothing is lost. */
static void test_pause_and_resume(void **state) {
        Bench *bench = *state;
        _cleanup_(buf_deinit) Buf stream = BUF_NULL, want = BUF_NULL;
        uint32_t seed = 9;
        Link link;

        link_begin(&link, bench);
        link.on_frame = pause_here;
        for (int i = 0; i < 700; i++) {
                assert_int_equal(buf_printf(&stream, "%d%*s\n", i, i * 37 % 300, ""), 0);
                assert_int_equal(buf_printf(&want, "%d%*s|", i, i * 37 % 300, ""), 0);
        }
        for (size_t at = 0, n; at < stream.n; at += n) {
                int n_frames;
                seed = seed * 1664525 + 1013904223;
                n = MIN((seed >> 8) % 1000, stream.n - at);
                peer_says(&link, stream.data + at, n);
                turns(bench, (int)(seed >> 30));
                n_frames = link.n_frames;
                conn_resume(link.conn);
                assert_int_equal(link.n_frames, n_frames); /* not from inside resume */
                turns(bench, 2);
                assert_true(link.n_frames <= n_frames + 1);
        }
        peer_ends(&link);
        for (int i = 0; i < 3000; i++) {
                assert_true(link.n_eof == 0 || link.n_frames == 700);
                conn_resume(link.conn);
                turns(bench, 1);
        }
        assert_int_equal(link.frames.n, want.n);
        assert_memory_equal(link.frames.data, want.data, want.n);
        assert_int_equal(link.n_eof, 1); /* after the last frame, though it came while paused */
        link_end(&link);
}

static void test_paused_input_is_bounded(void **state) {
        Bench *bench = *state;
        _cleanup_(freep) char *block = malloc(4096);
        size_t n = 0;
        ssize_t k;
        Link link;

        memset(block, '\n', 4096);
        link_begin(&link, bench);
        link.on_frame = pause_here;
        for (int i = 0; i < 2000; i++) {
                while ((k = write(link.peer_out, block, 4096)) > 0)
                        n += (size_t)k;
                turns(bench, 1);
        }
        assert_true(n < 3 << 20); /* the peer was stopped … */
        assert_int_equal(link.n_frames, 1);
        assert_true(link.account->n_bytes <= 4 * CONN_READ_MAX); /* … and little was kept */
        assert_sleeps(bench);
        link.on_frame = NULL;
        conn_resume(link.conn);
        for (int i = 0; i < 100000 && link.n_frames < (int)n; i++)
                turns(bench, 1);
        assert_int_equal(link.n_frames, n);
        link_end(&link);
}

static void resume_here(Link *link, _unused_ Str frame) {
        conn_pause(link->conn);
        conn_resume(link->conn); /* a call that was answered at once */
}

static void test_resume_inside_the_frame(void **state) {
        Link link;

        link_begin(&link, *state);
        link.on_frame = resume_here;
        peer_says_text(&link, "a\nb\nc");
        turns(*state, 2);
        peer_says_text(&link, "\nd\ne\nf");
        turns(*state, 2);
        assert_frames(&link, "a|b|c|d|e|");
        peer_ends(&link);
        turns(*state, 3);
        assert_int_equal(link.n_eof, 1);
        assert_string_equal(buf_cstr(&link.rest), "f");
        link_end(&link);
}

/* A flood is handled in slices, and others are served in between. */
static void test_budget_per_turn(void **state) {
        Bench *bench = *state;
        char flood[3 * CONN_TURN_FRAMES + 10];
        Link link, other;

        link_begin(&link, bench);
        link_begin(&other, bench);
        memset(flood, '\n', sizeof(flood));
        peer_says(&link, flood, sizeof(flood));
        turns(bench, 1);
        assert_int_equal(link.n_frames, CONN_TURN_FRAMES);
        peer_says_text(&other, "hello\n");
        turns(bench, 1);
        assert_int_equal(link.n_frames, 2 * CONN_TURN_FRAMES);
        assert_frames(&other, "hello|");
        turns(bench, 1);
        assert_int_equal(link.n_frames, 3 * CONN_TURN_FRAMES);
        turns(bench, 1); /* the rest, though the peer sent nothing new */
        assert_int_equal(link.n_frames, 3 * CONN_TURN_FRAMES + 10);
        assert_sleeps(bench);
        peer_says_text(&link, "x\n");
        turns(bench, 1);
        assert_int_equal(link.n_frames, 3 * CONN_TURN_FRAMES + 11);
        link_end(&link);
        link_end(&other);
}

static void test_budget_at_start(void **state) {
        char flood[CONN_TURN_FRAMES + 1];
        Link link;

        link_open(&link, *state);
        memset(flood, '\n', sizeof(flood));
        peer_says(&link, flood, sizeof(flood));
        link_start(&link, &lines, &plain);
        assert_int_equal(link.n_frames, CONN_TURN_FRAMES);
        turns(*state, 1);
        assert_int_equal(link.n_frames, CONN_TURN_FRAMES + 1);
        link_end(&link);
}

/* One frame larger than a turn's worth of bytes, and small ones behind it. */
static void test_large_frame(void **state) {
        Bench *bench = *state;
        enum { N = CONN_TURN_BYTES + 50000 };
        _cleanup_(freep) char *large = malloc(N);
        char prefix[4];
        Link link;

        for (size_t i = 0; i < N; i++)
                large[i] = (char)(i * 31 >> 3);
        link_open(&link, bench);
        link_start(&link, &lengths, &plain);
        framing_put_length(prefix, N);
        peer_says(&link, prefix, 4);
        peer_says(&link, large, N - 1);
        turns(bench, 20);
        assert_int_equal(link.n_frames, 0);
        peer_says(&link, large + N - 1, 1);
        for (int i = 0; i < 100; i++) {
                framing_put_length(prefix, 1);
                peer_says(&link, prefix, 4);
                peer_says(&link, "x", 1);
        }
        turns(bench, 1);
        assert_int_equal(link.n_frames, 1); /* enough for one turn */
        turns(bench, 20);
        assert_int_equal(link.n_frames, 101);
        assert_int_equal(link.frames.n, N + 1 + 200);
        assert_memory_equal(link.frames.data, large, N);
        assert_int_equal(link.account->n_bytes, 0); /* an idle connection holds no input memory */
        link_end(&link);
}

static void take_framing(Link *link, _unused_ Str frame) {
        conn_set_framing(link->conn, &link->next_framing);
}

static void test_set_framing(void **state) {
        static const char stream[] = "switch\n\0\0\0\2a\n\0\0\0"; /* and the NUL behind it */
        Link link;

        for (size_t cut = 0; cut <= sizeof(stream); cut++) {
                link_begin(&link, *state);
                link.on_frame = take_framing;
                link.next_framing = lengths;
                peer_says(&link, stream, cut);
                turns(*state, 1);
                peer_says(&link, stream + cut, sizeof(stream) - cut);
                turns(*state, 1);
                assert_frames(&link, "switch|a\n||");
                link_end(&link);
        }
}

/* The first bytes are seen raw, and then once more as what they turn out to be, however they arrive. */
static void test_reframe(void **state) {
        static const Str streams[] = {STR("ab\nc\nd"), STR("\0\0\0\2a\n\0\0\0\1b\0\0\0\4")};
        static const char *frames[] = {"ab|c|", "a\n|b|"};
        Link link;

        for (size_t i = 0; i < 2; i++)
                for (size_t cut = 1; cut < streams[i].n; cut++) {
                        link_open(&link, *state);
                        link.on_frame = choose_framing;
                        peer_says(&link, streams[i].data, cut);
                        link_start(&link, &raw, &plain);
                        assert_memory_equal(link.frames.data, streams[i].data, cut);
                        buf_consume(&link.frames, cut + 1); /* the raw one */
                        peer_says(&link, streams[i].data + cut, streams[i].n - cut);
                        turns(*state, 2);
                        assert_frames(&link, frames[i]);
                        assert_int_equal(link.account->n_requests, 2); /* the raw one is not one */
                        link_end(&link);
                        link.account->n_requests = 0;
                }
}

static void reframe_and_pause(Link *link, _unused_ Str frame) {
        if (link->n_frames == 1) {
                conn_reframe(link->conn, &lines);
                conn_pause(link->conn);
        }
}

static void test_reframe_and_pause(void **state) {
        Link link;

        link_open(&link, *state);
        link.on_frame = reframe_and_pause;
        link_start(&link, &raw, &plain);
        peer_says_text(&link, "a\nb\n");
        turns(*state, 2);
        assert_frames(&link, "a\nb\n|");
        conn_resume(link.conn);
        turns(*state, 2);
        assert_frames(&link, "a\nb\n|a|b|");
        link_end(&link);
}

/* ---- the peer ends its side ------------------------------------------------------------------ */

static void test_eof_with_rest(void **state) {
        Link link;

        link_begin(&link, *state);
        peer_says_text(&link, "one\nunfinished");
        peer_ends(&link);
        turns(*state, 3);
        assert_frames(&link, "one|");
        assert_int_equal(link.n_eof, 1);
        assert_string_equal(buf_cstr(&link.rest), "unfinished");
        assert_int_equal(link.n_closed, 0); /* that is up to the handler */
        turns(*state, 3);
        assert_int_equal(link.n_eof, 1);
        assert_sleeps(*state);
        link_end(&link);
}

static void test_eof_at_once(void **state) {
        Link link;

        link_open(&link, *state);
        peer_goes(&link);
        link_start(&link, &lines, &plain);
        turns(*state, 2);
        assert_int_equal(link.n_eof, 1);
        assert_int_equal(link.rest.n, 0);
        link_end(&link);
}

/* All frames of a backlog come before the end. */
static void test_eof_behind_a_backlog(void **state) {
        char flood[CONN_TURN_FRAMES * 2 + 5];
        Link link;

        link_begin(&link, *state);
        memset(flood, '\n', sizeof(flood));
        peer_says(&link, flood, sizeof(flood));
        peer_ends(&link);
        for (int i = 0; i < 8; i++) {
                turns(*state, 1);
                assert_true(link.n_eof == 0 || link.n_frames == CONN_TURN_FRAMES * 2 + 5);
        }
        assert_int_equal(link.n_eof, 1);
        link_end(&link);
}

/* Who ends its side early still gets every answer. */
static void test_half_close_gets_answers(void **state) {
        Bench *bench = *state;
        Link link;

        link_begin(&link, bench);
        link.on_frame = answer;
        link.n_answer = 10000;
        peer_says_text(&link, "a\nb\nc\n");
        peer_ends(&link);
        turns(bench, 4);
        assert_int_equal(link.n_eof, 1);
        assert_true(conn_pending(link.conn) > 0);
        hear_until(&link, 30000);
        assert_false(link.heard_end);
        assert_int_equal(conn_write(link.conn, STR("later")), 0); /* an answer that took its time */
        turns(bench, 2);
        hear_until(&link, 30005);
        assert_int_equal(link.n_eof, 1); /* not once more for every answer */
        conn_finish(link.conn, "done");
        turns(bench, 2);
        peer_hears(&link);
        assert_true(link.heard_end);
        assert_closed(&link, "done");
        link_end(&link);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                conn_test(test_frames),
                conn_test(test_secrets),
                conn_test(test_pause_and_resume),
                conn_test(test_paused_input_is_bounded),
                conn_test(test_resume_inside_the_frame),
                conn_test(test_budget_per_turn),
                conn_test(test_budget_at_start),
                conn_test(test_large_frame),
                conn_test(test_set_framing),
                conn_test(test_reframe),
                conn_test(test_reframe_and_pause),
                conn_test(test_eof_with_rest),
                conn_test(test_eof_at_once),
                conn_test(test_eof_behind_a_backlog),
                conn_test(test_half_close_gets_answers),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
