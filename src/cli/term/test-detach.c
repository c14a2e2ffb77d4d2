/* SPDX-License-Identifier: MIT */
#include "base/test-cmocka.h"
#include "base/macro.h"
#include "cli/term/detach.h"

#define PASTE     "\x1b[200~"
#define PASTE_END "\x1b[201~"

typedef struct Case {
        const char *keys;
        Str typed;
        Str passed; /* what the program gets */
        bool leaves;
        bool is_watching;
} Case;

/* `leaves`: at the end, after the time to press again has passed. */
static const Case cases[] = {
        {"C-]", STR("ls\r"), STR("ls\r"), false, false},
        {"C-]", STR("ab\x1d"), STR("ab"), true, false},
        {"C-]",
         STR("ab\x1d\x1d"
             "c"),
         STR("ab\x1d"
             "c"),
         false, false},
        {"C-]", STR("\x1d\x1d\x1d"), STR("\x1d"), true, false},
        {"C-]", STR("\x1dq"), STR(""), true, false},
        /* kitty: plain, with event types, alternates, a text, locks; xterm's modifyOtherKeys */
        {"C-]", STR("a\x1b[93;5u"), STR("a"), true, false},
        {"C-]", STR("\x1b[93;5:1u"), STR(""), true, false},
        {"C-]", STR("\x1b[93;5:1u\x1b[93;5:3u"), STR(""), true, false},
        {"C-]", STR("\x1b[93;5:1u\x1b[93;5:2u\x1b[93;5:2u"), STR(""), true, false},
        {"C-]", STR("\x1b[93:125;5u"), STR(""), true, false},
        {"C-]", STR("\x1b[1098::93;5u"), STR(""), true, false},
        {"C-]", STR("\x1b[93;133u"), STR(""), true, false},
        {"C-]", STR("\x1b[27;5;93~"), STR(""), true, false},
        {"C-]", STR("\x1b[93;5u\x1b[93;5u"), STR("\x1b[93;5u"), false, false},
        {"C-]", STR("\x1b[57442;5u\x1b[93;5u\x1b[93;5:3u\x1b[93;5u\x1b[93;5:3u"),
         STR("\x1b[57442;5u\x1b[93;5u\x1b[93;5:3u"), false, false},
        {"C-]", STR("\x1b[93;5u\x1b[57442;1:3u\x1b[57442;5u\x1b[93;5u"),
         STR("\x1b[57442;1:3u\x1b[57442;5u\x1b[93;5u"), false, false},
        /* what looks like it and is not */
        {"C-]", STR("\x1b[93u\x1b[93;6u\x1b[93;7u\x1b[5;93~\x1b[>93;5u\x1b[93;5R"),
         STR("\x1b[93u\x1b[93;6u\x1b[93;7u\x1b[5;93~\x1b[>93;5u\x1b[93;5R"), false, false},
        {"C-]", STR("\x1b[93;5:3u"), STR("\x1b[93;5:3u"), false, false},
        {"C-]", STR("\x1b[A\x1bOA\x1bx\x1b\x1b[B"), STR("\x1b[A\x1bOA\x1bx\x1b\x1b[B"), false, false},
        /* keys with Alt that begin what never ends */
        {"C-]", STR("\x1b]\x1bP\x1b_a\x1d"), STR("\x1b]\x1bP\x1b_a"), true, false},
        {"C-]", STR("\x1b\x1d"), STR("\x1b"), true, false},
        {"C-]", STR("\x1b[12\x1d"), STR("\x1b[12"), true, false},
        /* a paste is text, whatever is in it */
        {"C-]",
         STR(PASTE "a\x1d"
                   "b\x1b[93;5u" PASTE_END "c"),
         STR(PASTE "a\x1d"
                   "b\x1b[93;5u" PASTE_END "c"),
         false, false},
        {"C-]", STR(PASTE "\x1b[201\x1b[20\x1d" PASTE_END "\x1d"),
         STR(PASTE "\x1b[201\x1b[20\x1d" PASTE_END), true, false},
        {"C-]", STR(PASTE "\x1d"), STR(PASTE "\x1d"), false, false},
        /* others */
        {"ctrl-p,ctrl-q", STR("a\x10\x11"), STR("a"), true, false},
        {"C-p,C-q", STR("\x10\x10x\x10\x11\x10\x11"), STR("\x10\x10x\x10\x11"), false, false},
        {"^a,d",
         STR("d\x01x\x01"
             "d"),
         STR("d\x01x"), true, false},
        {"C-a,d", STR("\x1b[97;5u\x1b[97;5:3ud"), STR(""), true, false},
        {"C-a,d", STR("\x01"), STR("\x01"), false, false},
        {"C-_", STR("\x1b[45:95;6u"), STR(""), true, false},
        {"none", STR("\x1d\x1b[93;5u\x03"), STR("\x1d\x1b[93;5u\x03"), false, false},
        /* who only looks leaves at once */
        {"C-]", STR("\x1d\x1d"), STR(""), true, true},
        {"C-]", STR("x\x1b[99;5u"), STR("x"), true, true},
        {"none", STR("\x03"), STR(""), true, true},
};

