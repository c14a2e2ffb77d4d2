/* SPDX-License-Identifier: MIT */
/*
 * What the reader takes and what it refuses, case by case. Every text is copied into a block of exactly its
 * size, so that a sanitizer sees a read behind it. What is taken must come out again as said, and once more
 * the same.
 */
#include <stdlib.h>

#include "base/test-cmocka.h"
#include "base/json/json-writer.h"
#include "base/macro.h"

typedef struct Case {
        int line;
        int condition; /* 0: taken */
        Str text;
        Str out; /* compact form */
        size_t offset;
} Case;

#define TAKE(lit)          {__LINE__, 0, {lit, sizeof(lit) - 1}, {lit, sizeof(lit) - 1}, 0},
#define TAKE_AS(lit, out)  {__LINE__, 0, {lit, sizeof(lit) - 1}, {out, sizeof(out) - 1}, 0},
#define REFUSE(c, lit, at) {__LINE__, JSON_E_##c, {lit, sizeof(lit) - 1}, {NULL, 0}, at},

/* clang-format off */
static const Case cases[] = {
        /* Words. */
        TAKE("null")
        TAKE("true")
        TAKE("false")
        TAKE("[null,true,false]")
        REFUSE(SYNTAX, "nul", 3)
        REFUSE(SYNTAX, "nulL", 3)
        REFUSE(SYNTAX, "Null", 0)
        REFUSE(SYNTAX, "nullx", 4)
        REFUSE(SYNTAX, "null null", 5)
        REFUSE(SYNTAX, "tru", 3)
        REFUSE(SYNTAX, "TRUE", 0)
        REFUSE(SYNTAX, "truE", 3)
        REFUSE(SYNTAX, "truefalse", 4)
        REFUSE(SYNTAX, "fals", 4)
        REFUSE(SYNTAX, "falsy", 4)
        REFUSE(SYNTAX, "[nil]", 2)
        REFUSE(SYNTAX, "undefined", 0)
        REFUSE(SYNTAX, "[t", 2)
        REFUSE(SYNTAX, "None", 0)

        /* Numbers. */
        TAKE("0")
        TAKE("-0")
        TAKE("7")
        TAKE("-7")
        TAKE("10")
        TAKE("1234567890")
        TAKE("0.0")
        TAKE("-0.0")
        TAKE("0.10")
        TAKE("1.50")
        TAKE("1e5")
        TAKE("1E5")
        TAKE("1e+5")
        TAKE("1e-5")
        TAKE("1E+05")
        TAKE("0e0")
        TAKE("0E-00")
        TAKE("1e-7")
        TAKE("-1.25e-10")
        TAKE("1e400")
        TAKE("-1e-400")
        TAKE("9007199254740993")
        TAKE("9223372036854775807")
        TAKE("-9223372036854775808")
        TAKE("18446744073709551615")
        TAKE("123456789012345678901234567890")
        TAKE("0.1000000000000000055511151231257827")
        TAKE("[1,2,3,-4,5.5,6e6]")
        TAKE("1e00000000000000000000000000000000000001")
        TAKE("1e99999999999999999999999999999999999999")
        TAKE_AS(" 1 ", "1")
        TAKE_AS("[1 , 2]", "[1,2]")
        REFUSE(SYNTAX, "-", 1)
        REFUSE(SYNTAX, "--1", 1)
        REFUSE(SYNTAX, "+1", 0)
        REFUSE(SYNTAX, "[+1]", 1)
        REFUSE(SYNTAX, "01", 1)
        REFUSE(SYNTAX, "-01", 2)
        REFUSE(SYNTAX, "00", 1)
        REFUSE(SYNTAX, "[00.5]", 2)
        REFUSE(SYNTAX, "1.", 2)
        REFUSE(SYNTAX, "[1.]", 3)
        REFUSE(SYNTAX, ".5", 0)
        REFUSE(SYNTAX, "-.5", 1)
        REFUSE(SYNTAX, "1.e5", 2)
        REFUSE(SYNTAX, "1..2", 2)
        REFUSE(SYNTAX, "1.2.3", 3)
        REFUSE(SYNTAX, "1e", 2)
        REFUSE(SYNTAX, "1e+", 3)
        REFUSE(SYNTAX, "1e-", 3)
        REFUSE(SYNTAX, "[1e]", 3)
        REFUSE(SYNTAX, "1e+-1", 3)
        REFUSE(SYNTAX, "1e1.5", 3)
        REFUSE(SYNTAX, "1e5e5", 3)
        REFUSE(SYNTAX, "e5", 0)
        REFUSE(SYNTAX, "0x1F", 1)
        REFUSE(SYNTAX, "1a", 1)
        REFUSE(SYNTAX, "1 2", 2)
        REFUSE(SYNTAX, "1,000", 1)
        REFUSE(SYNTAX, "[1_000]", 2)
        REFUSE(SYNTAX, "NaN", 0)
        REFUSE(SYNTAX, "Infinity", 0)
        REFUSE(SYNTAX, "-Infinity", 1)
        REFUSE(SYNTAX, "- 1", 1)
        REFUSE(SYNTAX, "1\0", 1)
        REFUSE(SYNTAX, "\xef\xbc\x91", 0) /* a full-width digit */

        /* Strings. */
        TAKE("\"\"")
        TAKE("\" \"")
        TAKE("\"a\"")
        TAKE("\"exactly fifteen\"")
        TAKE("\"exactly sixteen.\"")
        TAKE("\"seventeen letters\"")
        TAKE("\"a text that is longer than two blocks of sixteen bytes\"")
        TAKE("\"\\\"\"")
        TAKE("\"\\\\\"")
        TAKE("\"\\/\"")
        TAKE("\"/\"")
        TAKE("\"\\b\\f\\n\\r\\t\"")
        TAKE("\"\\u0041\"")
        TAKE("\"\\u00e9\\u00E9\"")
        TAKE("\"\\u0000\"")
        TAKE("\"a\\u0000b\"")
        TAKE("\"\\u001f\"")
        TAKE("\"\\u2028\\u2029\"")
        TAKE("\"\\uFFFF\\uFFFE\\uFDD0\"")
        TAKE("\"\\ud7ff\\ue000\"")
        TAKE("\"\\ud83d\\ude80\"")
        TAKE("\"\\uD800\\uDC00\"")
        TAKE("\"\\udbff\\udfff\"")
        TAKE("\"\\\\u0041\"")
        TAKE("\"\\\\\\\"\\\\\"")
        TAKE("\"[1,2] {\\\"a\\\": 3} // no comment\"")
        TAKE("\"\x7f\"")
        TAKE("\"sixteen bytes ..\\n sixteen bytes ..\\n\"")
        TAKE_AS("\t\"x\"\r\n", "\"x\"")
        REFUSE(SYNTAX, "\"", 1)
        REFUSE(SYNTAX, "\"a", 2)
        REFUSE(SYNTAX, "\"a text of some length without an end", 37)
        REFUSE(SYNTAX, "\"\\\"", 3)
        REFUSE(SYNTAX, "\"\\", 2)
        REFUSE(SYNTAX, "\"\\a\"", 2)
        REFUSE(SYNTAX, "\"\\x41\"", 2)
        REFUSE(SYNTAX, "\"\\'\"", 2)
        REFUSE(SYNTAX, "\"\\0\"", 2)
        REFUSE(SYNTAX, "\"\\N\"", 2)
        REFUSE(SYNTAX, "\"\\\n\"", 2)
        REFUSE(SYNTAX, "\"\\\0\"", 2)
        REFUSE(SYNTAX, "\"\\\xc3\xa9\"", 2)
        REFUSE(SYNTAX, "\"\\U0041\"", 2)
        REFUSE(SYNTAX, "\"\\u\"", 3)
        REFUSE(SYNTAX, "\"\\u004\"", 6)
        REFUSE(SYNTAX, "\"\\u00g1\"", 5)
        REFUSE(SYNTAX, "\"\\u 041\"", 3)
        REFUSE(SYNTAX, "\"\\u+041\"", 3)
        REFUSE(SYNTAX, "\"\\u004", 6)
        REFUSE(SYNTAX, "\"\t\"", 1)
        REFUSE(SYNTAX, "\"\n\"", 1)
        REFUSE(SYNTAX, "\"\0\"", 1)
        REFUSE(SYNTAX, "\"\x1f\"", 1)
        REFUSE(SYNTAX, "\"\\n\x01\"", 3)
        REFUSE(SYNTAX, "\"fifteen letters\x02\"", 16)
        REFUSE(SYNTAX, "'a'", 0)
        REFUSE(SYNTAX, "\"a\"b", 3)
        REFUSE(SYNTAX, "\"a\"\"b\"", 3)
        REFUSE(SYNTAX, "abc", 0)
        REFUSE(SYNTAX, "\\u0022a\"", 0)
        REFUSE(UTF8, "\"\\ud800\"", 1)
        REFUSE(UTF8, "\"\\udc00\"", 1)
        REFUSE(UTF8, "\"\\udfff\\ud800\"", 1)
        REFUSE(UTF8, "\"\\ud800\\ud800\"", 1)
        REFUSE(UTF8, "\"\\ud800x\"", 1)
        REFUSE(UTF8, "\"\\ud83d\\n\"", 1)
        REFUSE(UTF8, "\"\\ud83d\\u0041\"", 1)
        REFUSE(UTF8, "\"\\ud83d\\ude8\"", 1)
        REFUSE(UTF8, "\"\\ud83d\\ude80\\ude80\"", 13)
        REFUSE(UTF8, "[\"ok\\ud800", 4)
        REFUSE(UTF8, "{\"\\udead\":1}", 2)

        /* UTF-8. */
        TAKE("\"\xc2\x80\"")
        TAKE("\"\xc3\xa9\"")
        TAKE("\"\xdf\xbf\"")
        TAKE("\"\xe0\xa0\x80\"")
        TAKE("\"\xe2\x82\xac\"")
        TAKE("\"\xed\x9f\xbf\"")
        TAKE("\"\xee\x80\x80\"")
        TAKE("\"\xef\xbf\xbf\"")
        TAKE("\"\xf0\x90\x80\x80\"")
        TAKE("\"\xf0\x9f\x9a\x80\"")
        TAKE("\"\xf4\x8f\xbf\xbf\"")
        TAKE("\"\xef\xbb\xbf\"")
        TAKE("\"\xe2\x80\xa8\xe2\x80\xa9\"")
        TAKE("\"\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e \\n \xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\"")
        TAKE("{\"gr\xc3\xbc\xc3\x9f\":\"\xc3\xa4\"}")
        REFUSE(UTF8, "\"\x80\"", 1)
        REFUSE(UTF8, "\"\xbf\"", 1)
        REFUSE(UTF8, "\"\xc0\x80\"", 1)
        REFUSE(UTF8, "\"\xc1\xbf\"", 1)
        REFUSE(UTF8, "\"\xc3\"", 1)
        REFUSE(UTF8, "\"\xc3", 1)
        REFUSE(UTF8, "\"\xc3\x28\"", 1)
        REFUSE(UTF8, "\"\xe0\x9f\xbf\"", 1)
        REFUSE(UTF8, "\"\xe2\x82\"", 1)
        REFUSE(UTF8, "\"\xe2\x82", 1)
        REFUSE(UTF8, "\"\xe2\x28\xa1\"", 1)
        REFUSE(UTF8, "\"\xed\xa0\x80\"", 1)
        REFUSE(UTF8, "\"\xed\xbf\xbf\"", 1)
        REFUSE(UTF8, "\"\xed\xa0\xbd\xed\xba\x80\"", 1)
        REFUSE(UTF8, "\"\xf0\x8f\xbf\xbf\"", 1)
        REFUSE(UTF8, "\"\xf0\x9f\x9a\"", 1)
        REFUSE(UTF8, "\"\xf0\x9f\x9a", 1)
        REFUSE(UTF8, "\"\xf4\x90\x80\x80\"", 1)
        REFUSE(UTF8, "\"\xf5\x80\x80\x80\"", 1)
        REFUSE(UTF8, "\"\xf8\x88\x80\x80\x80\"", 1)
        REFUSE(UTF8, "\"\xfe\"", 1)
        REFUSE(UTF8, "\"\xff\"", 1)
        REFUSE(UTF8, "\"ok \xc3\xa9\xc3\xa9\xe9\"", 8)
        REFUSE(UTF8, "\"\\n\xe9\"", 3)
        REFUSE(UTF8, "{\"\xff\":1}", 2)
        REFUSE(SYNTAX, "\xef\xbb\xbf{}", 0)
        REFUSE(SYNTAX, "\xef\xbb\xbf", 0)
        REFUSE(SYNTAX, "\xff\xfe[\0]\0", 0)
        REFUSE(SYNTAX, "[\xc3\xa9]", 1)
        REFUSE(SYNTAX, "[1\xff]", 2)

        /* Arrays. */
        TAKE("[]")
        TAKE("[[]]")
        TAKE("[[],[[]]]")
        TAKE("[{}]")
        TAKE("[\"a\",1,null,{\"b\":[]}]")
        TAKE_AS("[ ]", "[]")
        TAKE_AS("[\n\t[ \r\n] , [ ]\n]", "[[],[]]")
        REFUSE(SYNTAX, "[", 1)
        REFUSE(SYNTAX, "]", 0)
        REFUSE(SYNTAX, "[1", 2)
        REFUSE(SYNTAX, "[1,", 3)
        REFUSE(SYNTAX, "[,]", 1)
        REFUSE(SYNTAX, "[1,]", 3)
        REFUSE(SYNTAX, "[,1]", 1)
        REFUSE(SYNTAX, "[1,,2]", 3)
        REFUSE(SYNTAX, "[1 2]", 3)
        REFUSE(SYNTAX, "[1}", 2)
        REFUSE(SYNTAX, "[1:2]", 2)
        REFUSE(SYNTAX, "[1]]", 3)
        REFUSE(SYNTAX, "[1],", 3)
        REFUSE(SYNTAX, "[][]", 2)
        REFUSE(SYNTAX, "[\"a\":1]", 4)
        REFUSE(SYNTAX, "[[", 2)
        REFUSE(SYNTAX, "[[]", 3)
        REFUSE(SYNTAX, "[{]", 2)
        REFUSE(SYNTAX, "[(1)]", 1)
        REFUSE(SYNTAX, "[1;2]", 2)

        /* Objects. */
        TAKE("{}")
        TAKE("{\"\":0}")
        TAKE("{\"a\":1}")
        TAKE("{\"a\":1,\"b\":2}")
        TAKE("{\"a\":{\"a\":{\"a\":{}}}}")
        TAKE("{\"a\":[{\"a\":1},{\"a\":2}],\"b\":{\"a\":3}}")
        TAKE("{\"a\":1,\"A\":2,\"a \":3,\"aa\":4}")
        TAKE("{\"k\":null,\"ka\":null,\"kb\":null,\"kab\":null}")
        TAKE_AS("{\"\\u0061\":1}", "{\"a\":1}")
        TAKE_AS("{\"a\\/b\":1}", "{\"a/b\":1}")
        TAKE("{\"\\n\\\"\\\\\":1}")
        TAKE("{\"\\u0000\":1,\"\":2}")
        TAKE_AS("{\"\\u0000\":1,\"\\u0000\\u0000\":2}", "{\"\\u0000\":1,\"\\u0000\\u0000\":2}")
        TAKE_AS("{\"\\u00e9\":1,\"\\u00c9\":2}", "{\"\xc3\xa9\":1,\"\xc3\x89\":2}")
        TAKE_AS(" { \"a\" : 1 , \"b\" : [ ] } ", "{\"a\":1,\"b\":[]}")
        TAKE_AS("{\"a\"\t:\r\n1\n}", "{\"a\":1}")
        REFUSE(SYNTAX, "{", 1)
        REFUSE(SYNTAX, "}", 0)
        REFUSE(SYNTAX, "{\"a\"", 4)
        REFUSE(SYNTAX, "{\"a\":", 5)
        REFUSE(SYNTAX, "{\"a\":1", 6)
        REFUSE(SYNTAX, "{\"a\":1,", 7)
        REFUSE(SYNTAX, "{\"a\":1,}", 7)
        REFUSE(SYNTAX, "{,}", 1)
        REFUSE(SYNTAX, "{\"a\"}", 4)
        REFUSE(SYNTAX, "{\"a\":}", 5)
        REFUSE(SYNTAX, "{\"a\" 1}", 5)
        REFUSE(SYNTAX, "{\"a\",1}", 4)
        REFUSE(SYNTAX, "{\"a\"::1}", 5)
        REFUSE(SYNTAX, "{\"a\":1 \"b\":2}", 7)
        REFUSE(SYNTAX, "{\"a\":1,,\"b\":2}", 7)
        REFUSE(SYNTAX, "{\"a\":1:2}", 6)
        REFUSE(SYNTAX, "{\"a\":1]", 6)
        REFUSE(SYNTAX, "{a:1}", 1)
        REFUSE(SYNTAX, "{1:1}", 1)
        REFUSE(SYNTAX, "{null:1}", 1)
        REFUSE(SYNTAX, "{'a':1}", 1)
        REFUSE(SYNTAX, "{[]:1}", 1)
        REFUSE(SYNTAX, "{\"a\":1}}", 7)
        REFUSE(SYNTAX, "{\"a\":1}x", 7)
        REFUSE(SYNTAX, "{\"a\":1}#", 7)
        REFUSE(SYNTAX, "{}{}", 2)
        REFUSE(SYNTAX, "{\"a\":/*c*/1}", 5)
        REFUSE(SYNTAX, "{}//c", 2)

        /* Names that are there already, however they are spelt. */
        REFUSE(DUPLICATE, "{\"a\":1,\"a\":1}", 7)
        REFUSE(DUPLICATE, "{\"\":1,\"\":2}", 6)
        REFUSE(DUPLICATE, "{\"a\":1,\"\\u0061\":2}", 7)
        REFUSE(DUPLICATE, "{\"\\u0061\":1,\"a\":2}", 12)
        REFUSE(DUPLICATE, "{\"\\/\":1,\"/\":2}", 8)
        REFUSE(DUPLICATE, "{\"\xc3\xa9\":1,\"\\u00E9\":2}", 8)
        REFUSE(DUPLICATE, "{\"\\ud83d\\ude80\":1,\"\xf0\x9f\x9a\x80\":2}", 18)
        REFUSE(DUPLICATE, "{\"a\":{},\"b\":[],\"a\":null}", 15)
        REFUSE(DUPLICATE, "{\"a\":{\"a\":1},\"b\":{\"c\":1,\"c\":2}}", 24)
        REFUSE(DUPLICATE, "[{\"x\":[{\"y\":1,\"y\":", 14)
        REFUSE(DUPLICATE, "{\"a\\u0000\":1,\"a\\u0000\":1}", 13)

        /* White space and what is none. */
        TAKE_AS("\n\n\r\t 5 \t\r\n\n", "5")
        TAKE_AS("                                        []                                  ", "[]")
        REFUSE(SYNTAX, "", 0)
        REFUSE(SYNTAX, " ", 1)
        REFUSE(SYNTAX, "\n\r\t ", 4)
        REFUSE(SYNTAX, "\x0c[]", 0)
        REFUSE(SYNTAX, "[\x0b]", 1)
        REFUSE(SYNTAX, "[]\0", 2)
        REFUSE(SYNTAX, "\0", 0)
        REFUSE(SYNTAX, "[\xc2\xa0]", 1)
        REFUSE(SYNTAX, "[\xe2\x80\x8b]", 1)
        REFUSE(SYNTAX, "\x1e{}", 0)
        REFUSE(SYNTAX, "[1,2,\x01]", 5)
};
/* clang-format on */

