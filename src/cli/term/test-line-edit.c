/* SPDX-License-Identifier: MIT */
#include <locale.h>

#include "base/test-cmocka.h"
#include "base/macro.h"
#include "cli/term/line-edit.h"

static LineEvent type(LineEdit *line, const char *keys) {
        LineEvent event = LINE_MORE;

        for (; *keys && event == LINE_MORE; keys++)
                event = line_edit_byte(line, *keys);
        return event;
}

static void assert_line(const LineEdit *line, const char *text, size_t at) {
        assert_true(str_is(buf_str(&line->text), text));
        assert_int_equal(line->at, at);
}

static void test_editing(_unused_ void **state) {
        _cleanup_(line_edit_deinit) LineEdit line = {0};

        type(&line, "hello worlds\x7f");
        assert_line(&line, "hello world", 11);
        type(&line, "\x17there\x01>\x05!");
        assert_line(&line, ">hello there!", 13);
        type(&line, "\x1b[D\x1b[D\x1b[3~");
        assert_line(&line, ">hello ther!", 11);
        type(&line, "\x1b[H\x04\x1bOF\x02\x0b");
        assert_line(&line, "hello ther", 10);
        type(&line, "\x15");
        assert_line(&line, "", 0);
        type(&line, "\x1b[D\x1b[C\x7f");
        assert_line(&line, "", 0);
        type(&line, "\x1b[1;5Cx\x1b[5~y");
        assert_line(&line, "xy", 2);
}

/* The terminal says where a paste begins and ends: what is in it is text, also where it looks like a key. */
static void test_paste(_unused_ void **state) {
        _cleanup_(line_edit_deinit) LineEdit line = {0};
        _cleanup_(buf_deinit) Buf out = BUF_NULL;

        assert_int_equal(type(&line, "a \x1b[200~one\r\ntwo\rthree\x03\x04\x17\tx\x1b[201~!"), LINE_MORE);
        assert_line(&line, "a one\ntwo\nthree\tx!", 18);
        assert_int_equal(line_edit_draw(&line, "> ", 0, &out), 0);
        assert_true(str_is(buf_str(&out), "\r> a one\u23cetwo\u23cethree x!\x1b[K"));
        type(&line, "\x1b[D\x1b[D\x7f\x7f\x7f\x7f\x7f\x7f\x7f");
        assert_line(&line, "a one\ntwox!", 9);
        assert_int_equal(type(&line, "\r"), LINE_DONE);
        line_edit_next(&line);
        type(&line, "\x1b[200~x\x1b[Ay\x1b[201~");
        assert_line(&line, "xy", 2); /* other sequences are left out */
        type(&line, "\x1b[200~");
        line_edit_next(&line);
        assert_int_equal(type(&line, "\x03"), LINE_INTERRUPT); /* a paste ends with its line at the latest */
}

static void test_characters(_unused_ void **state) {
        _cleanup_(line_edit_deinit) LineEdit line = {0};
        _cleanup_(buf_deinit) Buf out = BUF_NULL;

        type(&line, "a\xc3\xa4\xe2\x82\xac");
        type(&line, "\x1b[D\x1b[D");
        assert_line(&line, "a\xc3\xa4\xe2\x82\xac", 1);
        assert_int_equal(line_edit_draw(&line, "> ", 0, &out), 0);
        assert_true(str_is(buf_str(&out), "\r> a\xc3\xa4\xe2\x82\xac\x1b[K\x1b[2D"));
        type(&line, "\x1b[C\x7f");
        assert_line(&line, "a\xe2\x82\xac", 1);
}

static void assert_drawn(const LineEdit *line, size_t n_columns, const char *text) {
        _cleanup_(buf_deinit) Buf out = BUF_NULL;

        assert_int_equal(line_edit_draw(line, "> ", n_columns, &out), 0);
        assert_true(str_is(buf_str(&out), text));
}

static void test_columns(_unused_ void **state) {
        _cleanup_(line_edit_deinit) LineEdit line = {0};

        type(&line,
             "\xe6\xbc\xa2\xe5\xad\x97x\xcc\x88y\x1b[D\x1b[D\x1b[D\x1b[D"); /* two wide, an x with dots */
        assert_drawn(&line, 80, "\r> \xe6\xbc\xa2\xe5\xad\x97x\xcc\x88y\x1b[K\x1b[4D");
        type(&line, "\x15\x0b\xe6\xbc");
        assert_drawn(&line, 80, "\r> ?\x1b[K");
        type(&line, "\xa2");
        assert_drawn(&line, 80, "\r> \xe6\xbc\xa2\x1b[K");
        type(&line, "\x15\u2705\u274c\u2b50x\x1b[D\x1b[D\x1b[D\x1b[D"); /* pictures that agents like */
        assert_drawn(&line, 80, "\r> \u2705\u274c\u2b50x\x1b[K\x1b[7D");
}

static void test_narrow(_unused_ void **state) {
        _cleanup_(line_edit_deinit) LineEdit line = {0};

        type(&line, "0123456789");
        assert_drawn(&line, 13, "\r> 0123456789\x1b[K");
        assert_drawn(&line, 10, "\r> 3456789\x1b[K");
        type(&line, "\x01");
        assert_drawn(&line, 10, "\r> 0123456\x1b[K\x1b[7D");
        assert_drawn(&line, 4, "\r012\x1b[K\x1b[3D");
        assert_drawn(&line, 1, "\r0\x1b[K\x1b[1D");
}

static void test_events(_unused_ void **state) {
        _cleanup_(line_edit_deinit) LineEdit line = {0};

        assert_int_equal(type(&line, "\x04"), LINE_END);
        assert_int_equal(type(&line, "x\x03"), LINE_INTERRUPT);
        assert_int_equal(type(&line, "\r"), LINE_DONE);
}

static void test_history(_unused_ void **state) {
        _cleanup_(line_edit_deinit) LineEdit line = {0};

        for (int i = 0; i < LINE_HISTORY + 5; i++) {
                char text[2] = {(char)('a' + i % 26), 0};
                type(&line, text);
                line_edit_next(&line);
                line_edit_next(&line); /* empty ones are not remembered */
        }
        assert_int_equal(line.n_history, LINE_HISTORY);
        type(&line, "new\x1b[A");
        assert_line(&line, "a", 1);
        type(&line, "\x10");
        assert_line(&line, "z", 1);
        type(&line, "\x1b[B\x1b[B\x1b[B");
        assert_line(&line, "new", 3);
        for (int i = 0; i < LINE_HISTORY + 10; i++)
                type(&line, "\x1b[A");
        assert_line(&line, "f", 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_editing), cmocka_unit_test(test_characters),
                cmocka_unit_test(test_columns), cmocka_unit_test(test_narrow),
                cmocka_unit_test(test_events),  cmocka_unit_test(test_history),
                cmocka_unit_test(test_paste),
        };

        setlocale(LC_CTYPE, "C.UTF-8");
        return cmocka_run_group_tests(tests, NULL, NULL);
}
