/* SPDX-License-Identifier: MIT */
#include "wire/http-target.h"

#include <stdlib.h>

#include "base/test-cmocka.h"
#include "base/buf.h"
#include "base/macro.h"
#include "wire/http-host.h"

/* Parts are kept as "a|b?name=value&…", with a slash behind if it is a folder. */
static int show(Str target, Buf *out) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        char *block = malloc(target.n ? target.n : 1); /* whoever reads past the end is seen by ASan */
        HttpTarget t;
        int r;

        assert_non_null(block);
        memcpy(block, target.data, target.n);
        r = http_target_parse(&arena, (Str){block, target.n}, &t);
        free(block);
        if (r)
                return r;
        for (size_t i = 0; i < t.n_segments; i++) {
                assert_int_equal(t.segments[i].data[t.segments[i].n], '\0');
                assert_int_equal(buf_printf(out, "%s%s", i ? "|" : "", t.segments[i].data), 0);
        }
        assert_int_equal(buf_printf(out, "%s", t.is_folder ? "/" : ""), 0);
        for (size_t i = 0; i < t.n_members; i++)
                assert_int_equal(buf_printf(out, "%s%s=%s", i ? "&" : "?", t.members[i].name.data,
                                            t.members[i].value.data),
                                 0);
        return 0;
}

static void test_parts(void **state) {
        static const char *const cases[][2] = {
                {"/", ""},
                {"/a", "a"},
                {"/a/b", "a|b"},
                {"/a/b/", "a|b/"},
                {"/api/sessions/my%20name", "api|sessions|my name"},
                {"/%61%5B%7c", "a[|"},
                {"/a+b?c+d=e+f%2Bg", "a+b?c d=e f+g"},
                {"/%C3%A4?x=%e2%82%ac", "\xc3\xa4?x=\xe2\x82\xac"},
                {"/%252f%252e", "%2f%2e"},
                {"/...", "..."},
                {"/.a/..b", ".a|..b"},
                {"/?", ""},
                {"/?&&", ""},
                {"/?a", "?a="},
                {"/?a=", "?a="},
                {"/?=a", "?=a"},
                {"/?a=b=c", "?a=b=c"},
                {"/?a=b&A=c&", "?a=b&A=c"},
                {"/ws?session=s&pty=0&token=a/b?c", "ws?session=s&pty=0&token=a/b?c"},
                {"/?path=%2Fhome%2F..%2Fx", "?path=/home/../x"},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_(buf_deinit) Buf out = BUF_NULL;

                assert_int_equal(show(str_from(cases[i][0]), &out), 0);
                assert_string_equal(buf_cstr(&out), cases[i][1]);
        }
}

