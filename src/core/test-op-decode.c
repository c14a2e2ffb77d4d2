/* SPDX-License-Identifier: MIT */
/* op_find() and op_decode(): every type in both conventions, and everything that can be wrong with it. */
#include <stdio.h>
#include "base/test-cmocka.h"
#include "base/macro.h"
#include "core/op.h"

typedef struct Args {
        Str string;
        bool truth;
        int64_t integer;
        double number;
        StrList strings;
        const Json *json;
        bool has;
} Args;

/* One decoded field: the op has only that one, named "x". */
typedef struct Taken {
        Arena arena;
        Args args;
        OpFault fault;
        int r;
} Taken;

static void taken_deinit(Taken *taken) {
        arena_deinit(&taken->arena);
}
#define _taken_ _cleanup_(taken_deinit) Taken

static uint16_t offset_of(OpType type) {
        static const uint16_t offsets[] = {
                [OP_STRING] = offsetof(Args, string),   [OP_BOOL] = offsetof(Args, truth),
                [OP_INT] = offsetof(Args, integer),     [OP_NUMBER] = offsetof(Args, number),
                [OP_STRINGS] = offsetof(Args, strings), [OP_OBJECT] = offsetof(Args, json),
                [OP_ARRAY] = offsetof(Args, json),      [OP_ANY] = offsetof(Args, json),
        };
        return offsets[type];
}

/* args: the text of an object, or NULL for none. The input is overwritten afterwards: nothing may point into
 * it. */
static Taken take(OpConvention convention, OpField field, const char *args) {
        Taken taken = {.r = -1};
        Arena input = ARENA_NULL;
        char text[512] = "";
        Json *json = NULL;
        Op op;

        field.name = "x";
        field.offset = offset_of(field.type);
        field.has_offset = offsetof(Args, has);
        if (field.type == OP_INT && field.min == 0 && field.max == 0)
                field.min = INT64_MIN, field.max = INT64_MAX;
        if (field.type == OP_NUMBER && field.min == 0 && field.max == 0)
                field.min = INT64_MIN, field.max = INT64_MAX;
        op = (Op){.name = "test", .fields = &field, .n_fields = 1, .args_size = sizeof(Args)};

        if (args) {
                assert_true(strlen(args) < sizeof(text));
                memcpy(text, args, strlen(args));
                assert_int_equal(json_parse(&input, text, strlen(text), NULL, &json, NULL), 0);
        }
        memset(&taken.args, 0xa5, sizeof(taken.args));
        taken.r = op_decode(&op, convention, json, &taken.arena, &taken.args, &taken.fault);
        memset(text, '#', sizeof(text));
        arena_deinit(&input);
        return taken;
}

#define strict(args, ...)  take(OP_STRICT, (OpField){__VA_ARGS__}, args)
#define lenient(args, ...) take(OP_LENIENT, (OpField){__VA_ARGS__}, args)

static void check_fault(Taken taken, const char *what) {
        _taken_ t = taken;

        assert_int_equal(t.r, OP_E_FIELD);
        assert_string_equal(t.fault.field, "x");
        assert_string_equal(t.fault.what, what);
}

/* expected == NULL: absent */
static void check_string(Taken taken, const char *expected) {
        _taken_ t = taken;

        assert_int_equal(t.r, 0);
        if (!expected) {
                assert_null(t.args.string.data);
                assert_int_equal(t.args.string.n, 0);
                return;
        }
        assert_non_null(t.args.string.data);
        assert_string_equal(t.args.string.data, expected);
        assert_int_equal(t.args.string.n, strlen(expected));
}

static void check_bool(Taken taken, bool expected, bool has) {
        _taken_ t = taken;

        assert_int_equal(t.r, 0);
        assert_int_equal(t.args.truth, expected);
        assert_int_equal(t.args.has, has);
}

static void check_int(Taken taken, int64_t expected, bool has) {
        _taken_ t = taken;

        assert_int_equal(t.r, 0);
        assert_true(t.args.integer == expected);
        assert_int_equal(t.args.has, has);
}

static void check_number(Taken taken, double expected, bool has) {
        _taken_ t = taken;

        assert_int_equal(t.r, 0);
        assert_true(t.args.number == expected);
        assert_int_equal(t.args.has, has);
}

