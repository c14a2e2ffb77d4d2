/* SPDX-License-Identifier: MIT */
/* Writing JSON: strings, the stream writer, the pretty one; and UTF-8 that is not. */
#include "base/json/test-json-fixture.h"

#include <stdlib.h>

#include "base/macro.h"
#include "base/utf8.h"

static void test_strings(void **state) {
        static const struct {
                Str in;
                const char *out;
        } strings[] = {
                {{"", 0}, "\"\""},
                {{"plain", 5}, "\"plain\""},
                {{"\"\\/", 3}, "\"\\\"\\\\/\""},
                {{"\b\f\n\r\t", 5}, "\"\\b\\f\\n\\r\\t\""},
                {{"\0\x01\x1f\x7f", 4}, "\"\\u0000\\u0001\\u001f\x7f\""},
                {{"Gr\xc3\xbc\xc3\x9f \xe6\x97\xa5 \xf0\x9f\x9a\x80", 15},
                 "\"Gr\xc3\xbc\xc3\x9f \xe6\x97\xa5 \xf0\x9f\x9a\x80\""},
                {{"a\x80z", 3}, "\"a\xef\xbf\xbdz\""},
                {{"\xff\xff", 2}, "\"\xef\xbf\xbd\xef\xbf\xbd\""},
                {{"\xe2\x82", 2}, "\"\xef\xbf\xbd\""},
                {{"\xe2\x82z", 3}, "\"\xef\xbf\xbdz\""},
                {{"\xed\xa0\x80", 3}, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
                {{"0123456789abcdef\n0123456789abcdef\"", 34},
                 "\"0123456789abcdef\\n0123456789abcdef\\\"\""},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(strings); i++) {
                JsonWriter w = JSON_WRITER(&out);

                assert_written(json_new_str(&arena, strings[i].in), strings[i].out);
                out.n = 0;
                jw_str(&w, strings[i].in);
                assert_str(buf_str(&out), strings[i].out);
        }
}

/* Every length and every place of the one character that needs care. */
static void test_string_positions(void **state) {
        (void)state;
        for (size_t n = 1; n < 70; n++)
                for (size_t at = 0; at < n; at++) {
                        char *text = malloc(n);
                        Json *back = NULL;
                        Arena mine = ARENA_NULL;

                        assert_non_null(text);
                        memset(text, 'a', n);
                        text[at] = "\n\"\\\x01"[(n + at) % 4];
                        out.n = 0;
                        assert_int_equal(json_write(&out, json_new_str(&arena, (Str){text, n})), 0);
                        assert_int_equal(json_parse(&mine, out.data, out.n, NULL, &back, NULL), 0);
                        assert_true(str_eq(json_str(back), (Str){text, n}));
                        arena_deinit(&mine);
                        free(text);
                }
}

/* A decoded string that outgrows chunk after chunk of the arena. */
static void test_long_escaped_string(void **state) {
        enum { N = 300000 };
        Str s;
        Json *json = NULL;

        (void)state;
        buf_append(&out, "\"", 1);
        for (int i = 0; i < N; i++)
                assert_int_equal(buf_append(&out, i % 3 ? "ab\xc3\xa9" : "\\u00e9\\n  ", i % 3 ? 4 : 10), 0);
        buf_append(&out, "\"", 1);
        assert_int_equal(json_parse(&arena, out.data, out.n, NULL, &json, NULL), 0);
        s = json_str(json);
        assert_int_equal(s.n, N / 3 * (5 + 4 + 4));
        assert_int_equal(utf8_valid_prefix(s.data, s.n), s.n);
        assert_memory_equal(s.data + s.n - 13,
                            "\xc3\xa9\n  ab\xc3\xa9"
                            "ab\xc3\xa9",
                            13);
        assert_int_equal(s.data[s.n], 0);
}

static void test_stream(void **state) {
        JsonWriter w = JSON_WRITER(&out);

        (void)state;
        jw_begin_object(&w);
        jw_field_str(&w, "s", STR("a\"b"));
        jw_field_cstr(&w, "c", "d");
        jw_field_cstr(&w, "null", NULL);
        jw_field_int(&w, "min", INT64_MIN);
        jw_field_uint(&w, "max", UINT64_MAX);
        jw_field_bool(&w, "yes", true);
        jw_field_bool(&w, "no", false);
        jw_field_null(&w, "z");
        jw_key_str(&w, STR("k\n"));
        jw_begin_array(&w);
        jw_end_array(&w);
        jw_key(&w, "list");
        jw_begin_array(&w);
        jw_int(&w, 0);
        jw_double(&w, 0.5);
        jw_begin_object(&w);
        jw_end_object(&w);
        jw_begin_array(&w);
        jw_null(&w);
        jw_bool(&w, true);
        jw_end_array(&w);
        jw_raw(&w, STR("{\"raw\": 1}"));
        jw_value(&w, parse("[1, 2]"));
        jw_value(&w, NULL);
        jw_end_array(&w);
        jw_field_value(&w, "v", parse("\"\\u0041\""));
        jw_end_object(&w);
        assert_false(w.failed);
        assert_str(buf_str(&out),
                   "{\"s\":\"a\\\"b\",\"c\":\"d\",\"null\":null,\"min\":-9223372036854775808,"
                   "\"max\":18446744073709551615,\"yes\":true,\"no\":false,\"z\":null,\"k\\n\":[],"
                   "\"list\":[0,0.5,{},[null,true],{\"raw\": 1},[1,2],null],\"v\":\"\\u0041\"}");
}

static void test_pretty(void **state) {
        Json *json = parse(
                "{\"a\":1,\"b\":[],\"c\":{},\"d\":[1,[2,{\"\\u0041\":\"\\u0041\"}]],\"e\":{\"f\":null}}");

        (void)state;
        assert_int_equal(json_write_pretty(&out, json, 2), 0);
        assert_str(buf_str(&out), "{\n"
                                  "  \"a\": 1,\n"
                                  "  \"b\": [],\n"
                                  "  \"c\": {},\n"
                                  "  \"d\": [\n"
                                  "    1,\n"
                                  "    [\n"
                                  "      2,\n"
                                  "      {\n"
                                  "        \"A\": \"\\u0041\"\n"
                                  "      }\n"
                                  "    ]\n"
                                  "  ],\n"
                                  "  \"e\": {\n"
                                  "    \"f\": null\n"
                                  "  }\n"
                                  "}");
        out.n = 0;
        assert_int_equal(json_write_pretty(&out, json_get(json, "e"), 0), 0);
        assert_str(buf_str(&out), "{\n\"f\": null\n}");
        out.n = 0;
        assert_int_equal(json_write_pretty(&out, json_get(json, "a"), 4), 0);
        assert_str(buf_str(&out), "1");
}

static void test_write_appends(void **state) {
        (void)state;
        buf_append(&out, "> ", 2);
        assert_int_equal(json_write(&out, json_get(parse("{\"a\": [1, 2],\"b\":3}"), "a")), 0);
        assert_str(buf_str(&out), "> [1,2]");
}

static void test_utf8(void **state) {
        static const struct {
                Str in;
                size_t n_valid;
                const char *replaced;
        } texts[] = {
                {{NULL, 0}, 0, ""},
                {{"plain ascii text", 16}, 16, "plain ascii text"},
                {{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x9a\x80", 9}, 9, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x9a\x80"},
                {{"ab\xff", 3}, 2, "ab\xef\xbf\xbd"},
                {{"ab\xff"
                  "cd",
                  5},
                 2,
                 "ab\xef\xbf\xbd"
                 "cd"},
                {{"\xc0\xaf", 2}, 0, "\xef\xbf\xbd\xef\xbf\xbd"},
                {{"\xe0\x80\xaf", 3}, 0, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
                {{"\xf0\x9f\x9a", 3}, 0, "\xef\xbf\xbd"},
                {{"\xf0\x9f\x9aX", 4}, 0, "\xef\xbf\xbdX"},
                {{"\xf0\x9f\xc3\xa9", 4}, 0, "\xef\xbf\xbd\xc3\xa9"},
                {{"\xf4\x90\x80\x80", 4}, 0, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
                {{"\xed\xbf\xbf", 3}, 0, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
                {{"x\xe2\x82", 3}, 1, "x\xef\xbf\xbd"},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                out.n = 0;
                assert_int_equal(utf8_valid_prefix(texts[i].in.data, texts[i].in.n), texts[i].n_valid);
                assert_int_equal(utf8_append_replaced(&out, texts[i].in.data, texts[i].in.n), 0);
                assert_str(buf_str(&out), texts[i].replaced);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                json_test(test_strings),
                json_test(test_string_positions),
                json_test(test_long_escaped_string),
                json_test(test_stream),
                json_test(test_pretty),
                json_test(test_write_appends),
                json_test(test_utf8),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
