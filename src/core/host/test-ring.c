/* SPDX-License-Identifier: MIT */
#include "core/host/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test-cmocka.h"
#include "base/macro.h"

/* A ring of the least size in a file, and a pipe to read from. */
typedef struct World {
        char path[64];
        Ring ring;
        int pair[2];
} World;

static int world_make(void **state) {
        World *w = calloc(1, sizeof(*w));

        assert_non_null(w);
        snprintf(w->path, sizeof(w->path), "/tmp/test-ring-%d", (int)getpid());
        (void)unlink(w->path);
        assert_int_equal(ring_create(w->path, 1), 0);
        assert_int_equal(ring_open(&w->ring, w->path), 0);
        assert_int_equal(pipe2(w->pair, O_NONBLOCK | O_CLOEXEC), 0);
        *state = w;
        return 0;
}

static void test_renewed(void **state) {
        World *w = *state;
        Ring again;

        ring_append(&w->ring, STR("of the one before"));
        assert_int_equal(ring_renew(w->path, 4 * w->ring.n_bytes), -ESTALE);
        assert_int_equal(ring_renew(w->path, 1), 0);
        assert_int_equal(ring_open(&again, w->path), 0);
        assert_int_equal(ring_end(&again), 0);
        assert_int_equal(ring_span(&again, 0).n, 0);
        ring_close(&again);
}

static int world_remove(void **state) {
        World *w = *state;

        ring_close(&w->ring);
        (void)unlink(w->path);
        close_fd(w->pair[0]);
        close_fd(w->pair[1]);
        free(w);
        return 0;
}

static void feed(World *w, const char *data, size_t n) {
        size_t got = 0;

        assert_int_equal(write(w->pair[1], data, n), n);
        assert_int_equal(ring_read(&w->ring, w->pair[0], &got), 0);
        assert_int_equal(got, n);
}

static void expect(const World *w, uint64_t from, const char *data, size_t n) {
        Str span = ring_span(&w->ring, from);

        assert_int_equal(span.n, n);
        assert_memory_equal(span.data, data, n);
}

/* As a reader leaves the ring when it is killed after the kernel gave it n bytes: a read of nothing lays the
 * pattern, the rest is what a read would have done until then. */
static void be_cut(World *w, const char *data, size_t n) {
        size_t got = 0;

        assert_int_equal(ring_read(&w->ring, w->pair[0], &got), -EAGAIN);
        memcpy(w->ring.data + (ring_end(&w->ring) & (w->ring.n_bytes - 1)), data, n);
        atomic_store(&w->ring.header->n_intent, RING_READ_MAX);
}

static void test_reads(void **state) {
        World *w = *state;
        size_t n = 1;

        feed(w, "abc", 3);
        feed(w, "def", 3);
        expect(w, 0, "abcdef", 6);
        expect(w, 4, "ef", 2);
        assert_int_equal(ring_read(&w->ring, w->pair[0], &n), -EAGAIN);
        assert_int_equal(n, 0);
        w->pair[1] = close_fd(w->pair[1]);
        assert_int_equal(ring_read(&w->ring, w->pair[0], &n), 0);
        assert_int_equal(n, 0);
        assert_int_equal(ring_end(&w->ring), 6);
}

/* What may be overwritten by the next read is not counted as there. */
static void test_oldest_bytes(void **state) {
        World *w = *state;
        char block[RING_READ_MAX];
        Str all;

        for (int i = 0; i < 20; i++) {
                memset(block, 'a' + i, sizeof(block));
                feed(w, block, sizeof(block));
        }
        all = ring_span(&w->ring, 0);
        assert_int_equal(all.n, w->ring.n_bytes - RING_READ_MAX);
        for (size_t i = 0; i < all.n; i++)
                assert_int_equal(all.data[i],
                                 'a' + 20 - (int)(all.n / sizeof(block)) + (int)(i / sizeof(block)));
}

static void test_cut_before_the_read(void **state) {
        World *w = *state;

        feed(w, "abc", 3);
        be_cut(w, "", 0);
        ring_recover(&w->ring);
        expect(w, 0, "abc", 3);
        assert_int_equal(w->ring.header->n_intent, 0);
}

static void test_cut_after_the_read(void **state) {
        World *w = *state;
        char block[RING_READ_MAX];

        for (size_t n = 1; n <= RING_READ_MAX; n = n < 20 ? n + 1 : n * 2) {
                uint64_t before = ring_end(&w->ring);
                memset(block, 'x', n);
                be_cut(w, block, n);
                ring_recover(&w->ring);
                expect(w, before, block, n);
                ring_recover(&w->ring); /* once is enough */
                assert_int_equal(ring_end(&w->ring), before + n);
        }
}

static void test_cut_after_the_commit(void **state) {
        World *w = *state;

        feed(w, "abc", 3);
        atomic_store(&w->ring.header->n_intent, RING_READ_MAX);
        ring_recover(&w->ring);
        expect(w, 0, "abc", 3);
        assert_int_equal(w->ring.header->n_intent, 0);
}

/* After text no byte of text is ever taken for the pattern; other bytes seldom, once they are no surprise.
 */