/* expected: the strings, each with a comma behind it */
static void check_strings(Taken taken, const char *expected) {
        _taken_ t = taken;
        char joined[256] = "";

        assert_int_equal(t.r, 0);
        for (size_t i = 0; i < t.args.strings.n; i++) {
                assert_int_equal(t.args.strings.items[i].n, strlen(t.args.strings.items[i].data));
                strncat(joined, t.args.strings.items[i].data, sizeof(joined) - strlen(joined) - 2);
                strcat(joined, ",");
        }
        assert_string_equal(joined, expected);
}

/* expected: JSON text; NULL: absent */
static void check_json(Taken taken, const char *expected) {
        _taken_ t = taken;
        Json *other;

        assert_int_equal(t.r, 0);
        if (!expected) {
                assert_null(t.args.json);
                return;
        }
        assert_int_equal(json_parse(&t.arena, expected, strlen(expected), NULL, &other, NULL), 0);
        assert_true(json_equal(t.args.json, other));
}

/* strict */

static void test_strict_string(void **state _unused_) {
        static const char *const words[] = {"red", "green", NULL};

        check_string(strict("{\"x\":\"abc\"}", .type = OP_STRING), "abc");
        check_string(strict("{\"x\":\"a\\u00e9\\n\"}", .type = OP_STRING), "a\xc3\xa9\n");
        check_string(strict("{\"x\":\" a \"}", .type = OP_STRING), " a ");
        check_string(strict("{\"x\":\" a \"}", .type = OP_STRING, .flags = OP_FIELD_TRIM), "a");
        check_string(strict("{\"x\":\"\"}", .type = OP_STRING), "");
        check_string(strict("{\"x\":\"\"}", .type = OP_STRING, .default_text = "d"), "");
        check_string(strict("{\"y\":\"abc\"}", .type = OP_STRING), NULL);
        check_string(strict("{}", .type = OP_STRING, .default_text = "a \"b\""), "a \"b\"");
        check_string(strict(NULL, .type = OP_STRING, .default_text = "d"), "d");
        check_string(strict("{\"x\":\"green\"}", .type = OP_STRING, .words = words), "green");
        check_string(strict("{\"x\":\" red \"}", .type = OP_STRING, .words = words, .flags = OP_FIELD_TRIM),
                     "red");

        check_fault(strict("{\"x\":1}", .type = OP_STRING), "must be a string");
        check_fault(strict("{\"x\":true}", .type = OP_STRING), "must be a string");
        check_fault(strict("{\"x\":[\"a\"]}", .type = OP_STRING), "must be a string");
        check_fault(strict("{\"x\":{}}", .type = OP_STRING), "must be a string");
        check_fault(strict("{\"x\":\"\"}", .type = OP_STRING, .flags = OP_FIELD_NON_EMPTY),
                    "must not be empty");
        check_fault(
                strict("{\"x\":\" \\t\"}", .type = OP_STRING, .flags = OP_FIELD_NON_EMPTY | OP_FIELD_TRIM),
                "must not be empty");
        check_string(strict("{\"x\":\" \"}", .type = OP_STRING, .flags = OP_FIELD_NON_EMPTY), " ");
        check_string(strict("{}", .type = OP_STRING, .flags = OP_FIELD_NON_EMPTY), NULL);
        check_fault(strict("{\"x\":\"blue\"}", .type = OP_STRING, .words = words),
                    "is not one of the allowed values");
        check_fault(strict("{\"x\":\"re\"}", .type = OP_STRING, .words = words),
                    "is not one of the allowed values");
        check_fault(strict("{\"x\":\"redd\"}", .type = OP_STRING, .words = words),
                    "is not one of the allowed values");
}

static void test_strict_string_with_nul(void **state _unused_) {
        _taken_ t = strict("{\"x\":\"a\\u0000b\"}", .type = OP_STRING);

        assert_int_equal(t.r, 0);
        assert_int_equal(t.args.string.n, 3);
        assert_memory_equal(t.args.string.data, "a\0b", 4);
}

