/* SPDX-License-Identifier: MIT */
#include "base/json/toml.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test-cmocka.h"
#include "base/json/json-writer.h"
#include "base/macro.h"

static void assert_reads(const char *toml, const char *json) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        TomlFault fault = {0};
        Json *tree = NULL;

        if (toml_parse_text(&arena, str_from(toml), &tree, &fault))
                fail_msg("%zu:%zu %s in: %s", fault.line, fault.column, fault.what, toml);
        assert_int_equal(json_write(&out, tree), 0);
        assert_string_equal(buf_cstr(&out), json);
}

/* The column is whatever toml++ thinks it is. */
static void assert_refused_str(Str toml, size_t line) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        TomlFault fault = {0};
        Json *tree = NULL;
        int r = toml_parse_text(&arena, toml, &tree, &fault);

        if (r != TOML_E_SYNTAX || fault.line != line || fault.column < 1 || !fault.what[0])
                fail_msg("%d at %zu:%zu %s in: %.200s", r, fault.line, fault.column, fault.what, toml.data);
        assert_null(tree);
        assert_int_equal(toml_parse_text(&arena, toml, &tree, NULL), TOML_E_SYNTAX);
}

static void assert_refused(const char *toml, size_t line) {
        assert_refused_str(str_from(toml), line);
}

static void test_values(void **state) {
        (void)state;
        assert_reads("", "{}");
        assert_reads("# nothing\n", "{}");
        assert_reads("\xef\xbb\xbf"
                     "a = 1",
                     "{\"a\":1}");
        assert_reads("a = -12\nb = +1_000\nc = 0xff\nd = 0o17\ne = 0b101\nf = 9223372036854775807\n",
                     "{\"a\":-12,\"b\":1000,\"c\":255,\"d\":15,\"e\":5,\"f\":9223372036854775807}");
        assert_reads("a = 1.5\nb = -2e3\nc = inf\nd = -inf\ne = nan\n",
                     "{\"a\":1.5,\"b\":-2000,\"c\":\"inf\",\"d\":\"-inf\",\"e\":\"nan\"}");
        assert_reads("a = true\nb = false\n", "{\"a\":true,\"b\":false}");
        assert_reads("a = \"x\\n\\u00e9\\\"\"\nb = 'C:\\x'\nc = \"\"\"\none \"\" two\\\n   "
                     "three\"\"\"\"\"\nd = '''\n'q'\n'''\ne = ''\n",
                     "{\"a\":\"x\\né\\\"\",\"b\":\"C:\\\\x\",\"c\":\"one \\\"\\\" "
                     "twothree\\\"\\\"\",\"d\":\"'q'\\n\",\"e\":\"\"}");
        assert_reads("a = \"\"\"x\\\n  é\"\"\"\n", "{\"a\":\"xé\"}");
        assert_reads("a = [1, 'x', [true, []], {b = {}}]\n", "{\"a\":[1,\"x\",[true,[]],{\"b\":{}}]}");
}

static void test_times(void **state) {
        (void)state;
        assert_reads("a = 2026-01-02\nb = 03:04:05\nc = 03:04:05.120\nd = 2026-01-02T03:04:05Z\n"
                     "e = 2026-01-02 03:04:05.000001-07:30\nf = 2026-01-02T03:04:05\ng = "
                     "2026-01-02T03:04:05+00:30\n"
                     "h = 2026-01-02T03:04:05.123456789-00:30\n",
                     "{\"a\":\"2026-01-02\",\"b\":\"03:04:05\",\"c\":\"03:04:05.12\",\"d\":\"2026-01-02T03:"
                     "04:05Z\","
                     "\"e\":\"2026-01-02T03:04:05.000001-07:30\",\"f\":\"2026-01-02T03:04:05\","
                     "\"g\":\"2026-01-02T03:04:05+00:30\",\"h\":\"2026-01-02T03:04:05.123456789-00:30\"}");
}

