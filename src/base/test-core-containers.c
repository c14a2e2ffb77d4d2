/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "base/test-cmocka.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/macro.h"

/* A piece that is too large must be refused under the sanitizers as well. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
        return "allocator_may_return_null=1";
}
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) {
        return "allocator_may_return_null=1";
}

/* ---- arena ----------------------------------------------------------------------------------- */

static void test_arena_alignment(void **state) {
        Arena arena = ARENA_NULL;

        (void)state;
        for (size_t n = 1; n < 3000; n = n * 3 / 2 + 1) {
                char *p = arena_alloc(&arena, n);
                assert_non_null(p);
                assert_int_equal((uintptr_t)p % 8, 0);
                memset(p, 0xaa, n); /* ours alone: ASan watches the end of the chunk */
        }
        arena_deinit(&arena);
        assert_null(arena.head);
        assert_int_equal(arena.n_total, 0);
        arena_deinit(&arena); /* empty is fine */
}

/* Every piece keeps its bytes while many more are made around it. */
static void test_arena_growth_keeps_pieces(void **state) {
        enum { N = 4000 };
        Arena arena = ARENA_NULL;
        unsigned char *pieces[N];

        (void)state;
        for (int round = 0; round < 3; round++) {
                for (size_t i = 0; i < N; i++) {
                        size_t n = i % 97 + 1;
                        pieces[i] = arena_alloc(&arena, n);
                        assert_non_null(pieces[i]);
                        memset(pieces[i], (int)(i % 251), n);
                }
                for (size_t i = 0; i < N; i++)
                        for (size_t k = 0; k < i % 97 + 1; k++)
                                assert_int_equal(pieces[i][k], i % 251);
                assert_true(arena.n_total >= (size_t)N * 48);
                assert_true(arena.n_total < (size_t)N * 60 * 3); /* doubling, not more */
                arena_reset(&arena);
        }
        arena_deinit(&arena);
}

static void test_arena_reset_keeps_one_chunk(void **state) {
        Arena arena = ARENA_NULL;
        char *first;
        size_t n_total;

        (void)state;
        arena_reset(&arena); /* nothing there */
        assert_null(arena.head);
        first = arena_alloc(&arena, 100);
        arena_reset(&arena);
        assert_ptr_equal(arena_alloc(&arena, 50), first); /* the same memory again */

        for (int i = 0; i < 100; i++)
                assert_non_null(arena_alloc(&arena, 500)); /* some chunks */
        assert_true(arena.n_total > 50000);
        arena_reset(&arena);
        n_total = arena.n_total;
        assert_in_range(n_total, 1, ARENA_KEEP); /* one is left … */
        for (size_t got = 0; got + 512 <= n_total; got += 512)
                assert_non_null(arena_alloc(&arena, 512));
        assert_int_equal(arena.n_total, n_total); /* … and its whole size is of use */
        arena_deinit(&arena);
}

static void test_arena_huge_piece(void **state) {
        Arena arena = ARENA_NULL;
        char *huge;

        (void)state;
        assert_non_null(arena_alloc(&arena, 10));
        huge = arena_alloc(&arena, 5 << 20);
        assert_non_null(huge);
        memset(huge, 1, 5 << 20);
        assert_non_null(arena_alloc(&arena, 10));
        arena_reset(&arena); /* one huge message is not held for ever */
        assert_true(arena.n_total <= ARENA_KEEP);
        assert_non_null(arena_alloc(&arena, 10));

        assert_non_null(arena_alloc(&arena, ARENA_KEEP)); /* exactly as much as is kept */
        arena_reset(&arena);
        assert_true(arena.n_total <= ARENA_KEEP);
        assert_non_null(arena_alloc(&arena, 10));
        arena_deinit(&arena);
}

/* NULL means "no memory", but an arena without a chunk gives it for a piece of 0 bytes,
 * too. */
static void test_arena_empty_piece(void **state) {
        Arena arena = ARENA_NULL;

        (void)state;
        assert_non_null(arena_alloc(&arena, 0));
        arena_deinit(&arena);
}