static void test_strict_required_and_null(void **state _unused_) {
        for (int type = OP_STRING; type <= OP_ANY; type++) {
                _taken_ absent = strict("{}", .type = type);

                check_fault(strict("{}", .type = type, .flags = OP_FIELD_REQUIRED), "is required");
                check_fault(strict(NULL, .type = type, .flags = OP_FIELD_REQUIRED), "is required");
                check_fault(
                        strict("{\"x\":null}", .type = type, .flags = OP_FIELD_REQUIRED | OP_FIELD_NULLABLE),
                        "is required");
                assert_int_equal(absent.r, 0);
                assert_false(absent.args.has);
        }
        check_fault(strict("{\"x\":null}", .type = OP_STRING), "must be a string");
        check_fault(strict("{\"x\":null}", .type = OP_BOOL), "must be true or false");
        check_fault(strict("{\"x\":null}", .type = OP_INT), "must be an integer");
        check_fault(strict("{\"x\":null}", .type = OP_NUMBER), "must be a number");
        check_fault(strict("{\"x\":null}", .type = OP_STRINGS), "must be a list of strings");
        check_fault(strict("{\"x\":null}", .type = OP_OBJECT), "must be an object");
        check_fault(strict("{\"x\":null}", .type = OP_ARRAY), "must be an array");
        check_string(strict("{\"x\":null}", .type = OP_STRING, .flags = OP_FIELD_NULLABLE), NULL);
        check_string(
                strict("{\"x\":null}", .type = OP_STRING, .flags = OP_FIELD_NULLABLE, .default_text = "d"),
                "d");
        check_int(strict("{\"x\":null}", .type = OP_INT, .flags = OP_FIELD_NULLABLE), 0, false);
}

static void test_strict_bool(void **state _unused_) {
        check_bool(strict("{\"x\":true}", .type = OP_BOOL), true, true);
        check_bool(strict("{\"x\":false}", .type = OP_BOOL), false, true);
        check_bool(strict("{}", .type = OP_BOOL), false, false);
        check_bool(strict("{}", .type = OP_BOOL, .default_text = "true"), true, false);
        check_bool(strict("{}", .type = OP_BOOL, .default_text = "false"), false, false);
        check_bool(strict("{\"x\":false}", .type = OP_BOOL, .default_text = "true"), false, true);
        check_fault(strict("{\"x\":0}", .type = OP_BOOL), "must be true or false");
        check_fault(strict("{\"x\":\"true\"}", .type = OP_BOOL), "must be true or false");
        check_fault(strict("{\"x\":[]}", .type = OP_BOOL), "must be true or false");
}

static void test_strict_int(void **state _unused_) {
        check_int(strict("{\"x\":5}", .type = OP_INT), 5, true);
        check_int(strict("{\"x\":-0}", .type = OP_INT), 0, true);
        check_int(strict("{\"x\":9223372036854775807}", .type = OP_INT), INT64_MAX, true);
        check_int(strict("{\"x\":-9223372036854775808}", .type = OP_INT), INT64_MIN, true);
        check_int(strict("{\"x\":1}", .type = OP_INT, .min = 1, .max = 3), 1, true);
        check_int(strict("{\"x\":3}", .type = OP_INT, .min = 1, .max = 3), 3, true);
        check_int(strict("{}", .type = OP_INT), 0, false);
        check_int(strict("{}", .type = OP_INT, .default_text = "-7"), -7, false);
        check_int(strict("{}", .type = OP_INT, .default_text = "-9223372036854775808"), INT64_MIN, false);

        check_fault(strict("{\"x\":1.0}", .type = OP_INT), "must be an integer");
        check_fault(strict("{\"x\":1.5}", .type = OP_INT), "must be an integer");
        check_fault(strict("{\"x\":1e2}", .type = OP_INT), "must be an integer");
        check_fault(strict("{\"x\":1E2}", .type = OP_INT), "must be an integer");
        check_fault(strict("{\"x\":\"1\"}", .type = OP_INT), "must be an integer");
        check_fault(strict("{\"x\":true}", .type = OP_INT), "must be an integer");
        check_fault(strict("{\"x\":{}}", .type = OP_INT), "must be an integer");
        check_fault(strict("{\"x\":9223372036854775808}", .type = OP_INT), "is out of range");
        check_fault(strict("{\"x\":-9223372036854775809}", .type = OP_INT), "is out of range");
        check_fault(strict("{\"x\":123456789012345678901234567890}", .type = OP_INT), "is out of range");
        check_fault(strict("{\"x\":0}", .type = OP_INT, .min = 1, .max = 3), "is out of range");
        check_fault(strict("{\"x\":4}", .type = OP_INT, .min = 1, .max = 3), "is out of range");
}