/* Members come in the order of the text, though toml++ sorts them. */
static void test_order(void **state) {
        (void)state;
        assert_reads("z = 1\na = 2\n[m]\nk = {y = 1, b = 2}\nb.z = 1\nb.a = 2\n[c.d]\n[b]\nx = 1\n[c]\na = "
                     "1\n[[t]]\nn = 1\n[[t]]\nn = 2\n[t.u]\n",
                     "{\"z\":1,\"a\":2,\"m\":{\"k\":{\"y\":1,\"b\":2},\"b\":{\"z\":1,\"a\":2}},\"c\":{\"d\":"
                     "{},\"a\":1},\"b\":{\"x\":1},"
                     "\"t\":[{\"n\":1},{\"n\":2,\"u\":{}}]}");
        assert_reads("a.b.c = 1\n\"a\".d = 2\n'x.y'.\"\" = 3\n",
                     "{\"a\":{\"b\":{\"c\":1},\"d\":2},\"x.y\":{\"\":3}}");
}

static void test_refused(void **state) {
        (void)state;
        assert_refused("a = 1\na = 2\n", 2);
        assert_refused("a = \n", 1);
        assert_refused("a = 1 b = 2\n", 1);
        assert_refused("[a\n", 1);
        assert_refused("a = 'x\n", 1);
        assert_refused("a = [1, 2\n", 1);
        assert_refused("a = 9223372036854775808\n", 1);
        assert_refused("a = 2026-02-30\n", 1);
        assert_refused("a = \"\\ud800\"\n", 1);
        assert_refused("a = '\xff'\n", 1);
        assert_refused("a = '\x1b'\n", 1);
        assert_refused_str(STR("a = 1\0"), 1);
        assert_refused("= 1\n", 1);
        assert_refused("[ = 1\n", 1);
        assert_refused("é = 1\n", 1);
}

static void append_times(Buf *buf, const char *text, size_t n) {
        for (size_t i = 0; i < n; i++)
                assert_int_equal(buf_append_str(buf, str_from(text)), 0);
}

/* Depth that toml++ alone would follow until its stack overflows. */
static void test_depth(void **state) {
        static const char *const keys[] = {"a.", "'a'.", "\"\\\"\" . ", "a . "};

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
                for (int form = 0; form < 4; form++) {
                        _cleanup_(buf_deinit) Buf deep = BUF_NULL;
                        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
                        static const char *const before[] = {"", "[", "[[", "x = {"};
                        Json *tree = NULL;

                        append_times(&deep, before[form], 1);
                        append_times(&deep, keys[i], 200000);
                        append_times(&deep, "b = 1\n", 1);
                        assert_int_equal(toml_parse_text(&arena, buf_str(&deep), &tree, NULL),
                                         TOML_E_SYNTAX);
                        assert_null(tree);
                }
        }
        _cleanup_(buf_deinit) Buf lists = BUF_NULL;
        append_times(&lists, "a = ", 1);
        append_times(&lists, "[", 100000);
        assert_refused_str(buf_str(&lists), 1);

        /* 31 parts in the header, 31 in the key: 63 tables. */
        _cleanup_(buf_deinit) Buf wide = BUF_NULL;
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Json *tree;
        append_times(&wide, "[", 1);
        append_times(&wide, "a.", 31);
        append_times(&wide, "a]\n", 1);
        append_times(&wide, "a.", 31);
        append_times(&wide, "a = 1\n", 1);
        assert_int_equal(toml_parse_text(&arena, buf_str(&wide), &tree, NULL), 0);
        append_times(&wide, "b.c = {}\n", 1);
        assert_int_equal(toml_parse_text(&arena, buf_str(&wide), &tree, NULL), 0);
        append_times(&wide, "c.", 31);
        append_times(&wide, "d = {e = 1}\n", 1);
        assert_int_equal(toml_parse_text(&arena, buf_str(&wide), &tree, NULL), TOML_E_SYNTAX);
}