/* A copy that ends where its block ends, odd addresses included. */
static char *copy_exactly(Str text, size_t shift) {
        char *block = malloc(text.n + shift ? text.n + shift : 1);

        assert_non_null(block);
        if (text.n)
                memcpy(block + shift, text.data, text.n);
        return block;
}

static void check_taken(const Case *c, const Json *tree) {
        Arena arena = ARENA_NULL;
        Buf out = BUF_NULL, again = BUF_NULL;
        Json *back = NULL;

        assert_int_equal(json_write(&out, tree), 0);
        if (!str_eq(buf_str(&out), c->out))
                fail_msg("line %d: written as " STR_FMT, c->line, STR_ARG(buf_str(&out)));
        assert_int_equal(json_parse(&arena, out.data, out.n, NULL, &back, NULL), 0);
        assert_true(json_equal(tree, back));
        assert_int_equal(json_write(&again, json_clone(&arena, back)), 0);
        json_parse(&arena, again.data, again.n, NULL, &back, NULL);
        assert_true(json_equal(tree, back));
        arena_deinit(&arena);
        buf_deinit(&out);
        buf_deinit(&again);
}

static void test_cases(void **state) {
        size_t n_taken = 0;

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                for (size_t shift = 0; shift < 3; shift++) {
                        const Case *c = &cases[i];
                        char *block = copy_exactly(c->text, shift);
                        JsonFault fault = {SIZE_MAX, NULL};
                        Arena arena = ARENA_NULL;
                        Json *tree = NULL;
                        int r = json_parse(&arena, block + shift, c->text.n, NULL, &tree, &fault);

                        if (r != c->condition)
                                fail_msg("line %d: %s instead of %s", c->line, json_condition_name(r),
                                         json_condition_name(c->condition));
                        if (r == 0)
                                check_taken(c, tree);
                        else if (fault.offset != c->offset || !fault.what || tree)
                                fail_msg("line %d: fault at %zu instead of %zu (%s)", c->line, fault.offset,
                                         c->offset, fault.what ? fault.what : "-");
                        n_taken += r == 0;
                        arena_deinit(&arena);
                        free(block);
                }
        print_message("%zu cases, %zu of them taken\n", ARRAY_SIZE(cases), n_taken / 3);
}

