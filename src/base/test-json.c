/* SPDX-License-Identifier: MIT */
/*
 * JSON trees: access, numbers, building and changing, equality, both writers; and what happens without
 * memory.
 */
#include <errno.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/json-writer.h"
#include "base/macro.h"
#include "base/utf8.h"

static Arena arena;
static Buf out;

static int setup(void **state) {
        (void)state;
        arena = ARENA_NULL;
        out = BUF_NULL;
        return 0;
}

static int teardown(void **state) {
        (void)state;
        arena_deinit(&arena);
        buf_deinit(&out);
        return 0;
}

static Json *parse(const char *text) {
        Json *json = NULL;
        JsonFault fault = {0};

        if (json_parse(&arena, text, strlen(text), NULL, &json, &fault))
                fail_msg("%s: %s at %zu", text, fault.what, fault.offset);
        return json;
}

static void assert_str(Str s, const char *expected) {
        if (!str_is(s, expected))
                fail_msg("\"" STR_FMT "\" instead of \"%s\"", STR_ARG(s), expected);
}

static void assert_written(const Json *json, const char *expected) {
        out.n = 0;
        assert_int_equal(json_write(&out, json), 0);
        assert_str(buf_str(&out), expected);
}

/* Access. */

static void test_access(void **state) {
        Json *json = parse("{\"s\":\"a\\nb\",\"n\":12,\"t\":true,\"f\":false,\"z\":null,\"l\":[1,2,3],\"o\":"
                           "{\"s\":\"in\"}}");
        int64_t i = 99;
        bool b;

        (void)state;
        assert_true(json_is(json, JSON_OBJECT));
        assert_int_equal(json_count(json), 7);
        assert_str(json_str(json_get(json, "s")), "a\nb");
        assert_str(json_str(json_get(json_get(json, "o"), "s")), "in");
        assert_str(json_key(json_get(json, "z")), "z");
        assert_true(json_is(json_get(json, "z"), JSON_NULL));
        assert_true(json_int64(json_get(json, "n"), &i) && i == 12);
        assert_true(json_bool(json_get(json, "t"), &b) && b);
        assert_true(json_bool(json_get(json, "f"), &b) && !b);
        assert_false(json_bool(json_get(json, "n"), &b));
        assert_false(json_int64(json_get(json, "s"), &i));
        assert_null(json_get(json, "nothing"));
        assert_null(json_get(json_get(json, "l"), "s"));
        assert_null(json_get(NULL, "s"));
        assert_int_equal(json_str(json_get(json, "n")).n, 0);
        assert_int_equal(json_count(json_get(json, "l")), 3);
        i = 0;
        json_each (item, json_get(json, "l")) {
                int64_t v;
                assert_true(json_int64(item, &v));
                i = i * 10 + v;
        }
        assert_int_equal(i, 123);
        assert_int_equal(json_count(NULL), 0);
        assert_null(json_first(json_get(json, "n")));
}

static void test_raw_spans(void **state) {
        Json *json = parse(" { \"a\" : [ 1 , {\"b\": \"x\\u0041\"} ] , \"n\" : -1.50e+2 , \"t\":true} ");

        (void)state;
        assert_str(json_raw(json),
                   "{ \"a\" : [ 1 , {\"b\": \"x\\u0041\"} ] , \"n\" : -1.50e+2 , \"t\":true}");
        assert_str(json_raw(json_get(json, "a")), "[ 1 , {\"b\": \"x\\u0041\"} ]");
        assert_str(json_raw(json_first(json_get(json, "a"))->next), "{\"b\": \"x\\u0041\"}");
        assert_str(json_raw(json_get(json_first(json_get(json, "a"))->next, "b")), "\"x\\u0041\"");
        assert_str(json_raw(json_get(json, "n")), "-1.50e+2");
        assert_str(json_raw(json_get(json, "t")), "true");
        assert_written(json, "{\"a\":[1,{\"b\":\"x\\u0041\"}],\"n\":-1.50e+2,\"t\":true}");
}

/* Numbers. */

typedef struct Number {
        const char *text;
        bool fits_int, fits_uint, fits_double;
        int64_t i;
        uint64_t u;
        double d;
} Number;