/* Dots elsewhere are not parts of a key. */
static void test_dots(void **state) {
        static const char *const around[][2] = {
                {"a = '", "'\n"},
                {"a = \"", "\"\n"},
                {"a = \"\"\"\n", "\"\"\"\n"},
                {"a = '''\n", "'''\n"},
                {"# ", "\n"},
                {"'", "' = 1\n"},
                {"a = \"\\\"", "\"\n"},
                {"a = \"\"\"\"", "\"\"\"\"\"\n"},
                {"a = ''''\"", "'''''\n"},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(around); i++) {
                _cleanup_(buf_deinit) Buf text = BUF_NULL;
                _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
                TomlFault fault = {0};
                Json *tree;

                append_times(&text, around[i][0], 1);
                append_times(&text, ".", 1000);
                append_times(&text, around[i][1], 1);
                append_times(
                        &text,
                        "b = [1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, "
                        "4.5,"
                        "1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5]\n",
                        1);
                if (toml_parse_text(&arena, buf_str(&text), &tree, &fault))
                        fail_msg("%zu: %zu:%zu %s", i, fault.line, fault.column, fault.what);
        }
}

static void test_too_long(void **state) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;

        (void)state;
        assert_int_equal(buf_reserve(&text, (16 << 20) + 1), 0);
        text.n = (16 << 20) + 1;
        memset(text.data, '\n', text.n);
        assert_refused_str(buf_str(&text), 1);
}

#if defined(__SANITIZE_ADDRESS__)
static const bool is_sanitized = true;
#elif defined(__has_feature)
static const bool is_sanitized = __has_feature(address_sanitizer);
#else
static const bool is_sanitized = false;
#endif

/* Memory that runs out in the middle of a text fails the call. It once ended the process: toml++ was built
 * without exceptions. */
static int parse_within(Str text, rlim_t n_more) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        struct rlimit limit;
        unsigned long n_pages = 0;
        FILE *file = fopen("/proc/self/statm", "re");
        Json *tree;
        int r;

        if (!file || fscanf(file, "%lu", &n_pages) != 1)
                return 3;
        fclose(file);
        limit.rlim_cur = limit.rlim_max = (rlim_t)n_pages * (rlim_t)sysconf(_SC_PAGESIZE) + n_more;
        if (setrlimit(RLIMIT_AS, &limit))
                return 3;
        r = toml_parse_text(&arena, text, &tree, NULL);
        return r == 0 ? 0 : r == -ENOMEM ? 1 : 2;
}

static void test_without_memory(void **state) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        unsigned n_failed = 0;

        (void)state;
        if (is_sanitized)
                skip(); /* it needs terabytes of addresses for itself */
        for (unsigned i = 0; i < 4000; i++) {
                char line[64];
                snprintf(line, sizeof(line), "[t%u]\na = \"text %u\"\nb = [1, {c = 2}]\n", i, i);
                append_times(&text, line, 1);
        }
        for (rlim_t n_more = 0; n_more < (rlim_t)8 << 20; n_more += 257 << 10) {
                pid_t pid = fork();
                int status = -1;

                if (pid == 0)
                        _exit(parse_within(buf_str(&text), n_more));
                assert_int_equal(waitpid(pid, &status, 0), pid);
                assert_true(WIFEXITED(status));
                assert_in_range(WEXITSTATUS(status), 0, 1);
                n_failed += WEXITSTATUS(status) == 1;
        }
        assert_in_range(n_failed, 5, 1000);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_values),   cmocka_unit_test(test_times),
                cmocka_unit_test(test_order),    cmocka_unit_test(test_refused),
                cmocka_unit_test(test_depth),    cmocka_unit_test(test_dots),
                cmocka_unit_test(test_too_long), cmocka_unit_test(test_without_memory),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