static const char document[] =
        "{\"id\":17,\"name\":\"Gr\xc3\xbc\xc3\x9f\\u00e9 \\ud83d\\ude80\\n and a tail of some length\","
        "\"list\":[1,-2.5e-3,true,false,null,{\"x\":[]}],\"\\u0041\":\"\xe6\x97\xa5\xf0\x9f\x9a\x80\","
        " \"plain\" : \"0123456789abcdef0123456789abcdef\" , \"last\":{} }";

static void test_prefixes(void **state) {
        Str whole = {document, sizeof(document) - 1};
        Arena arena = ARENA_NULL;
        Json *tree = NULL;

        (void)state;
        for (size_t n = 0; n <= whole.n; n++) {
                char *block = copy_exactly((Str){whole.data, n}, 0);
                JsonFault fault = {SIZE_MAX, NULL};
                int r = json_parse(&arena, block, n, NULL, &tree, &fault);

                if (n == whole.n)
                        assert_int_equal(r, 0);
                else if (r <= 0 || fault.offset > n)
                        fail_msg("prefix of %zu bytes: %d at %zu", n, r, fault.offset);
                free(block);
                arena_reset(&arena);
        }
        arena_deinit(&arena);
}

/* Every byte of the document replaced by every other: nothing but a verdict may come of it. */
static void test_flips(void **state) {
        Str whole = {document, sizeof(document) - 1};
        Arena arena = ARENA_NULL;
        Buf out = BUF_NULL;

        (void)state;
        for (size_t i = 0; i < whole.n; i++)
                for (int c = 0; c < 256; c++) {
                        char *block = copy_exactly(whole, 0);
                        Json *tree = NULL, *back = NULL;

                        block[i] = (char)c;
                        out.n = 0;
                        if (json_parse(&arena, block, whole.n, NULL, &tree, NULL) == 0) {
                                assert_int_equal(json_write(&out, tree), 0);
                                assert_int_equal(json_parse(&arena, out.data, out.n, NULL, &back, NULL), 0);
                                assert_true(json_equal(tree, back));
                        }
                        free(block);
                        arena_reset(&arena);
                }
        arena_deinit(&arena);
        buf_deinit(&out);
}