static void test_refused(void **state) {
        static const struct {
                const char *target;
                int condition;
        } cases[] = {
                {"", HTTP_TARGET_E_FORM},
                {"a", HTTP_TARGET_E_FORM},
                {"*", HTTP_TARGET_E_FORM},
                {"http://a/", HTTP_TARGET_E_FORM},
                {"?a", HTTP_TARGET_E_FORM},
                {"/\xc3\xa4", HTTP_TARGET_E_FORM},
                {"/a b", HTTP_TARGET_E_FORM},
                {"/?a#b", HTTP_TARGET_E_FORM},
                {"/%", HTTP_TARGET_E_PERCENT},
                {"/%4", HTTP_TARGET_E_PERCENT},
                {"/%4g", HTTP_TARGET_E_PERCENT},
                {"/%u0041", HTTP_TARGET_E_PERCENT},
                {"/?a=%", HTTP_TARGET_E_PERCENT},
                {"/?%2=", HTTP_TARGET_E_PERCENT},
                {"/%2/f", HTTP_TARGET_E_PERCENT},
                {"/%00", HTTP_TARGET_E_CONTROL},
                {"/a%00.js", HTTP_TARGET_E_CONTROL},
                {"/?a=%00", HTTP_TARGET_E_CONTROL},
                {"/?a%0a=", HTTP_TARGET_E_CONTROL},
                {"/%0d%0a", HTTP_TARGET_E_CONTROL},
                {"/%1b", HTTP_TARGET_E_CONTROL},
                {"/%7f", HTTP_TARGET_E_CONTROL},
                {"/%c2%9b", HTTP_TARGET_E_CONTROL},
                {"/a%2fb", HTTP_TARGET_E_SLASH},
                {"/..%2F", HTTP_TARGET_E_SLASH},
                {"/a%5cb", HTTP_TARGET_E_SLASH},
                {"/a\\b", HTTP_TARGET_E_SLASH},
                {"/.", HTTP_TARGET_E_DOTS},
                {"/..", HTTP_TARGET_E_DOTS},
                {"/a/../b", HTTP_TARGET_E_DOTS},
                {"/a/./b", HTTP_TARGET_E_DOTS},
                {"/%2e", HTTP_TARGET_E_DOTS},
                {"/%2e%2E/", HTTP_TARGET_E_DOTS},
                {"/.%2e/a", HTTP_TARGET_E_DOTS},
                {"//", HTTP_TARGET_E_EMPTY},
                {"//a", HTTP_TARGET_E_EMPTY},
                {"/a//b", HTTP_TARGET_E_EMPTY},
                {"/a//", HTTP_TARGET_E_EMPTY},
                {"/%ff", HTTP_TARGET_E_UTF8},
                {"/%c3", HTTP_TARGET_E_UTF8},
                {"/%c0%af", HTTP_TARGET_E_UTF8},
                {"/%e0%80%af", HTTP_TARGET_E_UTF8},
                {"/%ed%a0%80", HTTP_TARGET_E_UTF8},
                {"/?a=%f5%80%80%80", HTTP_TARGET_E_UTF8},
                {"/?a=b&a=c", HTTP_TARGET_E_TWICE},
                {"/?token=a&%74oken=b", HTTP_TARGET_E_TWICE},
                {"/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17", HTTP_TARGET_E_LONG},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_(buf_deinit) Buf out = BUF_NULL;
                int r = show(str_from(cases[i].target), &out);

                if (r != cases[i].condition)
                        fail_msg("%s: %d, not %d", cases[i].target, r, cases[i].condition);
                assert_true(http_target_reason(r)[0]);
        }
}

static void test_limits(void **state) {
        _cleanup_(buf_deinit) Buf path = BUF_NULL, query = BUF_NULL, out = BUF_NULL;

        (void)state;
        for (int i = 0; i < HTTP_SEGMENTS_MAX; i++)
                assert_int_equal(buf_append_str(&path, STR("/a")), 0);
        assert_int_equal(show(buf_str(&path), &out), 0);
        assert_int_equal(buf_append_str(&path, STR("/")), 0);
        assert_int_equal(show(buf_str(&path), &out), 0);
        assert_int_equal(buf_append_str(&query, STR("/?")), 0);
        for (int i = 0; i < HTTP_MEMBERS_MAX; i++)
                assert_int_equal(buf_printf(&query, "%d&", i), 0);
        assert_int_equal(show(buf_str(&query), &out), 0);
        assert_int_equal(buf_append_str(&query, STR("x")), 0);
        assert_int_equal(show(buf_str(&query), &out), HTTP_TARGET_E_LONG);
}

static void test_routes(void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        HttpTarget t;
        Str value;

        (void)state;
        assert_int_equal(http_target_parse(&arena, STR("/api/sessions/x?a=1"), &t), 0);
        assert_true(http_target_is(&t, "api", "sessions", "*", NULL));
        assert_true(http_target_is(&t, "api", "sessions", "x", NULL));
        assert_false(http_target_is(&t, "api", "sessions", NULL));
        assert_false(http_target_is(&t, "api", "sessions", "x", "*", NULL));
        assert_false(http_target_is(&t, NULL));
        assert_true(str_is(t.path, "/api/sessions/x"));
        assert_true(http_target_find(&t, STR("a"), &value) && str_is(value, "1"));
        assert_false(http_target_find(&t, STR("A"), &value));
        assert_int_equal(http_target_parse(&arena, STR("/"), &t), 0);
        assert_true(http_target_is(&t, NULL));
        assert_false(http_target_is(&t, "*", NULL));
}

/* ---- Host and Origin ------------------------------------------------------------------------- */

