/* SPDX-License-Identifier: MIT */
/* JSON trees: access, building and changing, copies, equality. */
#include "base/json/test-json-fixture.h"

#include <errno.h>
#include <stdlib.h>

#include "base/macro.h"

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

int main(void) {
        const struct CMUnitTest tests[] = {
                json_test(test_access),         json_test(test_raw_spans),     json_test(test_build),
                json_test(test_set_and_remove), json_test(test_change_parsed), json_test(test_push_many),
                json_test(test_clone),          json_test(test_equal),         json_test(test_equal_large),
                json_test(test_deep),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