static void test_strict_number(void **state _unused_) {
        check_number(strict("{\"x\":1.5}", .type = OP_NUMBER), 1.5, true);
        check_number(strict("{\"x\":-2}", .type = OP_NUMBER), -2, true);
        check_number(strict("{\"x\":1e2}", .type = OP_NUMBER), 100, true);
        check_number(strict("{}", .type = OP_NUMBER), 0, false);
        check_number(strict("{}", .type = OP_NUMBER, .default_text = "0.25"), 0.25, false);
        check_number(strict("{\"x\":1e300}", .type = OP_NUMBER), 1e300, true); /* no bound */
        check_number(strict("{\"x\":2.0}", .type = OP_NUMBER, .min = 1, .max = 2), 2, true);
        check_fault(strict("{\"x\":2.1}", .type = OP_NUMBER, .min = 1, .max = 2), "is out of range");
        check_fault(strict("{\"x\":0.9}", .type = OP_NUMBER, .min = 1, .max = 2), "is out of range");
        check_fault(strict("{\"x\":1e400}", .type = OP_NUMBER), "is out of range");
        check_fault(strict("{\"x\":\"1\"}", .type = OP_NUMBER), "must be a number");
        check_fault(strict("{\"x\":false}", .type = OP_NUMBER), "must be a number");
}

static void test_strict_strings(void **state _unused_) {
        check_strings(strict("{\"x\":[\"a\",\"b c\",\"\"]}", .type = OP_STRINGS), "a,b c,,");
        check_strings(strict("{\"x\":[]}", .type = OP_STRINGS), "");
        check_strings(strict("{}", .type = OP_STRINGS), "");
        check_strings(strict("{}", .type = OP_STRINGS, .default_text = "[\"p\",\"q\\n\"]"), "p,q\n,");
        check_fault(strict("{\"x\":\"a\"}", .type = OP_STRINGS), "must be a list of strings");
        check_fault(strict("{\"x\":[\"a\",1]}", .type = OP_STRINGS), "must be a list of strings");
        check_fault(strict("{\"x\":[null]}", .type = OP_STRINGS), "must be a list of strings");
        check_fault(strict("{\"x\":{}}", .type = OP_STRINGS), "must be a list of strings");
        check_fault(strict("{\"x\":[]}", .type = OP_STRINGS, .flags = OP_FIELD_NON_EMPTY),
                    "must not be empty");
}

static void test_strict_json(void **state _unused_) {
        check_json(strict("{\"x\":{\"a\":[1,\"b\"]}}", .type = OP_OBJECT), "{\"a\":[1,\"b\"]}");
        check_json(strict("{\"x\":[1,{}]}", .type = OP_ARRAY), "[1,{}]");
        check_json(strict("{}", .type = OP_OBJECT), NULL);
        check_json(strict("{}", .type = OP_ARRAY), NULL);
        check_json(strict("{}", .type = OP_OBJECT, .default_text = "{\"k\":1}"), "{\"k\":1}");
        check_json(strict("{}", .type = OP_ARRAY, .default_text = "[1]"), "[1]");
        check_fault(strict("{\"x\":[]}", .type = OP_OBJECT), "must be an object");
        check_fault(strict("{\"x\":\"{}\"}", .type = OP_OBJECT), "must be an object");
        check_fault(strict("{\"x\":{}}", .type = OP_ARRAY), "must be an array");
        check_fault(strict("{\"x\":1}", .type = OP_ARRAY), "must be an array");
        check_fault(strict("{\"x\":{}}", .type = OP_OBJECT, .flags = OP_FIELD_NON_EMPTY),
                    "must not be empty");
        check_fault(strict("{\"x\":[]}", .type = OP_ARRAY, .flags = OP_FIELD_NON_EMPTY),
                    "must not be empty");

        check_json(strict("{\"x\":1.50}", .type = OP_ANY), "1.50");
        check_json(strict("{\"x\":\"s\"}", .type = OP_ANY), "\"s\"");
        check_json(strict("{\"x\":null}", .type = OP_ANY), "null");
        check_json(strict("{\"x\":null}", .type = OP_ANY, .flags = OP_FIELD_NULLABLE), NULL);
        check_json(strict("{}", .type = OP_ANY), NULL);
        check_json(strict("{}", .type = OP_ANY, .default_text = "false"), "false");
}