static const Number numbers[] = {
        {"0", true, true, true, 0, 0, 0},
        {"-0", true, true, true, 0, 0, -0.0},
        {"-0.0", true, true, true, 0, 0, -0.0},
        {"1", true, true, true, 1, 1, 1},
        {"-1", true, false, true, -1, 0, -1},
        {"1.0", true, true, true, 1, 1, 1},
        {"1e2", true, true, true, 100, 100, 100},
        {"12.50e1", true, true, true, 125, 125, 125},
        {"100e-2", true, true, true, 1, 1, 1},
        {"1e-1", false, false, true, 0, 0, 0.1},
        {"0.1", false, false, true, 0, 0, 0.1},
        {"1.5", false, false, true, 0, 0, 1.5},
        {"1e-7", false, false, true, 0, 0, 1e-7},
        {"0e99999999999999999999", true, true, true, 0, 0, 0},
        {"0.000e-5", true, true, true, 0, 0, 0},
        {"9007199254740993", true, true, true, 9007199254740993, 9007199254740993, 9007199254740992.0},
        {"9223372036854775807", true, true, true, INT64_MAX, INT64_MAX, 9223372036854775808.0},
        {"9223372036854775808", false, true, true, 0, 9223372036854775808u, 9223372036854775808.0},
        {"-9223372036854775808", true, false, true, INT64_MIN, 0, -9223372036854775808.0},
        {"-9223372036854775809", false, false, true, 0, 0, -9223372036854775808.0},
        {"18446744073709551615", false, true, true, 0, UINT64_MAX, 18446744073709551616.0},
        {"18446744073709551616", false, false, true, 0, 0, 18446744073709551616.0},
        {"18446744073709551620", false, false, true, 0, 0, 18446744073709551616.0},
        {"9.223372036854775807e18", true, true, true, INT64_MAX, INT64_MAX, 9223372036854775808.0},
        {"1e19", false, true, true, 0, 10000000000000000000u, 1e19},
        {"1e20", false, false, true, 0, 0, 1e20},
        {"123456789012345678901234567890", false, false, true, 0, 0, 123456789012345678901234567890.0},
        {"1e22", false, false, true, 0, 0, 1e22},
        {"1e23", false, false, true, 0, 0, 1e23},
        {"1e308", false, false, true, 0, 0, 1e308},
        {"1.7976931348623157e308", false, false, true, 0, 0, DBL_MAX},
        {"1e309", false, false, false, 0, 0, 0},
        {"1e400", false, false, false, 0, 0, 0},
        {"-1e400", false, false, false, 0, 0, 0},
        {"1e99999999999999999999", false, false, false, 0, 0, 0},
        {"1e-99999999999999999999", false, false, true, 0, 0, 0},
        {"5e-324", false, false, true, 0, 0, 5e-324},
        {"2.2250738585072011e-308", false, false, true, 0, 0, 2.2250738585072011e-308},
        {"9007199254740993.0000000000000000000000000000001", false, false, true, 0, 0, 9007199254740994.0},
        {"0.1000000000000000055511151231257827021181583404541015625", false, false, true, 0, 0, 0.1},
};

static void check_number(const Number *n) {
        Json *json = parse(n->text);
        int64_t i = 42;
        uint64_t u = 42;
        double d = 42;

        if (json_int64(json, &i) != n->fits_int || i != (n->fits_int ? n->i : 42))
                fail_msg("%s: int64 %lld", n->text, (long long)i);
        if (json_uint64(json, &u) != n->fits_uint || u != (n->fits_uint ? n->u : 42))
                fail_msg("%s: uint64 %llu", n->text, (unsigned long long)u);
        if (json_double(json, &d) != n->fits_double || d != (n->fits_double ? n->d : 42) ||
            (n->fits_double && signbit(d) != signbit(n->d)))
                fail_msg("%s: double %.17g", n->text, d);
        assert_written(json, n->text);
}

static void test_numbers(void **state) {
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
                check_number(&numbers[i]);
}

static void test_long_numbers(void **state) {
        enum { N = 5000 };
        char text[N + 16];
        Json *json;
        int64_t i;
        double d;

        (void)state;
        memset(text, '0', sizeof(text));
        memcpy(text, "0.", 2);
        memcpy(text + N, "1e4999", 7); /* 0.000...1e4999 */
        json = parse(text);
        assert_true(json_double(json, &d) && d == 1);
        assert_true(json_int64(json, &i) && i == 1);
        memset(text, '7', N);
        text[N] = 0;
        json = parse(text);
        assert_false(json_double(json, &d) || json_int64(json, &i));
}

