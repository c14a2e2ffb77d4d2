/* SPDX-License-Identifier: MIT */
#include "sessions/input-filter.h"

#include "base/test-cmocka.h"
#include "base/macro.h"

#define BLOCKED "\r\n\x1b[1;33m\xe2\x9a\xa0 Blocked from web. Use local terminal to exit.\x1b[0m\r\n"
#define BOUNCED "\r\n\x1b[1;33m\xe2\x9a\xa0 Ctrl+C debounced.\x1b[0m\r\n"

/* A viewer, and what its program and itself got so far. */
typedef struct Viewer {
        InputFilter *filter;
        Buf pass, say;
} Viewer;

static void viewer_open(Viewer *viewer, BlockSequence *sequences, size_t n, int64_t debounce_ms) {
        Coopfile config = {
                .block_sequences = sequences, .n_block_sequences = n, .ctrl_c_debounce_ms = debounce_ms};

        *viewer = (Viewer){0};
        assert_int_equal(input_filter_new(&viewer->filter, &config), 0);
}

static void viewer_close(Viewer *viewer) {
        input_filter_freep(&viewer->filter);
        buf_deinit(&viewer->pass);
        buf_deinit(&viewer->say);
}

static void type_at(Viewer *viewer, int64_t now_ms, Str message) {
        assert_int_equal(input_filter_push(viewer->filter, now_ms, message, &viewer->pass, &viewer->say), 0);
}

static void assert_got(Viewer *viewer, Str pass, Str say, bool holds) {
        assert_true(str_eq(buf_str(&viewer->pass), pass));
        assert_true(str_eq(buf_str(&viewer->say), say));
        assert_int_equal(input_filter_holds(viewer->filter), holds);
        viewer->pass.n = viewer->say.n = 0;
}

/* In one message, then cut at every place, then byte by byte: the same reaches the program. */
static void assert_passes(Str typed, Str pass, size_t n_matches, bool holds) {
        Viewer viewer;

        for (size_t at = 0; at <= typed.n; at++) {
                viewer_open(&viewer, NULL, 0, 500);
                type_at(&viewer, 0, (Str){typed.data, at});
                type_at(&viewer, 0, (Str){typed.data + at, typed.n - at});
                assert_true(str_eq(buf_str(&viewer.pass), pass));
                assert_int_equal(input_filter_holds(viewer.filter), holds);
                assert_int_equal(viewer.say.n != 0, n_matches != 0);
                viewer_close(&viewer);
        }
        viewer_open(&viewer, NULL, 0, 0);
        for (size_t i = 0; i < typed.n; i++)
                type_at(&viewer, 0, (Str){typed.data + i, 1});
        assert_true(str_eq(buf_str(&viewer.pass), pass));
        assert_int_equal(viewer.say.n, n_matches * (sizeof(BLOCKED) - 1));
        viewer_close(&viewer);
}

static void test_innocent(void **state) {
        (void)state;
        assert_passes(STR("hello world\r"), STR("hello world\r"), 0, false);
        assert_passes(STR("exit now\r"), STR("exit now\r"), 0, false);
        assert_passes(STR("exiT\r quite\r EXIT\r"), STR("exiT\r quite\r EXIT\r"), 0, false);
        assert_passes(STR("/ex/exi/quit?"), STR("/ex/exi/quit?"), 0, false);
        assert_passes(STR("\x1b[A\x03\x1a\xc3\xa4\0"), STR("\x1b[A\x03\x1a\xc3\xa4\0"), 0, false);
        assert_passes(STR("exit \r"), STR("exit \r"), 0, false);
        assert_passes(STR(""), STR(""), 0, false);
}

static void test_blocked(void **state) {
        (void)state;
        assert_passes(STR("\x04"), STR(""), 1, false);
        assert_passes(STR("\x1c"), STR(""), 1, false);
        assert_passes(STR("exit\r"), STR(""), 1, false);
        assert_passes(STR("exit\n"), STR(""), 1, false);
        assert_passes(STR("quit\r"), STR(""), 1, false);
        assert_passes(STR("quit\n"), STR(""), 1, false);
        assert_passes(STR("/exit\r"), STR(""), 1, false); /* with its slash */
        assert_passes(STR("/exit\n"), STR(""), 1, false);
        assert_passes(STR("/quit\r"), STR("/"), 1, false); /* which is none of the words */
        assert_passes(STR("exit\rls\r"), STR("ls\r"), 1, false);
        assert_passes(STR("exit\r\n"), STR("\n"), 1, false);
}