static void test_host(void **state) {
        static const struct {
                const char *text, *name;
                unsigned port;
        } good[] = {
                {"localhost", "localhost", 0},
                {"localhost:8888", "localhost", 8888},
                {"127.0.0.1:1", "127.0.0.1", 1},
                {"[::1]", "::1", 0},
                {"[fe80::1]:65535", "fe80::1", 65535},
                {"[::ffff:1.2.3.4]:80", "::ffff:1.2.3.4", 80},
                {"my_host.example.", "my_host.example.", 0},
        };
        static const char *const bad[] = {
                "",         ":",
                ":80",      "a:",
                "a:0",      "a:65536",
                "a:80x",    "a:+80",
                "a:080000", "::1",
                "[::1",     "[::1]x",
                "[::1]:",   "[]",
                "[a]",      "[1.2.3.4]",
                "a/b",      "a b",
                "a@b",      "a,b",
                "a%41",     "[fe80::1%25eth0]",
                "\xc3\xa4", "a?",
                "a#",       "[::1]]:80",
                "a\\b",
        };
        HttpHost host;

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
                assert_true(http_host_split(str_from(good[i].text), &host));
                assert_true(str_is(host.name, good[i].name));
                assert_int_equal(host.port, good[i].port);
                assert_int_equal(host.is_v6, good[i].text[0] == '[');
        }
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
                if (http_host_split(str_from(bad[i]), &host))
                        fail_msg("taken: %s", bad[i]);
        assert_false(http_host_split(STR("a\0b"), &host));
        assert_false(http_host_split(STR("[::1\0]"), &host));
}

static bool name_is(const char *host, const char *name) {
        HttpHost h;

        assert_true(http_host_split(str_from(host), &h));
        return http_host_name_is(&h, str_from(name));
}

static bool is_loopback(const char *host) {
        HttpHost h;

        assert_true(http_host_split(str_from(host), &h));
        return http_host_is_loopback(&h);
}

static void test_host_names(void **state) {
        (void)state;
        assert_true(name_is("LocalHost:1", "localhost"));
        assert_true(name_is("localhost.", "localhost"));
        assert_false(name_is("localhost", "localhos"));
        assert_true(name_is("[::0:1]", "::1"));
        assert_true(name_is("[FE80::1]", "fe80:0::1"));
        assert_false(name_is("[::1]", "::2"));
        assert_false(name_is("[::1]", "localhost"));
        assert_false(name_is("[::1]", ""));
        assert_true(is_loopback("localhost:1") && is_loopback("127.8.9.1") && is_loopback("[::1]:2") &&
                    is_loopback("LOCALHOST."));
        assert_false(is_loopback("128.0.0.1") || is_loopback("[::2]") || is_loopback("localhost.example") ||
                     is_loopback("127.0.0.1.example") || is_loopback("0.0.0.0"));
}

static void test_origin(void **state) {
        static const struct {
                const char *origin, *host;
                bool plain, tls; /* whether it is the same, without TLS and with it */
        } cases[] = {
                {"http://a", "a", true, false},
                {"http://a:80", "a", true, false},
                {"http://a", "a:80", true, false},
                {"https://a", "a", true, true},
                {"https://a:443", "A", true, true},
                {"https://a", "a:443", true, true},
                {"HTTP://A:8888", "a:8888", true, false},
                {"http://[::1]:8888", "[0::1]:8888", true, false},
                {"http://a", "a:443", false, false},
                {"https://a", "a:80", false, false},
                {"http://a:8888", "a:8889", false, false},
                {"http://b:8888", "a:8888", false, false},
                {"http://a.b:8888", "a:8888", false, false},
                {"http://127.0.0.1:1", "localhost:1", false, false},
                {"http://[::1]:1", "localhost:1", false, false},
                {"null", "null", false, false},
                {"", "", false, false},
                {"http://", "", false, false},
                {"http://a/", "a", false, false},
                {"http://a:8888/x", "a:8888", false, false},
                {"http://u@a", "a", false, false},
                {"ws://a", "a", false, false},
                {"file://", "a", false, false},
                {"http://a http://b", "a", false, false},
                {"chrome-extension://a", "a", false, false},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                Str origin = str_from(cases[i].origin), host = str_from(cases[i].host);

                assert_int_equal(http_origin_is_host(origin, host, false), cases[i].plain);
                assert_int_equal(http_origin_is_host(origin, host, true), cases[i].tls);
        }
        assert_false(http_origin_is_host(STR_NULL, STR_NULL, false));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_parts),  cmocka_unit_test(test_refused),
                cmocka_unit_test(test_limits), cmocka_unit_test(test_routes),
                cmocka_unit_test(test_host),   cmocka_unit_test(test_host_names),
                cmocka_unit_test(test_origin),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