/* lenient */

static void test_lenient_string(void **state _unused_) {
        static const char *const nothing[] = {"{}",           "{\"x\":null}",     "{\"x\":false}",
                                              "{\"x\":0}",    "{\"x\":0.0}",      "{\"x\":-0}",
                                              "{\"x\":\"\"}", "{\"x\":[]}",       "{\"x\":{}}",
                                              "{\"x\":[1]}",  "{\"x\":{\"a\":1}}"};
        static const char *const words[] = {"red", "green", NULL};

        for (size_t i = 0; i < ARRAY_SIZE(nothing); i++) {
                _taken_ t = lenient(nothing[i], .type = OP_STRING, .flags = OP_FIELD_REQUIRED);

                check_string(lenient(nothing[i], .type = OP_STRING), NULL);
                check_string(lenient(nothing[i], .type = OP_STRING, .default_text = "user"), "user");
                assert_int_equal(t.r, OP_E_FIELD);
                assert_string_equal(t.fault.field, "x");
        }
        check_fault(lenient("{\"x\":\"\"}", .type = OP_STRING, .flags = OP_FIELD_REQUIRED), "is required");
        check_fault(lenient("{\"x\":\" \"}", .type = OP_STRING, .flags = OP_FIELD_REQUIRED | OP_FIELD_TRIM),
                    "is required");
        check_string(lenient(NULL, .type = OP_STRING, .default_text = "user"), "user");
        check_string(lenient("{\"x\":\"abc\"}", .type = OP_STRING), "abc");
        check_string(lenient("{\"x\":12}", .type = OP_STRING), "12");
        check_string(lenient("{\"x\":1.50}", .type = OP_STRING), "1.50");
        check_string(lenient("{\"x\":1e400}", .type = OP_STRING), "1e400");
        check_string(lenient("{\"x\":true}", .type = OP_STRING), "true");
        check_string(lenient("{\"x\":\" a \"}", .type = OP_STRING), " a ");
        check_string(lenient("{\"x\":\"  \"}", .type = OP_STRING, .default_text = "d"), "  ");
        check_string(lenient("{\"x\":\" a \"}", .type = OP_STRING, .flags = OP_FIELD_TRIM), "a");
        check_string(lenient("{\"x\":\" \\n\"}", .type = OP_STRING, .flags = OP_FIELD_TRIM), NULL);
        check_string(
                lenient("{\"x\":\" \\n\"}", .type = OP_STRING, .flags = OP_FIELD_TRIM, .default_text = "d"),
                "d");
        check_string(lenient("{\"x\":\"green\"}", .type = OP_STRING, .words = words, .default_text = "red"),
                     "green");
        check_string(lenient("{\"x\":\"blue\"}", .type = OP_STRING, .words = words, .default_text = "red"),
                     "red");
}

static void test_lenient_bool(void **state _unused_) {
        static const char *const yes[] = {"true",      "1",     "-0.5", "1e400",    "\"x\"",
                                          "\"false\"", "\"0\"", "[0]",  "{\"a\":0}"};
        static const char *const no[] = {"false", "0", "0.0", "-0", "0e9", "\"\"", "[]", "{}", "null"};
        char text[64];

        for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
                snprintf(text, sizeof(text), "{\"x\":%s}", yes[i]);
                check_bool(lenient(text, .type = OP_BOOL), true, true);
        }
        for (size_t i = 0; i < ARRAY_SIZE(no); i++) {
                snprintf(text, sizeof(text), "{\"x\":%s}", no[i]);
                check_bool(lenient(text, .type = OP_BOOL, .default_text = "true"), false, true);
        }
        check_bool(lenient("{}", .type = OP_BOOL), false, false);
        check_bool(lenient("{}", .type = OP_BOOL, .default_text = "true"), true, false);
        check_bool(
                lenient("{\"x\":null}", .type = OP_BOOL, .flags = OP_FIELD_NULLABLE, .default_text = "true"),
                true, false);
        check_fault(lenient("{}", .type = OP_BOOL, .flags = OP_FIELD_REQUIRED), "is required");
}