static void test_numbers_in_other_locale(void **state) {
        static const char *const names[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8"};
        const char *name = NULL;
        double d;

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(names) && !name; i++)
                name = setlocale(LC_NUMERIC, names[i]);
        if (!name)
                skip(); /* none with a decimal comma on this machine */
        assert_true(json_double(parse("123.4560000000000000000000001"), &d) && d == 123.456);
        assert_written(json_new_double(&arena, 0.5), "0.5");
        assert_written(json_new_double(&arena, 1.0 / 3), "0.3333333333333333");
        setlocale(LC_NUMERIC, "C");
}

static const struct {
        double value;
        const char *text;
} doubles[] = {
        {0, "0"},
        {-0.0, "-0"},
        {1, "1"},
        {-1, "-1"},
        {0.1, "0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1e-7, "1e-7"},
        {1e-6, "0.000001"},
        {1.5e-6, "0.0000015"},
        {123456789, "123456789"},
        {123.456, "123.456"},
        {100, "100"},
        {1e20, "100000000000000000000"},
        {1e21, "1e+21"},
        {1.5e300, "1.5e+300"},
        {1e23, "1e+23"},
        {9007199254740992.0, "9007199254740992"},
        {1.0 / 3, "0.3333333333333333"},
        {2.0 / 3, "0.6666666666666666"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {-DBL_MIN, "-2.2250738585072014e-308"},
        {5e-324, "5e-324"},
        {1715937063.123456, "1715937063.123456"},
        {INFINITY, "null"},
        {-INFINITY, "null"},
        {NAN, "null"},
};

static void test_doubles(void **state) {
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(doubles); i++) {
                Json *json = json_new_double(&arena, doubles[i].value);
                JsonWriter w = JSON_WRITER(&out);
                double back;

                assert_written(json, doubles[i].text);
                if (isfinite(doubles[i].value))
                        assert_true(json_double(json, &back) && back == doubles[i].value);
                out.n = 0;
                jw_double(&w, doubles[i].value);
                assert_str(buf_str(&out), doubles[i].text);
        }
}

static void test_doubles_read_back(void **state) {
        uint64_t bits = 88172645463325252u;

        (void)state;
        for (int i = 0; i < 20000; i++) {
                double value, back;
                Json *json;

                bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
                memcpy(&value, &bits, sizeof(value));
                if (!isfinite(value))
                        continue;
                json = json_new_double(&arena, value);
                if (!json_double(json, &back) || memcmp(&back, &value, sizeof(value)))
                        fail_msg("%a came back as %a", value, back);
                arena_reset(&arena);
        }
}

/* Building and changing. */

static void test_build(void **state) {
        Json *object = json_new(&arena, JSON_OBJECT), *array = json_new(&arena, JSON_ARRAY);
        char key[] = "key", text[] = "text";

        (void)state;
        for (int64_t i = 0; i < 3; i++)
                assert_int_equal(json_push(array, json_new_int(&arena, i - 1)), 0);
        assert_int_equal(json_push(array, json_new_int(&arena, INT64_MIN)), 0);
        assert_int_equal(json_push(array, json_new_number(&arena, STR("1.50"))), 0);
        assert_int_equal(json_set(&arena, object, str_from(key), json_new_str(&arena, str_from(text))), 0);
        memset(key, 'x', 3);
        memset(text, 'x', 4);
        assert_int_equal(json_set(&arena, object, STR("list"), array), 0);
        assert_int_equal(json_set(&arena, object, STR("on"), json_new_bool(&arena, true)), 0);
        assert_int_equal(json_set(&arena, object, STR("q\"\n\xc3\xa9"), json_new(&arena, JSON_NULL)), 0);
        assert_written(object, "{\"key\":\"text\",\"list\":[-1,0,1,-9223372036854775808,1.50],\"on\":true,"
                               "\"q\\\"\\n\xc3\xa9\":null}");
        assert_int_equal(json_raw(object).n, 0);
        assert_int_equal(json_str(json_get(object, "key")).data[4], 0);

        assert_written(json_new(&arena, JSON_NULL), "null");
        assert_written(json_new(&arena, JSON_BOOL), "false");
        assert_written(json_new(&arena, JSON_NUMBER), "0");
        assert_written(json_new(&arena, JSON_STRING), "\"\"");
        assert_written(json_new(&arena, JSON_ARRAY), "[]");
        assert_written(json_new(&arena, JSON_OBJECT), "{}");
        assert_written(json_new_str(&arena, STR_NULL), "\"\"");
        assert_written(NULL, "null");
        assert_int_equal(json_set(&arena, object, STR("a"), NULL), -ENOMEM);
        assert_int_equal(json_push(array, NULL), -ENOMEM);
}

static void test_set_and_remove(void **state) {
        Json *object = json_new(&arena, JSON_OBJECT);

        (void)state;
        json_set(&arena, object, STR("a"), json_new_int(&arena, 1));
        json_set(&arena, object, STR("b"), json_new_int(&arena, 2));
        json_set(&arena, object, STR("c"), json_new_int(&arena, 3));
        json_set(&arena, object, STR("b"), json_new_str(&arena, STR("two")));
        assert_written(object, "{\"a\":1,\"b\":\"two\",\"c\":3}");
        json_set(&arena, object, STR("c"), json_new_int(&arena, 4));
        json_set(&arena, object, STR("d"), json_new_int(&arena, 5));
        assert_written(object, "{\"a\":1,\"b\":\"two\",\"c\":4,\"d\":5}");
        json_set(&arena, object, STR("d"), json_get(object, "d"));
        json_set(&arena, object, STR("a"), json_get(object, "a"));
        assert_written(object, "{\"a\":1,\"b\":\"two\",\"c\":4,\"d\":5}");
        assert_true(json_remove(object, STR("a")));
        assert_false(json_remove(object, STR("a")));
        assert_true(json_remove(object, STR("d")));
        json_set(&arena, object, STR("e"), json_new_int(&arena, 6));
        assert_written(object, "{\"b\":\"two\",\"c\":4,\"e\":6}");
        assert_true(json_remove(object, STR("b")) && json_remove(object, STR("c")) &&
                    json_remove(object, STR("e")));
        assert_int_equal(json_count(object), 0);
        assert_written(object, "{}");
        json_set(&arena, object, STR("f"), json_new_int(&arena, 7));
        assert_written(object, "{\"f\":7}");
        assert_false(json_remove(NULL, STR("a")));
}

static void test_change_parsed(void **state) {
        Json *json = parse("{\"a\":{\"x\":\"\\u0041\",\"y\":[1,2]},\"b\":[],\"c\":{}}"), *moved;

        (void)state;
        json_push(json_get(json_get(json, "a"), "y"), json_new_int(&arena, 3));
        json_push(json_get(json, "b"), json_new(&arena, JSON_NULL));
        json_set(&arena, json_get(json, "c"), STR("new"), json_new_bool(&arena, true));
        assert_written(json, "{\"a\":{\"x\":\"\\u0041\",\"y\":[1,2,3]},\"b\":[null],\"c\":{\"new\":true}}");
        assert_int_equal(json_raw(json_get(json, "b")).n, 0);

        moved = json_get(json_get(json, "a"), "x");
        assert_true(json_remove(json_get(json, "a"), STR("x")));
        json_set(&arena, json, STR("\\"), moved);
        assert_true(json_remove(json, STR("c")));
        json_push(json_get(json, "b"), parse("{\"k\": {\"v\" :1}}"));
        assert_written(json, "{\"a\":{\"y\":[1,2,3]},\"b\":[null,{\"k\":{\"v\":1}}],\"\\\\\":\"\\u0041\"}");
        assert_int_equal(json_raw(json).n, 0);
}

static void test_push_many(void **state) {
        Json *array = json_new(&arena, JSON_ARRAY);

        (void)state;
        for (int64_t i = 0; i < 300000; i++)
                assert_int_equal(json_push(array, json_new(&arena, JSON_NULL)), 0);
        assert_int_equal(json_count(array), 300000);
}

static void test_clone(void **state) {
        static const char text[] =
                "{\"a\":[1,2.50,[\"\\u00e9\",{\"\\n\":null}],true,[],{}],\"b\":{\"c\":{}}}";
        char *input = strdup(text);
        Json *json = NULL, *copy;
        Arena source = ARENA_NULL;

        (void)state;
        assert_int_equal(json_parse(&source, input, strlen(input), NULL, &json, NULL), 0);
        copy = json_clone(&arena, json);
        assert_true(json_equal(json, copy));
        arena_deinit(&source);
        memset(input, 'x', strlen(input));
        free(input);
        assert_written(copy, "{\"a\":[1,2.50,[\"\xc3\xa9\",{\"\\n\":null}],true,[],{}],\"b\":{\"c\":{}}}");
        assert_int_equal(json_raw(copy).n, 0);
        json_push(json_get(copy, "a"), json_new(&arena, JSON_NULL)); /* the copy knows its last child */
        assert_int_equal(json_count(json_get(copy, "a")), 7);

        /* A part of a tree is copied without its name and without its siblings. */
        assert_written(json_clone(&arena, json_get(copy, "a")->first), "1");
        assert_int_equal(json_key(json_clone(&arena, json_get(copy, "b"))).n, 0);
        assert_null(json_clone(&arena, NULL));
}

static void test_equal(void **state) {
        static const struct {
                const char *a, *b;
                bool equal;
        } pairs[] = {
                {"null", "null", true},
                {"null", "false", false},
                {"true", "false", false},
                {"1", "1", true},
                {"1", "1.0", false},
                {"1", "\"1\"", false},
                {"\"A\"", "\"\\u0041\"", true},
                {"\"a\\u0000b\"", "\"a\\u0000c\"", false},
                {"[]", "{}", false},
                {"[1,2]", "[1,2]", true},
                {"[1,2]", "[2,1]", false},
                {"[1]", "[1,1]", false},
                {"[[],[1]]", "[[],[2]]", false},
                {"[[1],[]]", "[[],[1]]", false},
                {"{\"a\":1,\"b\":[2,{}]}", "{ \"b\":[2,{}], \"a\":1 }", true},
                {"{\"a\":1,\"b\":2}", "{\"a\":1,\"c\":2}", false},
                {"{\"a\":1,\"b\":2}", "{\"a\":2,\"b\":1}", false},
                {"{\"a\":1}", "{\"a\":1,\"b\":2}", false},
                {"{\"a\":{\"x\":1,\"y\":2},\"b\":{}}", "{\"b\":{},\"a\":{\"y\":2,\"x\":1}}", true},
                {"{\"a\":{\"x\":1,\"y\":2},\"b\":{}}", "{\"b\":{},\"a\":{\"y\":2,\"x\":3}}", false},
                {"{\"\":0,\"a\":0}", "{\"a\":0,\"\":0}", true},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
                Json *a = parse(pairs[i].a), *b = parse(pairs[i].b);

                if (json_equal(a, b) != pairs[i].equal || json_equal(b, a) != pairs[i].equal)
                        fail_msg("%s and %s", pairs[i].a, pairs[i].b);
                assert_true(json_equal(a, a) && json_equal(b, json_clone(&arena, b)));
        }
        assert_true(json_equal(NULL, NULL));
        assert_false(json_equal(parse("null"), NULL));
        /* Siblings and names of the two themselves do not count. */
        assert_true(json_equal(json_get(parse("{\"a\":[1],\"b\":2}"), "a"), parse("[1]")));
}

/* Large objects in opposite order must not take quadratic time: this would be minutes. */
static void test_equal_large(void **state) {
        enum { N = 100000 };
        Buf up = BUF_NULL, down = BUF_NULL;
        Json *a = NULL, *b = NULL;

        (void)state;
        for (unsigned i = 0; i < N; i++) {
                assert_int_equal(buf_printf(&up, "%s\"k%u\":[%u]", i ? "," : "{", i, i), 0);
                assert_int_equal(buf_printf(&down, "%s\"k%u\":[%u]", i ? "," : "{", N - 1 - i, N - 1 - i),
                                 0);
        }
        buf_append(&up, "}", 1);
        buf_append(&down, "}", 1);
        assert_int_equal(json_parse(&arena, up.data, up.n, NULL, &a, NULL), 0);
        assert_int_equal(json_parse(&arena, down.data, down.n, NULL, &b, NULL), 0);
        assert_true(json_equal(a, b));
        json_push(b->first, json_new(&arena, JSON_NULL));
        assert_false(json_equal(a, b));
        buf_deinit(&up);
        buf_deinit(&down);
}

/* Deeper than any C stack would bear. */
static void test_deep(void **state) {
        enum { N = 1000000 };
        Json *root = json_new(&arena, JSON_OBJECT), *at = root, *copy, *back = NULL;
        JsonLimits limits = {.n_depth = N + 1};

        (void)state;
        for (int i = 0; i < N; i++) {
                Json *inner = json_new(&arena, i % 2 ? JSON_OBJECT : JSON_ARRAY);

                if (at->type == JSON_OBJECT)
                        json_set(&arena, at, STR("k"), inner);
                else
                        json_push(at, inner);
                at = inner;
        }
        copy = json_clone(&arena, root);
        assert_non_null(copy);
        assert_true(json_equal(root, copy));
        assert_int_equal(json_write(&out, copy), 0);
        assert_int_equal(json_parse(&arena, out.data, out.n, NULL, &back, NULL), JSON_E_DEPTH);
        assert_int_equal(json_parse(&arena, out.data, out.n, &limits, &back, NULL), 0);
        assert_true(json_equal(root, back));
        out.n = 0;
        assert_int_equal(json_write_pretty(&out, root, 0), 0);
}

/* Writing. */

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

/* Without memory: malloc() of this program fails from the n-th call on while `n_left` counts. */

static long n_left = -1;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static bool spend(void) {
        return n_left < 0 || (n_left > 0 && n_left-- > 0);
}

void *__wrap_malloc(size_t n) {
        return spend() ? __real_malloc(n) : NULL;
}

void *__wrap_calloc(size_t n, size_t size) {
        return spend() ? __real_calloc(n, size) : NULL;
}

void *__wrap_realloc(void *p, size_t n) {
        return spend() ? __real_realloc(p, n) : NULL;
}

/* All that can fail, in one row; stops at the first that does. */
static int do_everything(Arena *a, Buf *buf, Buf *stream, const Buf *text, const JsonLimits *limits) {
        Json *tree = NULL, *copy, *again = NULL;
        JsonWriter w = JSON_WRITER(stream);
        int r;

        r = json_parse(a, text->data, text->n, limits, &tree, NULL);
        if (r)
                return r;
        copy = json_clone(a, tree);
        if (!copy)
                return -ENOMEM;
        r = json_set(a, copy, STR("new"), json_new_str(a, STR("x")));
        if (r)
                return r;
        r = json_write(buf, copy);
        if (r) {
                assert_int_equal(buf->n, 0);
                return r;
        }
        r = json_parse(a, buf->data, buf->n, limits, &again, NULL);
        if (r)
                return r;
        jw_value(&w, again);
        jw_str(&w, STR("text"));
        return w.failed ? -ENOMEM : json_equal(copy, again) ? 0 : -ENOMEM;
}

static void test_without_memory(void **state) {
        JsonLimits limits = {.n_depth = 1000};
        Buf text = BUF_NULL;
        int n_failed = 0, r;

        (void)state;
        assert_int_equal(buf_append(&text, "{\"deep\":", 8), 0);
        for (int i = 0; i < 300; i++)
                assert_int_equal(buf_append(&text, "[", 1), 0);
        for (int i = 0; i < 300; i++)
                assert_int_equal(buf_append(&text, "]", 1), 0);
        for (int i = 0; i < 200; i++)
                assert_int_equal(buf_printf(&text, ",\"key%d\":\"a longer text \\n with escapes %d\"", i, i),
                                 0);
        assert_int_equal(buf_append(&text, "}", 1), 0);
        for (long n = 0;; n++) {
                Arena a = ARENA_NULL;
                Buf buf = BUF_NULL, stream = BUF_NULL;

                n_left = n;
                r = do_everything(&a, &buf, &stream, &text, &limits);
                n_left = -1;
                arena_deinit(&a);
                buf_deinit(&buf);
                buf_deinit(&stream);
                if (r == 0)
                        break;
                assert_int_equal(r, -ENOMEM);
                n_failed++;
        }
        assert_in_range(n_failed, 10, 1000);
        buf_deinit(&text);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(test_access),
                TEST(test_raw_spans),
                TEST(test_numbers),
                TEST(test_long_numbers),
                TEST(test_numbers_in_other_locale),
                TEST(test_doubles),
                TEST(test_doubles_read_back),
                TEST(test_build),
                TEST(test_set_and_remove),
                TEST(test_change_parsed),
                TEST(test_push_many),
                TEST(test_clone),
                TEST(test_equal),
                TEST(test_equal_large),
                TEST(test_deep),
                TEST(test_strings),
                TEST(test_string_positions),
                TEST(test_long_escaped_string),
                TEST(test_stream),
                TEST(test_pretty),
                TEST(test_write_appends),
                TEST(test_utf8),
                TEST(test_without_memory),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