static int parse_nested(unsigned n, char open, char close, const JsonLimits *limits, size_t *ret_offset) {
        char *text = malloc(2 * n + 1);
        Arena arena = ARENA_NULL;
        JsonFault fault = {0};
        Json *tree;
        int r;

        assert_non_null(text);
        memset(text, open, n);
        memset(text + n, close, n);
        r = json_parse(&arena, text, 2 * n, limits, &tree, &fault);
        *ret_offset = fault.offset;
        free(text);
        arena_deinit(&arena);
        return r;
}

static void test_depth(void **state) {
        size_t offset;

        (void)state;
        assert_int_equal(parse_nested(128, '[', ']', NULL, &offset), 0);
        assert_int_equal(parse_nested(129, '[', ']', NULL, &offset), JSON_E_DEPTH);
        assert_int_equal(offset, 128);
        assert_int_equal(parse_nested(100000, '[', ']', NULL, &offset), JSON_E_DEPTH);
        assert_int_equal(parse_nested(3, '[', ']', &(JsonLimits){.n_depth = 3}, &offset), 0);
        assert_int_equal(parse_nested(4, '[', ']', &(JsonLimits){.n_depth = 3}, &offset), JSON_E_DEPTH);
        assert_int_equal(offset, 3);
        assert_int_equal(parse_nested(500000, '[', ']', &(JsonLimits){.n_depth = 500000}, &offset), 0);
}