static void test_other_bytes(void **state) {
        World *w = *state;
        int n_wrong = 0;

        for (int i = 0; i < 5000; i++) {
                uint64_t before = ring_end(&w->ring);
                be_cut(w, "ab\xff\xff", 4);
                ring_recover(&w->ring);
                if (ring_end(&w->ring) != before + 4) {
                        n_wrong++;
                        feed(w, "\xff", 1);
                }
        }
        assert_in_range(n_wrong, 0, 5000 / 256 * 3);
}

/* A real one: the child is killed while it reads as fast as it can. */
static void test_killed_reader(void **state) {
        World *w = *state;
        char line[32];

        for (uint64_t round = 0, n_lines = 0; round < 30; round++) {
                pid_t pid = fork();
                if (!pid)
                        for (size_t n;;)
                                (void)ring_read(&w->ring, w->pair[0], &n);
                assert_true(pid > 0);
                for (int i = 0; i < 200; i++, n_lines++) {
                        snprintf(line, sizeof(line), "%015llu\n", (unsigned long long)n_lines);
                        while (write(w->pair[1], line, 16) != 16)
                                ;
                }
                assert_int_equal(kill(pid, SIGKILL), 0);
                assert_int_equal(waitpid(pid, NULL, 0), pid);
                ring_recover(&w->ring);
        }
        for (size_t n = 1; n;)
                (void)ring_read(&w->ring, w->pair[0], &n);
        assert_int_equal(ring_end(&w->ring), 30 * 200 * 16);
        for (uint64_t at = (ring_begin(&w->ring) + 15) / 16 * 16; at < ring_end(&w->ring); at += 16) {
                snprintf(line, sizeof(line), "%015llu\n", (unsigned long long)at / 16);
                assert_memory_equal(ring_span(&w->ring, at).data, line, 16);
        }
}

/* ---- a pipe, whose bytes are counted first ---------------------------------------------------- */

static void test_pipe(void **state) {
        World *w = *state;
        char block[RING_READ_MAX + 100] = {0};
        size_t n = 1;

        assert_int_equal(ring_read_pipe(&w->ring, w->pair[0], &n), -EAGAIN);
        assert_int_equal(n, 0);
        assert_int_equal(write(w->pair[1], block, sizeof(block)), sizeof(block));
        w->pair[1] = close_fd(w->pair[1]);
        assert_int_equal(ring_read_pipe(&w->ring, w->pair[0], &n), 0);
        assert_int_equal(n, RING_READ_MAX);
        assert_int_equal(ring_read_pipe(&w->ring, w->pair[0], &n), 0);
        assert_int_equal(n, 100);
        assert_int_equal(ring_read_pipe(&w->ring, w->pair[0], &n), 0); /* the end */
        assert_int_equal(n, 0);
        assert_int_equal(ring_end(&w->ring), sizeof(block));
}

/* As it is after a read of exactly so many bytes that nobody lived to note, or before it. */
static void be_cut_exactly(World *w, const char *data, size_t n, bool is_read) {
        char *place = w->ring.data + (ring_end(&w->ring) & (w->ring.n_bytes - 1));
        size_t got = 0;

        assert_int_equal(ring_read(&w->ring, w->pair[0], &got), -EAGAIN);
        if (is_read)
                memcpy(place, data, n);
        w->ring.header->n_exact = (uint32_t)n;
        atomic_store(&w->ring.header->n_intent, (uint32_t)n);
}

static void test_any_bytes_of_a_pipe(void **state) {
        World *w = *state;

        for (int i = 0; i < 5000; i++) {
                uint64_t before = ring_end(&w->ring);
                be_cut_exactly(w, "a\xff\xfe\xff\xff\xf8\xff\xff", 8, i % 2);
                ring_recover(&w->ring);
                assert_int_equal(ring_end(&w->ring), before + (i % 2 ? 8 : 0));
                assert_int_equal(w->ring.header->n_exact, 0);
        }
}

static void test_room(void **state) {
        World *w = *state;
        char block[RING_READ_MAX] = {0};

        assert_false(ring_has_room(&w->ring, 1)); /* nobody has kept what was never there */
        while (ring_has_room(&w->ring, 5) || ring_end(&w->ring) < 5)
                feed(w, block, sizeof(block));
        assert_in_range(ring_begin(&w->ring), 0, 5);
        assert_int_equal(ring_span(&w->ring, 5).n, ring_end(&w->ring) - 5);
        assert_true(ring_has_room(&w->ring, 5 + sizeof(block)));
}

static void test_damaged(void **state) {
        World *w = *state;
        Ring other;

        w->ring.header->version++;
        assert_int_equal(ring_open(&other, w->path), RING_E_VERSION);
        w->ring.header->magic[0]++;
        assert_int_equal(ring_open(&other, w->path), RING_E_DAMAGED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_make, world_remove)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(test_renewed),
                TEST(test_reads),
                TEST(test_oldest_bytes),
                TEST(test_cut_before_the_read),
                TEST(test_cut_after_the_read),
                TEST(test_cut_after_the_commit),
                TEST(test_other_bytes),
                TEST(test_killed_reader),
                TEST(test_pipe),
                TEST(test_any_bytes_of_a_pipe),
                TEST(test_room),
                TEST(test_damaged),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
