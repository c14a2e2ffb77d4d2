/* SPDX-License-Identifier: MIT */
/* Output of a connection: order, water marks, slow and absent readers; pipes and files. */
#include "wire/test-conn-fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/macro.h"

/* ---- output ---------------------------------------------------------------------------------- */

static void test_output_order(void **state) {
        Chunk *chunk = chunk_new(STR("[chunk]"));
        Link link;

        link_begin(&link, *state);
        assert_int_equal(conn_write(link.conn, STR("one,")), 0);
        assert_int_equal(conn_write_chunk(link.conn, chunk), 0);
        assert_int_equal(buf_append_str(conn_out(link.conn), STR("two")), 0);
        conn_flush_soon(link.conn);
        assert_int_equal(conn_pending(link.conn), 14);
        peer_hears(&link);
        assert_int_equal(link.heard.n, 0); /* once per turn */
        turns(*state, 1);
        peer_hears(&link);
        assert_string_equal(buf_cstr(&link.heard), "one,[chunk]two");
        assert_int_equal(conn_pending(link.conn), 0);
        assert_int_equal(chunk->n_refs, 1);
        conn_write_chunk(link.conn, chunk);
        link_end(&link);
        assert_int_equal(chunk->n_refs, 1); /* unsent, and released */
        chunk_unref(chunk);
}

typedef struct Twin {
        Link link;
        struct Twin *other;
        size_t n_seen; /* of the other's answer when this one was asked */
} Twin;

static void answer_and_look(Link *link, Str frame) {
        Twin *twin = container_of(link, Twin, link);

        answer(link, frame);
        peer_hears(&twin->other->link);
        twin->n_seen = twin->other->link.heard.n;
}

/* Two peers ask in one turn. Returns what the one that was served last saw of the answer to the other. */
static size_t ask_twins(Bench *bench, bool is_late) {
        Twin twins[2] = {{.other = &twins[1]}, {.other = &twins[0]}};
        size_t n_seen;

        for (int i = 0; i < 2; i++) {
                link_begin(&twins[i].link, bench);
                twins[i].link.on_frame = answer_and_look;
                twins[i].link.n_answer = 100;
                conn_send_late(twins[i].link.conn, is_late);
        }
        for (int i = 0; i < 2; i++)
                peer_says_text(&twins[i].link, "x\n");
        turns(bench, 2);
        n_seen = twins[0].n_seen + twins[1].n_seen;
        for (int i = 0; i < 2; i++) {
                peer_hears(&twins[i].link);
                assert_int_equal(twins[i].link.heard.n, 100);
                link_end(&twins[i].link);
        }
        return n_seen;
}

static void test_late_answers_leave_together(void **state) {
        assert_int_equal(ask_twins(*state, false), 100);
        assert_int_equal(ask_twins(*state, true), 0);
}

/* The peer sends requests and takes no answers: reading stops at high water and goes on below low water. */
static void test_high_and_low_water(void **state) {
        Bench *bench = *state;
        ConnLimits limits = {.high_water = 20000, .low_water = 5000};
        Link link;
        int n_stopped;

        link_open(&link, bench);
        link.on_frame = answer;
        link.n_answer = 1000;
        link_start(&link, &lines, &limits);
        for (int i = 0; i < 300; i++)
                peer_says_text(&link, "x\n");
        turns(bench, 50);
        n_stopped = link.n_frames;
        assert_in_range(n_stopped, 20, 60);
        assert_true(conn_pending(link.conn) <= 21000);
        peer_says_text(&link, "one more\n");
        turns(bench, 50);
        assert_int_equal(link.n_frames, n_stopped);
        assert_sleeps(bench);

        while (conn_pending(link.conn) > 5000 && link.n_frames == n_stopped) { /* slowly */
                char block[500];
                (void)!read(link.peer_in, block, sizeof(block));
                turns(bench, 1);
                if (conn_pending(link.conn) > 5000)
                        assert_int_equal(link.n_frames, n_stopped);
        }
        turns(bench, 2);
        assert_true(link.n_frames > n_stopped);
        for (int i = 0; i < 1000; i++) {
                peer_hears(&link);
                turns(bench, 1);
        }
        assert_int_equal(link.n_frames, 301);
        assert_int_equal(conn_pending(link.conn), 0);
        link_end(&link);
}

static void want_more(Link *link) {
        if (link->n_drained < 20) {
                link->n_answer = 7000;
                answer(link, STR_NULL);
                conn_want_drained(link->conn);
        }
}