/* rounding up wraps around, and one gets a pointer to nothing. */
static void test_arena_size_wraps_around(void **state) {
        Arena arena = ARENA_NULL;

        (void)state;
        assert_non_null(arena_alloc(&arena, 8));
        assert_null(arena_alloc(&arena, SIZE_MAX - 3));
        assert_null(arena_alloc(&arena, SIZE_MAX - 15));
        arena_deinit(&arena);
}

/* A piece that cannot be had leaves the arena as it was. */
static void test_arena_without_memory(void **state) {
        Arena arena = ARENA_NULL;
        char *p = arena_alloc(&arena, 8), *q;

        (void)state;
        assert_null(arena_alloc(&arena, SIZE_MAX / 2 - 64));
        q = arena_alloc(&arena, 8);
        assert_ptr_equal(q, p + 8);
        arena_deinit(&arena);
}

static void test_arena_str(void **state) {
        Arena arena = ARENA_NULL;
        Str s;

        (void)state;
        s = arena_str(&arena, (Str){"a\0b", 3});
        assert_int_equal(s.n, 3);
        assert_memory_equal(s.data, "a\0b", 4); /* with the NUL behind it */
        s = arena_str(&arena, STR("12345678"));
        memset(arena_alloc(&arena, 8), 'x', 8); /* has room of its own */
        assert_string_equal(s.data, "12345678");
        s = arena_str(&arena, STR_NULL);
        assert_int_equal(s.n, 0);
        assert_non_null(s.data);
        assert_int_equal(*s.data, 0);
        arena_deinit(&arena);
}

static void test_arena_printf(void **state) {
        Arena arena = ARENA_NULL;
        Str s;

        (void)state;
        s = arena_printf(&arena, "%d-%s", 42, "x");
        assert_int_equal(s.n, 4);
        assert_string_equal(s.data, "42-x");
        s = arena_printf(&arena, "%s", "");
        assert_int_equal(s.n, 0);
        assert_string_equal(s.data, "");
        s = arena_printf(&arena, "%20000d", 7);
        assert_int_equal(s.n, 20000);
        assert_int_equal(s.data[19999], '7');
        assert_int_equal(s.data[20000], 0);
        arena_deinit(&arena);
}

/* ---- buf ------------------------------------------------------------------------------------- */

static void test_buf_append(void **state) {
        _cleanup_(buf_deinit) Buf buf = BUF_NULL;

        (void)state;
        assert_int_equal(buf_append(&buf, NULL, 0), 0);
        assert_int_equal(buf.n, 0);
        for (int i = 0; i < 100000; i++) {
                char byte = (char)(i * 7);
                assert_int_equal(buf_append(&buf, &byte, 1), 0);
                assert_true(buf.n <= buf.cap);
        }
        assert_int_equal(buf.n, 100000);
        assert_true(buf.cap < 300000); /* doubling, not more */
        for (int i = 0; i < 100000; i++)
                assert_int_equal(buf.data[i], (char)(i * 7));
        assert_int_equal(buf_append_str(&buf, STR("end")), 0);
        assert_memory_equal(buf.data + 100000, "end", 3);
}

static void test_buf_reserve(void **state) {
        _cleanup_(buf_deinit) Buf buf = BUF_NULL;
        char *data;

        (void)state;
        assert_int_equal(buf_reserve(&buf, 0), 0);
        assert_int_equal(buf_reserve(&buf, 100000), 0);
        assert_true(buf.cap >= 100000);
        data = buf.data;
        memset(buf.data, 1, 100000);
        buf.n = 100000;
        assert_int_equal(buf_reserve(&buf, buf.cap - buf.n), 0); /* exactly what is there */
        assert_ptr_equal(buf.data, data);
        assert_int_equal(buf_reserve(&buf, SIZE_MAX), -ENOMEM);
        assert_int_equal(buf_reserve(&buf, SIZE_MAX - buf.n + 1), -ENOMEM); /* the sum wraps around */
        assert_int_equal(buf.n, 100000);
        assert_ptr_equal(buf.data, data);
}