static void test_size(void **state) {
        JsonLimits limits = {.n_bytes = 4};
        Arena arena = ARENA_NULL;
        JsonFault fault;
        Json *tree;

        (void)state;
        assert_int_equal(json_parse(&arena, "true", 4, &limits, &tree, NULL), 0);
        assert_int_equal(json_parse(&arena, "false", 5, &limits, &tree, &fault), JSON_E_SIZE);
        assert_int_equal(fault.offset, 4);
        assert_int_equal(json_parse(&arena, NULL, 0, NULL, &tree, &fault), JSON_E_SYNTAX);
        arena_deinit(&arena);
}

static void append_members(Buf *text, unsigned from, unsigned to) {
        for (unsigned i = from; i < to; i++)
                assert_int_equal(buf_printf(text, "%s\"key%u\":{\"n\":%u}", i ? "," : "{", i, i), 0);
}

static void test_many_keys(void **state) {
        static const unsigned counts[] = {15, 16, 17, 18, 31, 32, 33, 64, 65, 1000, 100000};

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
                Arena arena = ARENA_NULL;
                Buf text = BUF_NULL;
                Json *tree = NULL;
                JsonFault fault;
                size_t n;

                append_members(&text, 0, counts[i]);
                n = text.n;
                assert_int_equal(buf_printf(&text, "}"), 0);
                assert_int_equal(json_parse(&arena, text.data, text.n, NULL, &tree, &fault), 0);
                assert_int_equal(json_count(tree), counts[i]);
                text.n = n;
                assert_int_equal(buf_printf(&text, ",\"\\u006bey%u\":1}", counts[i] / 2), 0);
                assert_int_equal(json_parse(&arena, text.data, text.n, NULL, &tree, &fault),
                                 JSON_E_DUPLICATE);
                assert_int_equal(fault.offset, n + 1);
                arena_deinit(&arena);
                buf_deinit(&text);
        }
}