static void test_lenient_int(void **state _unused_) {
        static const char *const unfit[] = {"null",
                                            "true",
                                            "\"\"",
                                            "\"abc\"",
                                            "\"1.0\"",
                                            "\"1e2\"",
                                            "\"1 2\"",
                                            "\"[1]\"",
                                            "[1]",
                                            "{}",
                                            "1e19",
                                            "-1e19",
                                            "1e400",
                                            "9223372036854775808",
                                            "\"9223372036854775808\""};
        char text[512];

        check_int(lenient("{\"x\":5}", .type = OP_INT), 5, true);
        check_int(lenient("{\"x\":0}", .type = OP_INT, .default_text = "7"), 0, true);
        check_int(lenient("{\"x\":\"42\"}", .type = OP_INT), 42, true);
        check_int(lenient("{\"x\":\" -42\\n\"}", .type = OP_INT), -42, true);
        check_int(lenient("{\"x\":1.9}", .type = OP_INT), 1, true);
        check_int(lenient("{\"x\":-1.9}", .type = OP_INT), -1, true);
        check_int(lenient("{\"x\":1.0}", .type = OP_INT), 1, true);
        check_int(lenient("{\"x\":1e2}", .type = OP_INT), 100, true);
        check_int(lenient("{\"x\":0.5e-300}", .type = OP_INT), 0, true);
        check_int(lenient("{\"x\":-9223372036854775808}", .type = OP_INT), INT64_MIN, true);
        check_int(lenient("{}", .type = OP_INT), 0, false);
        check_int(lenient("{}", .type = OP_INT, .default_text = "7"), 7, false);
        for (size_t i = 0; i < ARRAY_SIZE(unfit); i++) {
                snprintf(text, sizeof(text), "{\"x\":%s}", unfit[i]);
                check_int(lenient(text, .type = OP_INT), 0, false);
                check_int(lenient(text, .type = OP_INT, .default_text = "7"), 7, false);
        }
        snprintf(text, sizeof(text), "{\"x\":\"%0100d\"}", 1);
        check_int(lenient(text, .type = OP_INT, .default_text = "7"), 7, false);

        check_int(lenient("{\"x\":3}", .type = OP_INT, .min = 1, .max = 3, .default_text = "2"), 3, true);
        check_int(lenient("{\"x\":4}", .type = OP_INT, .min = 1, .max = 3, .default_text = "2"), 2, false);
        check_int(lenient("{\"x\":0.9}", .type = OP_INT, .min = 1, .max = 3, .default_text = "2"), 2, false);
        check_fault(lenient("{\"x\":[]}", .type = OP_INT, .flags = OP_FIELD_REQUIRED), "must be an integer");
        check_fault(lenient("{\"x\":null}", .type = OP_INT, .flags = OP_FIELD_REQUIRED), "is required");
        check_fault(lenient("{\"x\":4}", .type = OP_INT, .flags = OP_FIELD_REQUIRED, .min = 1, .max = 3),
                    "is out of range");
}

static void test_lenient_number(void **state _unused_) {
        check_number(lenient("{\"x\":1.5}", .type = OP_NUMBER), 1.5, true);
        check_number(lenient("{\"x\":\" 2.5e1 \"}", .type = OP_NUMBER), 25, true);
        check_number(lenient("{\"x\":\"x\"}", .type = OP_NUMBER, .default_text = "0.5"), 0.5, false);
        check_number(lenient("{\"x\":\"1e999\"}", .type = OP_NUMBER, .default_text = "0.5"), 0.5, false);
        check_number(lenient("{\"x\":true}", .type = OP_NUMBER, .default_text = "0.5"), 0.5, false);
        check_number(lenient("{\"x\":null}", .type = OP_NUMBER), 0, false);
        check_number(lenient("{\"x\":9}", .type = OP_NUMBER, .min = 1, .max = 3, .default_text = "2"), 2,
                     false);
}