/* A long stream in pieces: each is written when the one before it is nearly gone, and never more. */
static void test_drained(void **state) {
        Bench *bench = *state;
        ConnLimits limits = {.high_water = 20000, .low_water = 5000};
        Link link;

        link_open(&link, bench);
        link_start(&link, &lines, &limits);
        link.n_answer = 30000;
        answer(&link, STR_NULL);
        conn_flush_soon(link.conn);
        turns(bench, 3);
        assert_int_equal(link.n_drained, 0); /* nobody asked */
        link.on_drained = want_more;
        conn_want_drained(link.conn);
        turns(bench, 5);
        assert_int_equal(link.n_drained, 0); /* far above low water */
        assert_sleeps(bench);
        for (int i = 0; i < 2000 && link.heard.n < 30000 + 19 * 7000; i++) {
                char block[500];
                ssize_t k = read(link.peer_in, block, sizeof(block));
                assert_int_equal(buf_append(&link.heard, block, (size_t)MAX(k, 0)), 0);
                turns(bench, 1);
                assert_true(link.n_drained == 0 || conn_pending(link.conn) <= 5000 + 7000);
        }
        turns(bench, 3);
        assert_int_equal(link.n_drained, 20); /* once for each time it was asked for */
        peer_hears(&link);
        assert_int_equal(link.heard.n, 30000 + 19 * 7000);
        assert_sleeps(bench);
        link_end(&link);
}

static void abort_when_drained(Link *link) {
        conn_abort(link->conn, "aborted");
}

static void test_abort_inside_drained(void **state) {
        Link link;

        link_begin(&link, *state);
        link.on_drained = abort_when_drained;
        conn_want_drained(link.conn);
        turns(*state, 2);
        assert_int_equal(link.n_drained, 1);
        assert_closed(&link, "aborted");
        link_end(&link);
}

static void finish_when_drained(Link *link) {
        assert_int_equal(conn_write(link->conn, STR("the last piece")), 0);
        conn_finish(link->conn, "finished");
}

static void test_finish_inside_drained(void **state) {
        Link link;

        link_begin(&link, *state);
        link.on_drained = finish_when_drained;
        conn_want_drained(link.conn);
        turns(*state, 3);
        peer_hears(&link);
        assert_string_equal(buf_cstr(&link.heard), "the last piece");
        assert_closed(&link, "finished");
        link_end(&link);
}

static void test_hard_limit(void **state) {
        Bench *bench = *state;
        ConnLimits limits = {.high_water = 1000, .low_water = 500, .hard_limit = 100000};
        Link link;

        link_open(&link, bench);
        link_start(&link, &lines, &limits);
        link.n_answer = 90000;
        answer(&link, STR_NULL);
        conn_flush_soon(link.conn);
        turns(bench, 2);
        assert_int_equal(link.n_closed, 0);
        link.n_answer = 100001 - conn_pending(link.conn);
        answer(&link, STR_NULL);
        conn_flush_soon(link.conn);
        turns(bench, 1);
        assert_closed(&link, "slow reader");
        link_end(&link);
}

static void test_hard_limit_is_not_reached(void **state) {
        ConnLimits limits = {.high_water = 1000, .low_water = 500, .hard_limit = 100000};
        Link link;

        link_open(&link, *state);
        link_start(&link, &lines, &limits);
        link.n_answer = 60000;
        answer(&link, STR_NULL);
        conn_flush_soon(link.conn);
        turns(*state, 2);
        link.n_answer = 100000 - conn_pending(link.conn); /* exactly */
        answer(&link, STR_NULL);
        conn_flush_soon(link.conn);
        turns(*state, 2);
        assert_int_equal(link.n_closed, 0);
        link_end(&link);
}

static void test_peer_is_gone(void **state) {
        Link link;

        link_begin(&link, *state);
        conn_pause(link.conn);
        turns(*state, 1);
        peer_goes(&link);
        assert_int_equal(conn_write(link.conn, STR("x")), 0);
        turns(*state, 1);
        assert_closed(&link, "peer is gone");
        link_end(&link);
}

/* ---- pipes and files ------------------------------------------------------------------------- */

static void echo(Link *link, Str frame) {
        assert_int_equal(conn_write(link->conn, frame), 0);
}

static void test_pipes(void **state) {
        Bench *bench = *state;
        Link link;

        link_open_pipes(&link, bench);
        link.on_frame = echo;
        link_start(&link, &lines, &plain);
        peer_says_text(&link, "hello\n");
        turns(bench, 1);
        hear_until(&link, 5);
        link.on_frame = answer;
        link.n_answer = 100000;
        peer_says_text(&link, "x\n"); /* more than the pipe takes */
        turns(bench, 3);
        assert_true(conn_pending(link.conn) > 0);
        assert_sleeps(bench);
        hear_until(&link, 100005);
        peer_says_text(&link, "rest");
        peer_ends(&link);
        turns(bench, 2);
        assert_int_equal(link.n_eof, 1);
        assert_string_equal(buf_cstr(&link.rest), "rest");
        assert_int_equal(conn_write(link.conn, STR("bye")), 0); /* the other pipe is still there */
        conn_finish(link.conn, "finished");
        turns(bench, 2);
        assert_closed(&link, "finished");
        hear_until(&link, 100008);
        peer_hears(&link);
        assert_true(link.heard_end);
        link_end(&link);
}