/* What stands before a match goes on, and so does what only looked like one. */
static void test_around(void **state) {
        (void)state;
        assert_passes(STR("ls\rab\x04"
                          "cd"),
                      STR("ls\rabcd"), 1, false);
        assert_passes(STR("exexit\r"), STR("ex"), 1, false);
        assert_passes(STR("exiexit\r!"), STR("exi!"), 1, false);
        assert_passes(STR("/exi/exit\r"), STR("/exi"), 1, false);
        assert_passes(STR("quiexit\rquit\r."), STR("qui."), 2, false);
        assert_passes(STR("exi\x04t\r"), STR("exit\r"), 1, false);
        assert_passes(STR("\x04\x04\x04"), STR(""), 3, false);
}

static void test_held(void **state) {
        Viewer viewer;

        (void)state;
        assert_passes(STR("abexi"), STR("ab"), 0, true);
        assert_passes(STR("ab/"), STR("ab"), 0, true);
        viewer_open(&viewer, NULL, 0, 500);
        type_at(&viewer, 0, STR("run /exi"));
        assert_got(&viewer, STR("run "), STR(""), true);
        assert_int_equal(input_filter_flush(viewer.filter, &viewer.pass), 0);
        assert_got(&viewer, STR("/exi"), STR(""), false);
        type_at(&viewer, 0, STR("t\r")); /* what was flushed is over */
        assert_got(&viewer, STR("t\r"), STR(""), false);
        assert_int_equal(input_filter_flush(viewer.filter, &viewer.pass), 0);
        assert_got(&viewer, STR(""), STR(""), false);
        type_at(&viewer, 0, STR("qui"));
        type_at(&viewer, 0, STR("t"));
        assert_got(&viewer, STR(""), STR(""), true);
        type_at(&viewer, 0, STR("\r"));
        assert_got(&viewer, STR(""), STR(BLOCKED), false);
        viewer_close(&viewer);
}

static void test_one_warning_for_a_message(void **state) {
        Viewer viewer;

        (void)state;
        viewer_open(&viewer, NULL, 0, 500);
        type_at(&viewer, 0,
                STR("a\x04"
                    "b\x1c"
                    "c exit\r"));
        assert_got(&viewer, STR("abc "), STR(BLOCKED), false);
        viewer_close(&viewer);
}

static void test_sequences_of_the_coopfile(void **state) {
        BlockSequence own[] = {{(char *)"\x1b[A", 3},
                               {(char *)"\0\xff", 2},
                               {(char *)"xabc", 4},
                               {(char *)"ab", 2},
                               {(char *)"ab", 2}};
        Viewer viewer;

        (void)state;
        viewer_open(&viewer, own, ARRAY_SIZE(own), 500);
        type_at(&viewer, 0, STR("1\x1b[B2\x1b["));
        assert_got(&viewer, STR("1\x1b[B2"), STR(""), true);
        type_at(&viewer, 0, STR("A3"));
        assert_got(&viewer, STR("3"), STR(BLOCKED), false);
        type_at(&viewer, 0, STR("\0\0\xff"));
        assert_got(&viewer, STR("\0"), STR(BLOCKED), false);
        type_at(&viewer, 0, STR("xabc")); /* the shorter one is over first */
        assert_got(&viewer, STR("xc"), STR(BLOCKED), false);
        type_at(&viewer, 0, STR("exit\r")); /* the others still count */
        assert_got(&viewer, STR(""), STR(BLOCKED), false);
        viewer_close(&viewer);
}

static void test_ctrl_c(void **state) {
        Viewer viewer;

        (void)state;
        viewer_open(&viewer, NULL, 0, 500);
        type_at(&viewer, 0, STR("\x03")); /* also at the very beginning of the clock */
        assert_got(&viewer, STR("\x03"), STR(""), false);
        type_at(&viewer, 499, STR("\x03"));
        assert_got(&viewer, STR(""), STR(BOUNCED), false);
        type_at(&viewer, 500,
                STR("\x03")); /* from the one that passed on, so that a held key passes twice a second */
        assert_got(&viewer, STR("\x03"), STR(""), false);
        type_at(&viewer, 600, STR("\x03\x03")); /* not alone in its message */
        assert_got(&viewer, STR("\x03\x03"), STR(""), false);
        type_at(&viewer, 700, STR("exi"));
        type_at(&viewer, 710, STR("\x03"));
        assert_got(&viewer, STR(""), STR(BOUNCED), true); /* what is held stays */
        type_at(&viewer, 2000, STR("\x03"));
        assert_got(&viewer, STR("exi\x03"), STR(""), false);
        viewer_close(&viewer);

        viewer_open(&viewer, NULL, 0, 0);
        type_at(&viewer, 5, STR("\x03"));
        type_at(&viewer, 5, STR("\x03"));
        assert_got(&viewer, STR("\x03\x03"), STR(""), false);
        viewer_close(&viewer);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_innocent),
                cmocka_unit_test(test_blocked),
                cmocka_unit_test(test_around),
                cmocka_unit_test(test_held),
                cmocka_unit_test(test_one_warning_for_a_message),
                cmocka_unit_test(test_sequences_of_the_coopfile),
                cmocka_unit_test(test_ctrl_c),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