static void test_lenient_strings(void **state _unused_) {
        check_strings(lenient("{\"x\":[\"a\",1,null,\"b\",[\"c\"],\"\"]}", .type = OP_STRINGS), "a,b,,");
        check_strings(lenient("{\"x\":[1,2]}", .type = OP_STRINGS, .default_text = "[\"d\"]"), "");
        check_strings(lenient("{\"x\":[]}", .type = OP_STRINGS, .default_text = "[\"d\"]"), "");
        check_strings(lenient("{\"x\":\"a\"}", .type = OP_STRINGS), "");
        check_strings(lenient("{\"x\":{\"a\":\"b\"}}", .type = OP_STRINGS), "");
        check_strings(lenient("{\"x\":null}", .type = OP_STRINGS, .default_text = "[\"d\"]"), "d,");
        check_strings(lenient("{\"x\":\"a\"}", .type = OP_STRINGS, .default_text = "[\"d\"]"), "d,");
        check_strings(lenient("{\"x\":[1]}", .type = OP_STRINGS, .flags = OP_FIELD_NON_EMPTY,
                              .default_text = "[\"d\"]"),
                      "d,");
        check_fault(lenient("{\"x\":\"a\"}", .type = OP_STRINGS, .flags = OP_FIELD_REQUIRED),
                    "must be a list of strings");
}

static void test_lenient_json(void **state _unused_) {
        check_json(lenient("{\"x\":{\"a\":1}}", .type = OP_OBJECT), "{\"a\":1}");
        check_json(lenient("{\"x\":[1]}", .type = OP_OBJECT), NULL);
        check_json(lenient("{\"x\":\"s\"}", .type = OP_OBJECT, .default_text = "{}"), "{}");
        check_json(lenient("{\"x\":null}", .type = OP_OBJECT), NULL);
        check_json(lenient("{\"x\":[1]}", .type = OP_ARRAY), "[1]");
        check_json(lenient("{\"x\":{}}", .type = OP_ARRAY), NULL);
        check_json(lenient("{\"x\":0}", .type = OP_ANY), "0");
        check_json(lenient("{\"x\":null}", .type = OP_ANY), NULL);
        check_fault(lenient("{\"x\":1}", .type = OP_OBJECT, .flags = OP_FIELD_REQUIRED),
                    "must be an object");
}

/* whole tables */

typedef struct PairArgs {
        Str name;
        int64_t limit;
        bool has_limit;
} PairArgs;

static const OpField pair_fields[] = {
        {.name = "name", .type = OP_STRING, .flags = OP_FIELD_REQUIRED, .offset = offsetof(PairArgs, name)},
        {.name = "limit",
         .type = OP_INT,
         .offset = offsetof(PairArgs, limit),
         .has_offset = offsetof(PairArgs, has_limit),
         .min = 1,
         .max = 100},
};

static const Op pair_op = {.name = "pair",
                           .fields = pair_fields,
                           .n_fields = ARRAY_SIZE(pair_fields),
                           .args_size = sizeof(PairArgs)};

static void test_decode_table(void **state _unused_) {
        static const char good[] = "{\"other\":[1,2],\"limit\":10,\"name\":\"n\"}";
        static const char bad[] = "{\"limit\":\"10\",\"name\":\"n\"}";
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        OpFault fault = {0};
        PairArgs args;
        Json *json;

        assert_int_equal(json_parse(&arena, good, strlen(good), NULL, &json, NULL), 0);
        assert_int_equal(op_decode(&pair_op, OP_STRICT, json, &arena, &args, &fault), 0);
        assert_string_equal(args.name.data, "n");
        assert_true(args.has_limit);
        assert_int_equal(args.limit, 10);
        assert_null(fault.field);

        assert_int_equal(json_parse(&arena, bad, strlen(bad), NULL, &json, NULL), 0);
        assert_int_equal(op_decode(&pair_op, OP_STRICT, json, &arena, &args, &fault), OP_E_FIELD);
        assert_string_equal(fault.field, "limit");
        assert_string_equal(fault.what, "must be an integer");

        assert_int_equal(op_decode(&pair_op, OP_LENIENT, NULL, &arena, &args, &fault), OP_E_FIELD);
        assert_string_equal(fault.field, "name");
}