/* Objects with many members inside one another, each with its own set of names. */
static void test_many_keys_nested(void **state) {
        Arena arena = ARENA_NULL;
        Buf text = BUF_NULL;
        Json *tree = NULL;

        (void)state;
        for (unsigned depth = 0; depth < 40; depth++) {
                append_members(&text, 0, 20);
                assert_int_equal(buf_printf(&text, ",\"inner\":"), 0);
        }
        assert_int_equal(buf_printf(&text, "0"), 0);
        for (unsigned depth = 0; depth < 40; depth++)
                assert_int_equal(buf_printf(&text, ",\"behind\":[{}]}"), 0);
        assert_int_equal(json_parse(&arena, text.data, text.n, NULL, &tree, NULL), 0);
        /* Stopped in the middle: the sets must not leak. */
        assert_int_equal(json_parse(&arena, text.data, text.n - 30, NULL, &tree, NULL), JSON_E_SYNTAX);
        text.n--;
        assert_int_equal(buf_printf(&text, ",\"key0\":0}"), 0);
        assert_int_equal(json_parse(&arena, text.data, text.n, NULL, &tree, NULL), JSON_E_DUPLICATE);
        arena_deinit(&arena);
        buf_deinit(&text);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_cases),
                cmocka_unit_test(test_prefixes),
                cmocka_unit_test(test_flips),
                cmocka_unit_test(test_depth),
                cmocka_unit_test(test_size),
                cmocka_unit_test(test_many_keys),
                cmocka_unit_test(test_many_keys_nested),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
