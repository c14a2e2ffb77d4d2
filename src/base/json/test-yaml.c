/* SPDX-License-Identifier: MIT */
#include "base/json/yaml.h"

#include <stdio.h>

#include "base/test-cmocka.h"
#include "base/json/json-writer.h"
#include "base/macro.h"

/* The tree that a YAML text gives is the one that a JSON text gives, in the same order. */
static void assert_reads_str(Str yaml, const char *json) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        YamlFault fault = {0};
        Json *tree = NULL;
        int r = yaml_parse(&arena, yaml, &tree, &fault);

        if (r)
                fail_msg("%d at %zu:%zu %s in: " STR_FMT, r, fault.line, fault.column, fault.what,
                         STR_ARG(yaml));
        assert_int_equal(json_write(&out, tree), 0);
        assert_string_equal(buf_cstr(&out), json);
}

static void assert_reads(const char *yaml, const char *json) {
        assert_reads_str(str_from(yaml), json);
}

static void assert_refused_str(Str yaml, int condition, size_t line, size_t column) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        YamlFault fault = {0};
        Json *tree = NULL;
        int r = yaml_parse(&arena, yaml, &tree, &fault);

        if (r != condition || fault.line != line || fault.column != column || !fault.what[0])
                fail_msg("%d at %zu:%zu %s in: " STR_FMT, r, fault.line, fault.column, fault.what,
                         STR_ARG(yaml));
        assert_null(tree);
        assert_int_equal(yaml_parse(&arena, yaml, &tree, NULL), condition);
}

static void assert_refused(const char *yaml, int condition, size_t line, size_t column) {
        assert_refused_str(str_from(yaml), condition, line, column);
}

/* Writes the tree of a JSON text; it must read back equal. want may be NULL. */
static void assert_writes(const char *json, const char *want) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        YamlFault fault = {0};
        Json *tree, *back;

        assert_int_equal(json_parse(&arena, json, strlen(json), NULL, &tree, NULL), 0);
        assert_int_equal(yaml_write(&out, tree), 0);
        if (want)
                assert_string_equal(buf_cstr(&out), want);
        if (yaml_parse(&arena, buf_str(&out), &back, &fault))
                fail_msg("%zu:%zu %s in:\n%s", fault.line, fault.column, fault.what, buf_cstr(&out));
        if (!json_equal(tree, back))
                fail_msg("does not read back:\n%s", buf_cstr(&out));
}