static int decode_refused(const char *text, OpFault *fault) {
        static const char *const spared[] = {"now", NULL};
        static const OpRefusal refusals[] = {{.name = "gate", .why = "is shut"},
                                             {.name = "mode", .why = "is now", .spared = spared}};
        const Op op = {.name = "test", .refusals = refusals, .n_refusals = 2, .args_size = sizeof(Args)};
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Json *json = NULL;
        Args args;

        assert_int_equal(json_parse(&arena, text, strlen(text), NULL, &json, NULL), 0);
        return op_decode(&op, OP_LENIENT, json, &arena, &args, fault);
}

static void test_decode_refused(_unused_ void **state) {
        static const char *const fine[] = {"{}", "{\"mode\":\"now\"}", "{\"mode\":\" now \",\"other\":1}",
                                           "{\"gate\":null,\"mode\":\"\"}", "{\"gate\":[],\"mode\":0}"};
        static const char *const bad[] = {"{\"mode\":\"later\"}", "{\"mode\":1}", "{\"mode\":[\"now\"]}",
                                          "{\"mode\":true}"};
        OpFault fault;

        for (size_t i = 0; i < ARRAY_SIZE(fine); i++)
                assert_int_equal(decode_refused(fine[i], &fault), 0);
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                assert_int_equal(decode_refused(bad[i], &fault), OP_E_FIELD);
                assert_string_equal(fault.field, "mode");
                assert_string_equal(fault.what, "is now");
        }
        assert_int_equal(decode_refused("{\"gate\":\"now\"}", &fault), OP_E_FIELD);
        assert_string_equal(fault.field, "gate");
}

static void test_decode_no_fields(void **state _unused_) {
        static const Op op = {.name = "empty", .args_size = 1};
        Arena arena = ARENA_NULL;
        OpFault fault;
        char args = 1;

        assert_int_equal(op_decode(&op, OP_STRICT, NULL, &arena, &args, &fault), 0);
        assert_int_equal(args, 0);
        assert_null(arena.head); /* nothing was allocated */
}

static void test_find(void **state _unused_) {
        static const Op ops[] = {
                {.name = "a"}, {.name = "ab"}, {.name = "b.c"}, {.name = "b_c"}, {.name = "z"}};
        static const OpTable table = {.dialect = "test", .ops = ops, .n_ops = ARRAY_SIZE(ops)};
        static const OpTable empty = {.dialect = "test"};
        static const char *const others[] = {"", "A", "aa", "abc", "b", "b.", "b.cc", "b-c", "zz", "~"};

        for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
                assert_ptr_equal(op_find(&table, str_from(ops[i].name)), &ops[i]);
                assert_null(op_find(&empty, str_from(ops[i].name)));
        }
        for (size_t i = 0; i < ARRAY_SIZE(others); i++)
                assert_null(op_find(&table, str_from(others[i])));
        assert_null(op_find(&table, STR_NULL));
        assert_null(op_find(&table, (Str){"a\0", 2}));
        assert_ptr_equal(op_find(&table, (Str){"abc", 2}), &ops[1]);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_strict_string),
                cmocka_unit_test(test_strict_string_with_nul),
                cmocka_unit_test(test_strict_required_and_null),
                cmocka_unit_test(test_strict_bool),
                cmocka_unit_test(test_strict_int),
                cmocka_unit_test(test_strict_number),
                cmocka_unit_test(test_strict_strings),
                cmocka_unit_test(test_strict_json),
                cmocka_unit_test(test_lenient_string),
                cmocka_unit_test(test_lenient_bool),
                cmocka_unit_test(test_lenient_int),
                cmocka_unit_test(test_lenient_number),
                cmocka_unit_test(test_lenient_strings),
                cmocka_unit_test(test_lenient_json),
                cmocka_unit_test(test_decode_table),
                cmocka_unit_test(test_decode_no_fields),
                cmocka_unit_test(test_decode_refused),
                cmocka_unit_test(test_find),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