static void test_pipe_without_reader(void **state) {
        Bench *bench = *state;
        Link link;

        signal(SIGPIPE, SIG_IGN);
        link_open_pipes(&link, bench);
        link_start(&link, &lines, &plain);
        link.n_answer = 100000;
        answer(&link, STR_NULL);
        conn_flush_soon(link.conn);
        turns(bench, 2);
        link.peer_in = close_fd(link.peer_in); /* while we wait for room */
        turns(bench, 2);
        assert_closed(&link, "peer is gone");
        link_end(&link);
        signal(SIGPIPE, SIG_DFL);
}

static int make_file(const char *content, size_t n) {
        char path[] = "/tmp/test-conn.XXXXXX";
        int fd = mkostemp(path, O_CLOEXEC);

        assert_true(fd >= 0);
        unlink(path);
        assert_int_equal(write(fd, content, n), n);
        lseek(fd, 0, SEEK_SET);
        return fd;
}

/* musterd < requests > answers */
static void test_regular_files(void **state) {
        Bench *bench = *state;
        _cleanup_(buf_deinit) Buf content = BUF_NULL;
        char answers[16] = {0};
        Link link = {0};
        int in, out = make_file("", 0), keep;

        for (int i = 0; i < 1000; i++)
                assert_int_equal(buf_printf(&content, "%d\n", i), 0);
        assert_int_equal(buf_printf(&content, "rest"), 0);
        in = make_file(content.data, content.n);
        keep = dup(out);
        link.peer_in = link.peer_out = -1;
        link_new(&link, bench, in, out);
        link.on_frame = echo;
        link_start(&link, &lines, &plain);
        assert_int_equal(link.n_frames, CONN_TURN_FRAMES);
        turns(bench, 1);
        assert_int_equal(link.n_frames, 2 * CONN_TURN_FRAMES);
        conn_pause(link.conn);
        turns(bench, 5);
        assert_int_equal(link.n_frames, 2 * CONN_TURN_FRAMES);
        assert_sleeps(bench);
        conn_resume(link.conn);
        turns(bench, 30);
        assert_int_equal(link.n_frames, 1000);
        assert_int_equal(link.n_eof, 1);
        assert_string_equal(buf_cstr(&link.rest), "rest");
        assert_sleeps(bench);
        conn_finish(link.conn, "finished");
        turns(bench, 2);
        assert_closed(&link, "finished");
        assert_int_equal(pread(keep, answers, 15, 0), 15);
        assert_string_equal(answers, "012345678910111");
        assert_int_equal(lseek(keep, 0, SEEK_END), 2890);
        close(keep);
        link_end(&link);
}

/* A file is read without being asked for; its end must wait for the answer that is owed nevertheless. */
static void test_regular_file_ends_while_paused(void **state) {
        Bench *bench = *state;
        Link link = {0};
        int out[2];

        assert_int_equal(pipe2(out, O_NONBLOCK | O_CLOEXEC), 0);
        link.peer_in = out[0];
        link.peer_out = -1;
        link_new(&link, bench, make_file("a\n", 2), out[1]);
        link.on_frame = pause_here;
        link_start(&link, &lines, &plain);
        for (int i = 0; i < 3; i++) {
                assert_int_equal(conn_write(link.conn, STR("progress")), 0);
                turns(bench, 2);
        }
        assert_int_equal(link.n_eof, 0);
        conn_resume(link.conn);
        turns(bench, 2);
        assert_int_equal(link.n_eof, 1);
        link_end(&link);
}

/* A file as input and a slow pipe as output: high water stops the file, too. */
static void test_regular_file_and_high_water(void **state) {
        Bench *bench = *state;
        ConnLimits limits = {.high_water = 20000, .low_water = 5000};
        char content[1000];
        Link link = {0};
        int out[2], n_stopped;

        memset(content, '\n', sizeof(content));
        assert_int_equal(pipe2(out, O_NONBLOCK | O_CLOEXEC), 0);
        link.peer_in = out[0];
        link.peer_out = -1;
        link_new(&link, bench, make_file(content, sizeof(content)), out[1]);
        link.on_frame = answer;
        link.n_answer = 1000;
        link_start(&link, &lines, &limits);
        turns(bench, 20);
        n_stopped = link.n_frames;
        assert_in_range(n_stopped, 20, 200);
        turns(bench, 20);
        assert_int_equal(link.n_frames, n_stopped);
        assert_sleeps(bench);
        hear_until(&link, 1000000);
        assert_int_equal(link.n_frames, 1000);
        turns(bench, 2);
        assert_int_equal(link.n_eof, 1);
        link_end(&link);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                conn_test(test_output_order),
                conn_test(test_late_answers_leave_together),
                conn_test(test_high_and_low_water),
                conn_test(test_drained),
                conn_test(test_abort_inside_drained),
                conn_test(test_finish_inside_drained),
                conn_test(test_hard_limit),
                conn_test(test_hard_limit_is_not_reached),
                conn_test(test_peer_is_gone),
                conn_test(test_pipes),
                conn_test(test_pipe_without_reader),
                conn_test(test_regular_files),
                conn_test(test_regular_file_ends_while_paused),
                conn_test(test_regular_file_and_high_water),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