static void test_core_schema(void **state) {
        static const char *const cases[][2] = {
                {"", "null"},
                {"# nothing\n", "null"},
                {"--- \n...\n", "null"},
                {"~", "null"},
                {"null", "null"},
                {"Null", "null"},
                {"NULL", "null"},
                {"nULL", "\"nULL\""},
                {"true", "true"},
                {"True", "true"},
                {"TRUE", "true"},
                {"tRUE", "\"tRUE\""},
                {"false", "false"},
                {"False", "false"},
                {"FALSE", "false"},
                {"yes", "\"yes\""},
                {"no", "\"no\""},
                {"on", "\"on\""},
                {"Off", "\"Off\""},
                {"y", "\"y\""},
                {"0", "0"},
                {"-0", "-0"},
                {"+0", "0"},
                {"12", "12"},
                {"+12", "12"},
                {"-12", "-12"},
                {"0123", "123"},
                {"-007", "-7"},
                {"000", "0"},
                {"123456789012345678901234567890", "123456789012345678901234567890"},
                {"0o17", "15"},
                {"0o", "\"0o\""},
                {"0o8", "\"0o8\""},
                {"0xfF", "255"},
                {"0x", "\"0x\""},
                {"0xg", "\"0xg\""},
                {"-0xff", "\"-0xff\""},
                {"0xffffffffffffffff", "18446744073709551615"},
                {"0x10000000000000000", "\"0x10000000000000000\""},
                {"0o1777777777777777777777", "18446744073709551615"},
                {"0o2000000000000000000000", "\"0o2000000000000000000000\""},
                {"0b1", "\"0b1\""},
                {"1_000", "\"1_000\""},
                {"1:30", "\"1:30\""},
                {"1.5", "1.5"},
                {".5", "0.5"},
                {"-.5", "-0.5"},
                {"+.5e3", "0.5e3"},
                {"1.", "1.0"},
                {"1.e3", "1.0e3"},
                {"01.50", "1.50"},
                {"1e3", "1e3"},
                {"1E-03", "1E-03"},
                {"1e", "\"1e\""},
                {"1e+", "\"1e+\""},
                {".", "\".\""},
                {"-", "[null]"},
                {"+", "\"+\""},
                {"-.", "\"-.\""},
                {".e5", "\".e5\""},
                {"1.2.3", "\"1.2.3\""},
                {".inf", "\".inf\""},
                {"-.INF", "\"-.INF\""},
                {".nan", "\".nan\""},
                {"2026-01-02", "\"2026-01-02\""},
                {"2026-01-02T03:04:05Z", "\"2026-01-02T03:04:05Z\""},
                {"'12'", "\"12\""},
                {"\"true\"", "\"true\""},
                {"|-\n  12", "\"12\""},
                {">-\n  12", "\"12\""},
                {"!!str 12", "\"12\""},
                {"!!str", "\"\""},
                {"!!str true", "\"true\""},
                {"!!int 12", "12"},
                {"!!int '12'", "\"12\""},
                {"!!float 1e3", "1e3"},
                {"!mine 12", "12"},
                {"! 12", "12"},
                {"!!set {a: 1}", "{\"a\":1}"},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                assert_reads(cases[i][0], cases[i][1]);
        assert_reads_str(STR_NULL, "null");
        assert_reads_str(STR("\xef\xbb\xbf"
                             "a: 1"),
                         "{\"a\":1}");
}

static void test_structure(void **state) {
        (void)state;
        assert_reads("a: 1\nb:\n- x\n- y: z\n  w: [1, {q: r}, []]\nc: {}\n",
                     "{\"a\":1,\"b\":[\"x\",{\"y\":\"z\",\"w\":[1,{\"q\":\"r\"},[]]}],\"c\":{}}");
        assert_reads("z: 1\na: 2\nm: 3\n", "{\"z\":1,\"a\":2,\"m\":3}");
        assert_reads("a:\nb: \n", "{\"a\":null,\"b\":null}");
        assert_reads("a: |\n  one\n  two\nb: >\n  one\n  two\n",
                     "{\"a\":\"one\\ntwo\\n\",\"b\":\"one two\\n\"}");
        assert_reads("{\"a\": [1, 2.5, null, true], \"b\": \"\\u00e9\\n\\0\"}",
                     "{\"a\":[1,2.5,null,true],\"b\":\"é\\n\\u0000\"}");
        assert_reads("--- a\n...\n", "\"a\"");
        assert_reads("%YAML 1.1\n---\n- a\n", "[\"a\"]");
}

static void test_keys(void **state) {
        (void)state;
        assert_reads("1: a\n~: b\ntrue: c\n1.50: d\n'': e\n",
                     "{\"1\":\"a\",\"~\":\"b\",\"true\":\"c\",\"1.50\":\"d\",\"\":\"e\"}");
        assert_reads("? a\n: b\n? c\n", "{\"a\":\"b\",\"c\":null}");
        assert_reads("? \n: x\n", "{\"\":\"x\"}");
        assert_reads("<<: {a: 1}\n", "{\"<<\":{\"a\":1}}");
        assert_reads("? |\n  a\n  b\n: c\n", "{\"a\\nb\\n\":\"c\"}");
        assert_refused("? [a]\n: b\n", YAML_E_KEY, 1, 3);
        assert_refused("a:\n  {[x]: y}: b\n", YAML_E_KEY, 2, 3);
        assert_refused("a: 1\n? {b: c}\n: d\n", YAML_E_KEY, 2, 3);
}

static void test_duplicates(void **state) {
        _cleanup_(buf_deinit) Buf many = BUF_NULL;

        (void)state;
        assert_refused("a: 1\nb: 2\na: 3\n", YAML_E_DUPLICATE, 3, 1);
        assert_refused("x:\n  - {a: 1, 'a': 2}\n", YAML_E_DUPLICATE, 2, 12);
        assert_refused("1: a\n'1': b\n", YAML_E_DUPLICATE, 2, 1);
        assert_refused("? \n? \n", YAML_E_DUPLICATE, 2, 2);
        assert_reads("a: {a: {a: 1}}\nb: {a: 2}\n", "{\"a\":{\"a\":{\"a\":1}},\"b\":{\"a\":2}}");
        assert_reads("1: a\n01: b\n", "{\"1\":\"a\",\"01\":\"b\"}"); /* keys are text */
        for (int i = 0; i < 5000; i++)
                assert_int_equal(buf_printf(&many, "k%d: {k%d: 1}\n", i, i), 0);
        assert_int_equal(buf_append_str(&many, STR("k1234: again\n")), 0);
        assert_refused_str(buf_str(&many), YAML_E_DUPLICATE, 5001, 1);
}

static void test_refused(void **state) {
        (void)state;
        assert_refused("a: &x 1\n", YAML_E_ALIAS, 1, 4);
        assert_refused("&x a: 1\n", YAML_E_ALIAS, 1, 1);
        assert_refused("- &x [1]\n", YAML_E_ALIAS, 1, 3);
        assert_refused("- &x {a: 1}\n", YAML_E_ALIAS, 1, 3);
        assert_refused("a: *x\n", YAML_E_ALIAS, 1, 4);
        assert_refused("*x : 1\n", YAML_E_ALIAS, 1, 1);
        assert_refused("a\n---\nb\n", YAML_E_SYNTAX, 2, 1);
        assert_refused("---\n---\n", YAML_E_SYNTAX, 2, 1);
        assert_refused("a: 1\n...\nb: 2\n", YAML_E_SYNTAX, 3, 1);
        assert_refused("a: b: c\n", YAML_E_SYNTAX, 1, 5);
        assert_refused("a: [1, 2\n", YAML_E_SYNTAX, 2, 1);
        assert_refused("a: 'x\n", YAML_E_SYNTAX, 2, 1);
        assert_refused("\ta: 1\n", YAML_E_SYNTAX, 1, 1);
        assert_refused("a: @x\n", YAML_E_SYNTAX, 1, 4);
        assert_refused("a: \"\\ud800\"\n", YAML_E_SYNTAX, 1, 7);
        assert_refused("a: 1\n\xc3\xa9\xff: 1\n", YAML_E_SYNTAX, 2, 2);
        assert_refused_str(STR("a\0b"), YAML_E_SYNTAX, 1, 2);
}

static void test_depth(void **state) {
        char text[400];

        (void)state;
        memset(text, '[', 64);
        memset(text + 64, ']', 64);
        text[128] = 0;
        assert_reads(text, text);
        memset(text, '[', 65);
        memset(text + 65, ']', 65);
        text[130] = 0;
        assert_refused(text, YAML_E_DEPTH, 1, 65);
        for (int i = 0; i < 130; i++)
                memcpy(text + 2 * i, "- ", 3);
        assert_refused(text, YAML_E_DEPTH, 1, 129);
}

static void test_write_depth(void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        Json *tree = json_new(&arena, JSON_NULL);

        (void)state;
        assert_int_equal(buf_append_str(&out, STR("kept")), 0);
        for (int depth = 1; depth <= 66; depth++) {
                Json *around = json_new(&arena, depth % 3 ? JSON_ARRAY : JSON_OBJECT), *back;

                if (depth % 3)
                        assert_int_equal(json_push(around, tree), 0);
                else
                        assert_int_equal(json_set(&arena, around, STR("k"), tree), 0);
                tree = around;
                out.n = 4;
                assert_int_equal(yaml_write(&out, tree), depth <= 64 ? 0 : YAML_E_DEPTH);
                assert_memory_equal(out.data, "kept", 4);
                if (depth > 64) {
                        assert_int_equal(out.n, 4);
                        continue;
                }
                assert_int_equal(yaml_parse(&arena, (Str){out.data + 4, out.n - 4}, &back, NULL), 0);
                assert_true(json_equal(tree, back));
        }
}

static void test_write_layout(void **state) {
        (void)state;
        assert_writes("{\"v\":1,\"title\":\"two words\",\"running\":false,\"none\":null,"
                      "\"actors\":[{\"id\":\"a\",\"command\":[\"sh\",\"-c\"],\"env\":{}},{\"id\":\"b\","
                      "\"env\":{\"K\":\"v\"}}],"
                      "\"scopes\":[],\"deep\":{\"m\":{\"o\":[1,[2,[]],{\"x\":{\"y\":2.5}}]}}}",
                      "v: 1\n"
                      "title: two words\n"
                      "running: false\n"
                      "none: null\n"
                      "actors:\n"
                      "- id: a\n"
                      "  command:\n"
                      "  - sh\n"
                      "  - '-c'\n"
                      "  env: {}\n"
                      "- id: b\n"
                      "  env:\n"
                      "    K: v\n"
                      "scopes: []\n"
                      "deep:\n"
                      "  m:\n"
                      "    o:\n"
                      "    - 1\n"
                      "    - - 2\n"
                      "      - []\n"
                      "    - x:\n"
                      "        'y': 2.5\n");
        assert_writes("[]", "[]\n");
        assert_writes("{}", "{}\n");
        assert_writes("null", "null\n");
        assert_writes("\"a\"", "a\n");
        assert_writes("\"a\\nb\"", "|-\n  a\n  b\n");
        assert_writes("[\"a\\nb\\n\",{\"k\":\"c\\n\\n d\\n\\n\",\"l\":[\"e\\n\\tf\"]}]",
                      "- |\n  a\n  b\n- k: |+\n    c\n\n     d\n\n  l:\n  - |-\n    e\n    \tf\n");
}

/* Strings and how they must look. */
static void test_write_scalars(void **state) {
        static const char *const plain[] = {
                "a",         "a b", "a:b",    "a#b",   "http://x/y?z=1", "/abs/path", "nope",
                "yesterday", "é",   "日本語", "a, b",  "x[1]",           "a'b",       "a\\\"b",
                "\\\\",      "_1",  "T001",   "naïve", "g_0123abcd",     "😀",         "truely",
                "a - b",     "(x)", "$HOME",
        };
        static const char *const single[] = {
                "",
                "1",
                "-1",
                "+1",
                "012",
                "0o17",
                "0x1F",
                "0b1",
                "1_000",
                "1:30",
                "1:30:45.5",
                "1.5",
                ".5",
                "1e3",
                "1.0e+3",
                ".inf",
                "-.inf",
                ".NaN",
                "2026-01-02",
                "2026-01-02T03:04:05Z",
                "2026-01-02 03:04:05",
                "yes",
                "No",
                "ON",
                "off",
                "y",
                "N",
                "true",
                "FALSE",
                "null",
                "Null",
                "~",
                "=",
                "<<",
                "-",
                "- a",
                "--flag",
                "?",
                "? a",
                ":",
                ": a",
                "a:",
                "a: b",
                "a #b",
                "#a",
                "@a",
                "`a",
                "&a",
                "*a",
                "!a",
                "|",
                ">",
                "%a",
                "[a",
                "{a",
                "]",
                "}",
                ",",
                "'",
                "' a",
                " a",
                "a ",
                " ",
                "---",
                "...",
                "... a",
                "tRuE",
                "~/x",
                "3 apples",
        };
        static const char *const quoted[] = {
                "a\\tb",    "\\t",     "a\\rb",           "\\n",     "\\na",    " a\\nb",
                "a\\nb ",   "\\u0000", "\\u001b[0m",      "\\u007f", "\\u0085", "\\u00a0\\u0080",
                "\\u2028",  "\\u2029", "\\ufeff",         "\\ufffe", "\\uffff", "a\\r\\nb",
                "\\ta\\nb", "a\\n\\t", "\\\"\\u0001\\\\",
        };
        char json[128];

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
                char want[128];

                /* The two that JSON escapes and YAML does not. */
                snprintf(json, sizeof(json), "\"%s\"", plain[i]);
                snprintf(want, sizeof(want), "%s\n", plain[i]);
                if (strchr(plain[i], '\\'))
                        assert_writes(json, strcmp(plain[i], "\\\\") == 0 ? "\\\n" : "a\"b\n");
                else
                        assert_writes(json, want);
        }
        for (size_t i = 0; i < ARRAY_SIZE(single); i++) {
                _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
                _cleanup_(buf_deinit) Buf out = BUF_NULL;

                assert_int_equal(yaml_write(&out, json_new_str(&arena, str_from(single[i]))), 0);
                if (out.data[0] != '\'' || out.data[out.n - 2] != '\'')
                        fail_msg("not quoted: %s", single[i]);
                snprintf(json, sizeof(json), "{\"%s\":[\"%s\"]}", single[i], single[i]);
                assert_writes(json, NULL);
        }
        for (size_t i = 0; i < ARRAY_SIZE(quoted); i++) {
                snprintf(json, sizeof(json), "{\"%s\":[\"%s\",{\"k\":\"%s\"}]}", quoted[i], quoted[i],
                         quoted[i]);
                assert_writes(json, NULL);
        }
        assert_writes("\"\\u0000\\u0001\\n\\t\\r\\\"\\\\\\u0085\\u2028\\ufeff\\uffff\\u007fé\"",
                      "\"\\x00\\x01\\n\\t\\r\\\"\\\\\\x85\\u2028\\uFEFF\\uFFFF\\x7Fé\"\n");
        assert_writes("\"it's: so\"", "'it''s: so'\n");
        assert_writes("\"''\"", "''''''\n");
        assert_writes("\"'\\t\"", "\"'\\t\"\n");
}

