/* SPDX-License-Identifier: MIT */
#include "cli/term/cast.h"

#include <stdlib.h>
#include <string.h>

#include "base/test-cmocka.h"
#include "base/macro.h"

static const char story[] = "plain \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80 \x1b[31m\"\\\r\n\0 end";

/* Writes the story in pieces of n_step bytes. */
static char *written(size_t n_step) {
        const CastHeader header = {.cols = 80, .rows = 24, .time_s = 1700000000, .title = "a \"b\""};
        Buf out = BUF_NULL;
        CastWriter cast;

        cast_begin(&cast, &out, &header, 1000);
        for (size_t at = 0; at < sizeof(story) - 1; at += n_step)
                cast_output(&cast, (Str){story + at, MIN(n_step, sizeof(story) - 1 - at)},
                            1000 + (int64_t)at);
        cast_resize(&cast, 100, 30, 2500);
        cast_marker(&cast, "here", 61001);
        cast_end(&cast, 61001);
        assert_false(cast.is_out_of_memory);
        assert_int_equal(buf_append(&out, "", 1), 0);
        return out.data;
}

static void expect_story(char *text) {
        CastReader reader = {.in = fmemopen(text, strlen(text), "r")};
        _cleanup_(buf_deinit) Buf output = BUF_NULL;
        double max_idle_s, last = 0;
        CastHeader header;
        CastEvent event;
        int r;

        assert_int_equal(cast_read_header(&reader, &header, &max_idle_s), 0);
        assert_int_equal(header.cols, 80);
        assert_true(max_idle_s < 0);
        while ((r = cast_read_event(&reader, &event)) == 0) {
                assert_true(event.seconds >= last);
                last = event.seconds;
                if (event.kind == 'o')
                        assert_int_equal(buf_append_str(&output, event.text), 0);
                else if (event.kind == 'r')
                        assert_true(str_is(event.text, "100x30"));
                else
                        assert_true(str_is(event.text, "here"));
        }
        assert_int_equal(r, CAST_E_END);
        assert_true(last > 60.0009 && last < 60.0011);
        assert_true(str_eq(buf_str(&output), (Str){story, sizeof(story) - 1}));
        fclose(reader.in);
        cast_deinit(&reader);
}

static void test_written_and_read(void **state) {
        (void)state;
        for (size_t n_step = 1; n_step < sizeof(story); n_step++) {
                _cleanup_(freep) char *text = written(n_step);

                expect_story(text);
        }
}

static void expect_output(Str bytes, const char *want) {
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        CastWriter cast = {.out = &out};

        cast_output(&cast, bytes, 0);
        cast_end(&cast, 0);
        assert_non_null(strstr(buf_cstr(&out), want));
}

static void test_bytes_that_are_no_characters(void **state) {
        (void)state;
        expect_output(STR("a\xff"
                          "b"),
                      "a\xef\xbf\xbd"
                      "b");
        expect_output(STR("cut \xe2\x82"), "\xef\xbf\xbd");
        expect_output(STR("\x80\x80\x80\x80"), "\xef\xbf\xbd");
}

static void expect_wrong(const char *text, const char *why) {
        CastReader reader = {.in = fmemopen((char *)text, strlen(text), "r")};
        CastHeader header;
        CastEvent event;
        double max_idle_s;
        int r = cast_read_header(&reader, &header, &max_idle_s);

        while (!r)
                r = cast_read_event(&reader, &event);
        assert_int_equal(r, CAST_E_WRONG);
        assert_non_null(strstr(reader.why, why));
        fclose(reader.in);
        cast_deinit(&reader);
}

static void test_wrong(void **state) {
        (void)state;
        expect_wrong("\n", "empty");
        expect_wrong("x\n", "line 1");
        expect_wrong("[]\n", "header");
        expect_wrong("{\"version\":1}\n", "version 2");
        expect_wrong("{\"version\":2}\n[1,\"o\"]\n", "line 2");
        expect_wrong("{\"version\":2}\n[\"1\",\"o\",\"x\"]\n", "line 2");
        expect_wrong("{\"version\":2}\n[1,\"\",\"x\"]\n", "line 2");
        expect_wrong("{\"version\":2}\n[1,\"o\",\"x\"]\n\n{", "line 4");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_written_and_read),
                cmocka_unit_test(test_bytes_that_are_no_characters),
                cmocka_unit_test(test_wrong),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
