/* SPDX-License-Identifier: MIT */
#include "wire/outq.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/test-cmocka.h"
#include "base/macro.h"

typedef struct Pair {
        OutQ q;
        int fds[2]; /* 0: ours, 1: the peer's */
        Buf sent;   /* what the peer has read */
} Pair;

static void pair_open(Pair *pair, int send_buffer) {
        *pair = (Pair){0};
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair->fds), 0);
        if (send_buffer)
                assert_int_equal(
                        setsockopt(pair->fds[0], SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof(send_buffer)),
                        0);
}

static void pair_open_pipe(Pair *pair) {
        int fds[2];

        *pair = (Pair){0};
        assert_int_equal(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
        fcntl(fds[1], F_SETPIPE_SZ, 4096);
        pair->fds[0] = fds[1];
        pair->fds[1] = fds[0];
}

static void pair_close(Pair *pair) {
        outq_deinit(&pair->q);
        buf_deinit(&pair->sent);
        close_fd(pair->fds[0]);
        close_fd(pair->fds[1]);
}

/* The peer reads at most n bytes. */
static void peer_reads(Pair *pair, size_t n) {
        char block[4096];
        ssize_t k;

        while (n && (k = read(pair->fds[1], block, MIN(n, sizeof(block)))) > 0) {
                assert_int_equal(buf_append(&pair->sent, block, (size_t)k), 0);
                n -= (size_t)k;
        }
}

static void say(Pair *pair, const char *text) {
        assert_int_equal(buf_append_str(&pair->q.tail, str_from(text)), 0);
}

static void say_chunk(Pair *pair, const char *text) {
        Chunk *chunk = chunk_new(str_from(text));

        assert_int_equal(outq_push_chunk(&pair->q, chunk), 0);
        chunk_unref(chunk);
}

static void send_all(Pair *pair) {
        peer_reads(pair, SIZE_MAX);
        for (int i = 0; outq_pending(&pair->q); i++) {
                size_t before = outq_pending(&pair->q), sent = pair->sent.n;
                assert_true(i < 100000);
                assert_int_equal(outq_send(&pair->q, pair->fds[0]), 0);
                peer_reads(pair, SIZE_MAX);
                assert_int_equal(before - outq_pending(&pair->q), pair->sent.n - sent);
        }
}

static void test_chunk(void **state) {
        Chunk *chunk = chunk_new((Str){"a\0b", 3});

        (void)state;
        assert_int_equal(chunk->n, 3);
        assert_memory_equal(chunk->data, "a\0b", 3);
        assert_int_equal(chunk->n_refs, 1);
        assert_ptr_equal(chunk_ref(chunk), chunk);
        assert_int_equal(chunk->n_refs, 2);
        assert_null(chunk_unref(chunk));
        assert_int_equal(chunk->n_refs, 1);
        assert_null(chunk_unref(chunk));
        assert_null(chunk_unref(NULL));
}

static void test_order(void **state) {
        Pair pair;

        (void)state;
        pair_open(&pair, 0);
        assert_int_equal(outq_send(&pair.q, pair.fds[0]), 0); /* nothing */
        say(&pair, "a");
        say(&pair, "b");
        assert_int_equal(outq_pending(&pair.q), 2);
        say_chunk(&pair, "C");
        say_chunk(&pair, "D");
        say(&pair, "e");
        say_chunk(&pair, "F");
        say(&pair, "g");
        assert_int_equal(outq_pending(&pair.q), 7);
        assert_int_equal(outq_send(&pair.q, pair.fds[0]), 0);
        assert_int_equal(outq_pending(&pair.q), 0);
        say(&pair, "h"); /* a used queue goes on */
        say_chunk(&pair, "I");
        send_all(&pair);
        assert_true(str_is(buf_str(&pair.sent), "abCDeFghI"));
        pair_close(&pair);
}

/* More segments than one system call takes, and empty ones. */
static void test_many_segments(void **state) {
        _cleanup_(buf_deinit) Buf want = BUF_NULL;
        Pair pair;

        (void)state;
        pair_open(&pair, 0);
        for (int i = 0; i < 1000; i++) {
                char text[32] = "";
                if (i % 7)
                        snprintf(text, sizeof(text), "%d,", i);
                if (i % 3)
                        say_chunk(&pair, text);
                else
                        say(&pair, text);
                assert_int_equal(buf_append_str(&want, str_from(text)), 0);
                assert_int_equal(outq_pending(&pair.q), want.n);
        }
        send_all(&pair);
        assert_int_equal(pair.sent.n, want.n);
        assert_memory_equal(pair.sent.data, want.data, want.n);
        pair_close(&pair);
}

static void test_empty_chunks_do_not_stop_the_queue(void **state) {
        Pair pair;

        (void)state;
        pair_open(&pair, 0);
        for (int i = 0; i < 200; i++)
                say_chunk(&pair, "");
        say(&pair, "x");
        send_all(&pair);
        assert_true(str_is(buf_str(&pair.sent), "x"));
        pair_close(&pair);
        pair_open_pipe(&pair);
        for (int i = 0; i < 200; i++)
                say_chunk(&pair, "");
        say_chunk(&pair, "x");
        send_all(&pair);
        assert_true(str_is(buf_str(&pair.sent), "x"));
        pair_close(&pair);
}

/*
 * Random pushes, sends and reads through a narrow channel: the peer gets the very stream, and what is
 * pending is what was pushed and not sent.
 */
static void shake(Pair *pair, uint32_t seed) {
        _cleanup_(buf_deinit) Buf want = BUF_NULL;
        char block[9000];

        for (int step = 0; step < 4000; step++) {
                seed = seed * 1664525 + 1013904223;
                size_t n = (seed >> 8) % (step % 50 ? 300 : sizeof(block));
                for (size_t i = 0; i < n; i++)
                        block[i] = (char)((want.n + i) * 31 >> 2);
                switch (seed >> 29) {
                case 0:
                case 1:
                case 2: {
                        Chunk *chunk = chunk_new((Str){block, n});
                        assert_int_equal(outq_push_chunk(&pair->q, chunk), 0);
                        chunk_unref(chunk);
                        assert_int_equal(buf_append(&want, block, n), 0);
                        break;
                }
                case 3:
                case 4:
                        assert_int_equal(buf_append(&pair->q.tail, block, n), 0);
                        assert_int_equal(buf_append(&want, block, n), 0);
                        break;
                case 5:
                case 6: assert_int_equal(outq_send(&pair->q, pair->fds[0]), 0); break;
                default: peer_reads(pair, n * 8);
                }
                assert_true(pair->sent.n + outq_pending(&pair->q) <= want.n);
        }
        send_all(pair);
        assert_int_equal(pair->sent.n, want.n);
        assert_memory_equal(pair->sent.data, want.data, want.n);
}

static void test_partial_sends(void **state) {
        Pair pair;

        (void)state;
        for (uint32_t seed = 1; seed < 6; seed++) {
                pair_open(&pair, 4096);
                shake(&pair, seed);
                pair_close(&pair);
        }
}

static void test_pipe(void **state) {
        Pair pair;

        (void)state;
        pair_open_pipe(&pair);
        shake(&pair, 11);
        pair_close(&pair);
}

/* The peer does not read: the queue keeps the rest, and says so with 0. */
static void test_would_block(void **state) {
        _cleanup_(freep) char *block = calloc(1, 1 << 20);
        Pair pair;
        size_t left;

        (void)state;
        pair_open(&pair, 4096);
        assert_int_equal(buf_append(&pair.q.tail, block, 1 << 20), 0);
        assert_int_equal(outq_send(&pair.q, pair.fds[0]), 0);
        left = outq_pending(&pair.q);
        assert_in_range(left, 1, (1 << 20) - 1);
        assert_int_equal(outq_send(&pair.q, pair.fds[0]), 0);
        assert_int_equal(outq_pending(&pair.q), left);
        say_chunk(&pair, "behind a tail that was sent in part");
        say(&pair, "!");
        send_all(&pair);
        assert_int_equal(pair.sent.n, (1 << 20) + 36);
        assert_memory_equal(pair.sent.data + (1 << 20), "behind a tail that was sent in part!", 36);
        pair_close(&pair);
}

static void test_references(void **state) {
        Chunk *chunk = chunk_new(STR("shared"));
        Pair a, b;

        (void)state;
        pair_open(&a, 0);
        pair_open(&b, 0);
        assert_int_equal(outq_push_chunk(&a.q, chunk), 0);
        assert_int_equal(outq_push_chunk(&a.q, chunk), 0);
        assert_int_equal(outq_push_chunk(&b.q, chunk), 0);
        assert_int_equal(chunk->n_refs, 4);
        send_all(&a);
        assert_int_equal(chunk->n_refs, 2); /* released when sent */
        outq_deinit(&b.q);
        assert_int_equal(chunk->n_refs, 1); /* released unsent */
        assert_int_equal(outq_pending(&b.q), 0);
        assert_true(str_is(buf_str(&a.sent), "sharedshared"));
        pair_close(&a);
        pair_close(&b);
        chunk_unref(chunk);
}

static void test_large_tail_is_given_back(void **state) {
        _cleanup_(freep) char *block = calloc(1, 100000);
        Pair pair;

        (void)state;
        pair_open(&pair, 0);
        assert_int_equal(buf_append(&pair.q.tail, block, 100000), 0);
        send_all(&pair);
        assert_true(pair.q.tail.cap <= 16 * 1024);
        say(&pair, "x");
        char *data = pair.q.tail.data;
        send_all(&pair);
        say(&pair, "x");
        assert_ptr_equal(pair.q.tail.data, data); /* a small one stays */
        pair_close(&pair);
}

static void test_peer_is_gone(void **state) {
        Pair pair;

        (void)state;
        pair_open(&pair, 0);
        pair.fds[1] = close_fd(pair.fds[1]);
        say(&pair, "x");
        assert_int_equal(outq_send(&pair.q, pair.fds[0]), -EPIPE); /* and no signal */
        assert_int_equal(outq_pending(&pair.q), 1);
        say_chunk(&pair, "y");
        assert_int_equal(outq_send(&pair.q, pair.fds[0]), -EPIPE);
        pair_close(&pair);

        signal(SIGPIPE, SIG_IGN); /* as every program of ours does: pipes cannot be asked to be quiet */
        pair_open_pipe(&pair);
        pair.fds[1] = close_fd(pair.fds[1]);
        say(&pair, "x");
        assert_int_equal(outq_send(&pair.q, pair.fds[0]), -EPIPE);
        pair_close(&pair);
        signal(SIGPIPE, SIG_DFL);
}

/* What was sent is not in the tail any more, also of one that is sent in pieces. */
static void test_sent_secrets_are_wiped(void **state) {
        static const char secret[] = "a secret that is told once";
        Pair pair;

        (void)state;
        pair_open(&pair, 0);
        pair.q.wipes = true;
        say(&pair, secret);
        assert_int_equal(outq_send(&pair.q, pair.fds[0]), 0);
        assert_int_equal(outq_pending(&pair.q), 0);
        assert_true(pair.q.tail.cap >= sizeof(secret));
        assert_null(memmem(pair.q.tail.data, pair.q.tail.cap, secret, 8));
        peer_reads(&pair, sizeof(secret));
        assert_int_equal(pair.sent.n, sizeof(secret) - 1);
        say(&pair, secret);
        pair_close(&pair);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_chunk),
                cmocka_unit_test(test_order),
                cmocka_unit_test(test_many_segments),
                cmocka_unit_test(test_empty_chunks_do_not_stop_the_queue),
                cmocka_unit_test(test_partial_sends),
                cmocka_unit_test(test_pipe),
                cmocka_unit_test(test_would_block),
                cmocka_unit_test(test_references),
                cmocka_unit_test(test_large_tail_is_given_back),
                cmocka_unit_test(test_peer_is_gone),
                cmocka_unit_test(test_sent_secrets_are_wiped),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