static void test_write_numbers(void **state) {
        (void)state;
        assert_writes("[0,-0,-12,1.5,-1.5e+10,1.0E-3,123456789012345678901234567890]",
                      "- 0\n- -0\n- -12\n- 1.5\n- -1.5e+10\n- 1.0E-3\n- 123456789012345678901234567890\n");
        /* PyYAML would take these for strings. */
        assert_writes("[1e3,1E+3,1.5e10,-2e-2]",
                      "- !!float 1e3\n- !!float 1E+3\n- !!float 1.5e10\n- !!float -2e-2\n");
}

/* Keys that are too long for a simple key. */
static void test_write_long_keys(void **state) {
        static const char *const fills[] = {"k", "é", "\x01", "- "};

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(fills); i++) {
                for (size_t n = 1; n < 3000; n += n < 300 ? 1 : 97) {
                        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
                        _cleanup_(buf_deinit) Buf key = BUF_NULL, out = BUF_NULL;
                        Json *outer = json_new(&arena, JSON_ARRAY), *map = json_new(&arena, JSON_OBJECT);
                        Json *list = json_new(&arena, JSON_ARRAY), *inner = json_new(&arena, JSON_OBJECT),
                             *back;

                        while (key.n < n)
                                assert_int_equal(buf_append_str(&key, str_from(fills[i])), 0);
                        assert_int_equal(json_push(list, json_new_int(&arena, 1)), 0);
                        assert_int_equal(json_set(&arena, inner, buf_str(&key), list), 0);
                        assert_int_equal(json_set(&arena, map, STR("a"), json_new(&arena, JSON_NULL)), 0);
                        assert_int_equal(json_set(&arena, map, buf_str(&key), inner), 0);
                        assert_int_equal(json_set(&arena, map, STR("b"), json_new_str(&arena, STR("x\ny"))),
                                         0);
                        assert_int_equal(json_push(outer, map), 0);
                        assert_int_equal(yaml_write(&out, outer), 0);
                        assert_int_equal(yaml_parse(&arena, buf_str(&out), &back, NULL), 0);
                        assert_true(json_equal(outer, back));
                }
        }
}