static void test_buf_printf(void **state) {
        _cleanup_(buf_deinit) Buf buf = BUF_NULL;

        (void)state;
        assert_int_equal(buf_printf(&buf, "%s", ""), 0);
        assert_int_equal(buf.n, 0);
        assert_int_equal(buf_printf(&buf, "a%db", 12), 0);
        assert_int_equal(buf_printf(&buf, "%s", "c"), 0);
        assert_true(str_is(buf_str(&buf), "a12bc")); /* the NULs of printf are not counted */
        for (int n = 0; n < 600; n++) {              /* across every size of the room that is left */
                size_t before = buf.n;
                assert_int_equal(buf_printf(&buf, "%*s", n, ""), 0);
                assert_int_equal(buf.n, before + (size_t)n);
        }
        assert_string_equal(buf_cstr(&buf) + buf.n - 3, "   ");
}

static void test_buf_consume(void **state) {
        _cleanup_(buf_deinit) Buf buf = BUF_NULL;

        (void)state;
        buf_consume(&buf, 0);
        buf_consume(&buf, 5);
        assert_int_equal(buf_append_str(&buf, STR("hello")), 0);
        buf_consume(&buf, 0);
        assert_true(str_is(buf_str(&buf), "hello"));
        buf_consume(&buf, 2);
        assert_true(str_is(buf_str(&buf), "llo"));
        buf_consume(&buf, 3);
        assert_int_equal(buf.n, 0);
        assert_int_equal(buf_append_str(&buf, STR("x")), 0);
        buf_consume(&buf, 9); /* more than there is */
        assert_int_equal(buf.n, 0);
}

static void test_buf_cstr(void **state) {
        _cleanup_(buf_deinit) Buf buf = BUF_NULL;

        (void)state;
        assert_string_equal(buf_cstr(&buf), "");
        assert_int_equal(buf_append(&buf, "a\0b", 3), 0);
        assert_memory_equal(buf_cstr(&buf), "a\0b", 4);
        assert_int_equal(buf.n, 3);
        while (buf.n < buf.cap) /* no room for the NUL */
                assert_int_equal(buf_append(&buf, "x", 1), 0);
        assert_int_equal(strlen(buf_cstr(&buf) + 2), buf.n - 2);
        buf_deinit(&buf);
        assert_null(buf.data);
        assert_int_equal(buf.cap, 0);
}

/* ---- secrets --------------------------------------------------------------------------------- */

static void test_buf_grows_wiping(void **state) {
        Buf buf = BUF_NULL;

        (void)state;
        assert_int_equal(buf_reserve_wiping(&buf, 0), 0);
        for (int i = 0; i < 3000; i++) {
                assert_int_equal(buf_reserve_wiping(&buf, 1 + (size_t)i % 7), 0);
                assert_int_equal(buf_append(&buf, &(char){(char)('a' + i % 26)}, 1), 0);
        }
        for (int i = 0; i < 3000; i++)
                assert_int_equal(buf.data[i], 'a' + i % 26);
        assert_true(buf.cap >= buf.n && buf.cap < 4 * buf.n);
        assert_int_equal(buf_reserve_wiping(&buf, SIZE_MAX / 2), -ENOMEM);
        assert_int_equal(buf.n, 3000);
        buf_wipe(&buf);
        assert_null(buf.data);
        buf_wipe(&buf); /* empty is fine */
}

static void test_arena_is_wiped(void **state) {
        Arena arena = ARENA_NULL;

        (void)state;
        arena_wipe(&arena);
        for (size_t n = 0; n < 5000; n += 13)
                memset(arena_alloc(&arena, n), 'x', n);
        arena_wipe(&arena);
        assert_null(arena.head);
        assert_int_equal(arena.n_total, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_buf_grows_wiping),
                cmocka_unit_test(test_arena_is_wiped),
                cmocka_unit_test(test_arena_alignment),
                cmocka_unit_test(test_arena_growth_keeps_pieces),
                cmocka_unit_test(test_arena_reset_keeps_one_chunk),
                cmocka_unit_test(test_arena_huge_piece),
                cmocka_unit_test(test_arena_without_memory),
                cmocka_unit_test(test_arena_str),
                cmocka_unit_test(test_arena_printf),
                cmocka_unit_test(test_buf_append),
                cmocka_unit_test(test_arena_empty_piece),
                cmocka_unit_test(test_arena_size_wraps_around),
                cmocka_unit_test(test_buf_reserve),
                cmocka_unit_test(test_buf_printf),
                cmocka_unit_test(test_buf_consume),
                cmocka_unit_test(test_buf_cstr),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