static void feed(Detach *detach, Str typed, Buf *out) {
        char *block = test_malloc(typed.n ? typed.n : 1); /* its edges are watched */

        if (typed.n)
                memcpy(block, typed.data, typed.n);
        assert_int_equal(detach_feed(detach, (Str){block, typed.n}, out), 0);
        test_free(block);
}

/* Cut at two places, with or without a pause there. */
static void try_cut(const Case *c, size_t first, size_t second, bool has_pause) {
        DetachKeys keys;
        Detach detach = {.keys = &keys, .is_watching = c->is_watching, .vt = VT_NULL};
        Buf out = BUF_NULL;

        assert_int_equal(detach_keys_parse(c->keys, &keys), 0);
        feed(&detach, (Str){c->typed.data, first}, &out);
        if (has_pause && detach_wait_ms(&detach) >= 0 && !detach.at)
                assert_int_equal(detach_pause(&detach, &out), 0);
        feed(&detach, (Str){c->typed.data + first, second - first}, &out);
        feed(&detach, (Str){c->typed.data + second, c->typed.n - second}, &out);
        if (!detach.leaves && detach_wait_ms(&detach) >= 0)
                assert_int_equal(detach_pause(&detach, &out), 0);
        if (!detach.leaves)
                assert_int_equal(detach_end(&detach, &out), 0);
        assert_int_equal(detach.leaves, c->leaves);
        /* A pause lets the front of a key pass that would have been held. */
        if (!has_pause) {
                assert_int_equal(out.n, c->passed.n);
                assert_true(str_eq(buf_str(&out), c->passed));
        }
        buf_deinit(&out);
        detach_deinit(&detach);
}

static void test_every_cut(void **state) {
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                for (size_t first = 0; first <= cases[i].typed.n; first++)
                        for (size_t second = first; second <= cases[i].typed.n; second++) {
                                try_cut(&cases[i], first, second, false);
                                try_cut(&cases[i], first, second, true);
                        }
}

static void test_times(void **state) {
        DetachKeys keys;
        Detach detach = {.keys = &keys, .vt = VT_NULL};
        Buf out = BUF_NULL;

        (void)state;
        assert_int_equal(detach_keys_parse("C-]", &keys), 0);
        assert_int_equal(detach_wait_ms(&detach), -1);
        feed(&detach, STR("\x1b"), &out);
        assert_true(detach_wait_ms(&detach) > 0 && detach_wait_ms(&detach) <= 50);
        assert_int_equal(out.n, 0);
        assert_int_equal(detach_pause(&detach, &out), 0);
        assert_true(str_eq(buf_str(&out), STR("\x1b")));
        assert_int_equal(detach_wait_ms(&detach), -1);
        feed(&detach, STR("\x1d"), &out);
        assert_true(detach_wait_ms(&detach) >= 200 && !detach.leaves);
        assert_int_equal(detach_pause(&detach, &out), 0);
        assert_true(detach.leaves);
        buf_deinit(&out);
        detach_deinit(&detach);
}

static void test_names(void **state) {
        static const char *const wrong[] = {"",    "x",    "C-",     "C-[",         "C-]]",  "F1",
                                            "C-1", "C-a,", "C-a,,b", "C-a,b,c,d,e", "d,C-a", "C-\xc3\xa9"};
        DetachKeys keys;

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
                assert_int_equal(detach_keys_parse(wrong[i], &keys), DETACH_E_INVALID);
        assert_int_equal(detach_keys_parse("Ctrl-P,^q,D", &keys), 0);
        assert_string_equal(keys.text, "Ctrl+P Ctrl+Q D");
        assert_int_equal(detach_keys_parse("C-]", &keys), 0);
        assert_string_equal(keys.text, "Ctrl+]");
        assert_int_equal(detach_keys_parse("none", &keys), 0);
        assert_int_equal(keys.n, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_cut),
                cmocka_unit_test(test_times),
                cmocka_unit_test(test_names),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