static void test_write_bad_utf8(void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf out = BUF_NULL;

        (void)state;
        assert_int_equal(yaml_write(&out, json_new_str(&arena, STR("a\xff\xc3"))), 0);
        assert_string_equal(buf_cstr(&out), "a\xef\xbf\xbd\xef\xbf\xbd\n");
}

/* The members of a mapping can be changed afterwards like those of any object. */
static void test_tree_is_ordinary(void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        Json *tree;

        (void)state;
        assert_int_equal(yaml_parse(&arena, STR("a: 1\nb: [x]\nc: 0xffff\n"), &tree, NULL), 0);
        assert_int_equal(json_set(&arena, tree, STR("c"), json_new_int(&arena, 3)), 0);
        assert_int_equal(json_set(&arena, tree, STR("d"), json_new_int(&arena, 4)), 0);
        assert_true(json_remove(tree, STR("a")));
        assert_int_equal(json_push(json_get(tree, "b"), json_new_bool(&arena, true)), 0);
        assert_int_equal(json_write(&out, tree), 0);
        assert_string_equal(buf_cstr(&out), "{\"b\":[\"x\",true],\"c\":3,\"d\":4}");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_core_schema),
                cmocka_unit_test(test_structure),
                cmocka_unit_test(test_keys),
                cmocka_unit_test(test_duplicates),
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_depth),
                cmocka_unit_test(test_write_depth),
                cmocka_unit_test(test_write_layout),
                cmocka_unit_test(test_write_scalars),
                cmocka_unit_test(test_write_numbers),
                cmocka_unit_test(test_write_long_keys),
                cmocka_unit_test(test_write_bad_utf8),
                cmocka_unit_test(test_tree_is_ordinary),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
