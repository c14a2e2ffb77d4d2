/* SPDX-License-Identifier: MIT */
#include "wire/http-head.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/test-cmocka.h"
#include "base/buf.h"
#include "base/macro.h"
#include "wire/framing.h"
#include "wire/http-negotiate.h"

#define GET  "GET / HTTP/1.1\r\n"
#define HOST "Host: muster:8888\r\n"
#define END  "\r\n"

/* In a block of their own: whoever reads past the end is seen by ASan. The spans of *ret are gone afterwards. */
static int parse_block(Str bytes, HttpHead *ret) {
        char *block = malloc(bytes.n ? bytes.n : 1);
        int r;

        assert_non_null(block);
        if (bytes.n)
                memcpy(block, bytes.data, bytes.n);
        r = http_head_parse((Str){block, bytes.n}, ret);
        free(block);
        return r;
}

static HttpHead parse_good(Str bytes) {
        HttpHead head;

        assert_int_equal(parse_block(bytes, &head), 0);
        assert_int_equal(http_head_parse(bytes, &head), 0);
        return head;
}

static void test_browser(void **state) {
        HttpHead head = parse_good(STR("GET /ws?session=a%20b&token=x HTTP/1.1\r\n"
                                       "Host: 127.0.0.1:8888\r\n"
                                       "Connection: keep-alive, Upgrade\r\n"
                                       "Pragma: no-cache\r\n"
                                       "User-Agent: Mozilla/5.0 (X11; Linux x86_64) \t \r\n"
                                       "Upgrade: websocket\r\n"
                                       "Origin: http://127.0.0.1:8888\r\n"
                                       "Sec-WebSocket-Version: 13\r\n"
                                       "Accept-Encoding: gzip, deflate, br;q=0\r\n"
                                       "Cookie: a=\xe4\xf6\r\n"
                                       "Empty:\r\n"
                                       "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                                       "sec-websocket-protocol: muster, token.abc\r\n"
                                       "Sec-WebSocket-Protocol:,, more ,\r\n\r\n"));
        HttpItems items = http_items(&head, STR("Sec-WebSocket-Protocol"));
        Str item;

        (void)state;
        assert_true(str_is(head.method, "GET"));
        assert_true(str_is(head.target, "/ws?session=a%20b&token=x"));
        assert_true(str_is(head.host, "127.0.0.1:8888"));
        assert_true(head.wants_websocket);
        assert_false(head.closes);
        assert_int_equal(head.n_body, 0);
        assert_int_equal(head.n_fields, 13);
        assert_true(str_is(http_head_get(&head, STR("user-AGENT")), "Mozilla/5.0 (X11; Linux x86_64)"));
        assert_true(str_is(http_head_get(&head, STR("cookie")), "a=\xe4\xf6"));
        assert_true(http_head_find(&head, STR("empty"), &item) && !item.n);
        assert_false(http_head_find(&head, STR("empt"), &item));
        assert_true(http_items_next(&items, &item) && str_is(item, "muster"));
        assert_true(http_items_next(&items, &item) && str_is(item, "token.abc"));
        assert_true(http_items_next(&items, &item) && str_is(item, "more"));
        assert_false(http_items_next(&items, &item));
        assert_false(http_items_next(&items, &item));
}

static void test_body(void **state) {
        HttpHead head = parse_good(STR("POST /api/sessions HTTP/1.1\r\n" HOST "content-length:  0042 \r\n"
                                       "Expect: 100-Continue\r\nConnection: Close\r\n\r\n"));

        (void)state;
        assert_int_equal(head.n_body, 42);
        assert_true(head.wants_continue && head.closes && !head.wants_websocket);
        head = parse_good(STR(GET HOST "Content-Length: 999999999999999999\r\n" END));
        assert_true(head.n_body == 999999999999999999);
        head = parse_good(STR("OPTIONS * HTTP/1.1\r\n" HOST END));
        assert_true(str_is(head.target, "*"));
        head = parse_good(
                STR("M-SEARCH!#$%&'*+-.^_`|~09az / HTTP/1.1\r\n" HOST "x!#$%&'*+-.^_`|~09: v\r\n" END));
        assert_true(str_is(http_head_get(&head, STR("X!#$%&'*+-.^_`|~09")), "v"));
}

/* An upgrade is wished for by GET with both fields, and with nothing less. */
static void test_upgrade(void **state) {
        static const char *const others[] = {
                "POST / HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: websocket\r\n" END,
                GET HOST "Connection: close\r\nUpgrade: websocket\r\n" END,
                GET HOST "Upgrade: websocket\r\n" END,
                GET HOST "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n" END,
                GET HOST "Connection: upgraded\r\nUpgrade: websocket\r\n" END,
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(others); i++)
                assert_false(parse_good(str_from(others[i])).wants_websocket);
        assert_true(parse_good(STR(GET HOST "Connection: UPGRADE\r\nUpgrade: h2c, WebSocket\r\n" END))
                            .wants_websocket);
}

/* ---- what is refused ------------------------------------------------------------------------- */

typedef struct Refused {
        const char *name;
        Str head;
        int condition;
        unsigned status;
} Refused;

/* The requests that a library took, and that no two programs read in one way. Those whose lines do not end in CR LF
 * are refused by the framing already, the others by the parser; what percents hide by http_target_parse(). */
static const Refused malformed[] = {
        {"two different lengths", STR(GET HOST "Content-Length: 5\r\nContent-Length: 6\r\n" END),
         HTTP_E_TWICE, 400},
        {"the same length twice", STR(GET HOST "Content-Length: 5\r\nContent-Length: 5\r\n" END),
         HTTP_E_TWICE, 400},
        {"a list of lengths", STR(GET HOST "Content-Length: 5, 5\r\n" END), HTTP_E_LENGTH, 400},
        {"a length with a sign", STR(GET HOST "Content-Length: +5\r\n" END), HTTP_E_LENGTH, 400},
        {"a negative length", STR(GET HOST "Content-Length: -5\r\n" END), HTTP_E_LENGTH, 400},
        {"a length in hex", STR(GET HOST "Content-Length: 0x5\r\n" END), HTTP_E_LENGTH, 400},
        {"an empty length", STR(GET HOST "Content-Length:\r\n" END), HTTP_E_LENGTH, 400},
        {"a length that overflows", STR(GET HOST "Content-Length: 18446744073709551617\r\n" END),
         HTTP_E_LENGTH, 400},
        {"length and Transfer-Encoding",
         STR(GET HOST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n" END), HTTP_E_AMBIGUOUS, 400},
        {"Transfer-Encoding", STR(GET HOST "Transfer-Encoding: chunked\r\n" END), HTTP_E_TRANSFER, 411},
        {"Transfer-Encoding: identity", STR(GET HOST "transfer-encoding: identity\r\n" END), HTTP_E_TRANSFER,
         411},
        {"two Hosts", STR(GET HOST "Host: other\r\n" END), HTTP_E_HOST, 400},
        {"the same Host twice", STR(GET HOST HOST END), HTTP_E_HOST, 400},
        {"no Host", STR(GET "A: b\r\n" END), HTTP_E_HOST, 400},
        {"an empty Host", STR(GET "Host:\r\n" END), HTTP_E_HOST, 400},
        {"a Host with a path", STR(GET "Host: a/b\r\n" END), HTTP_E_HOST, 400},
        {"a Host with a user", STR(GET "Host: a@b\r\n" END), HTTP_E_HOST, 400},
        {"a Host with two ports", STR(GET "Host: a:1:2\r\n" END), HTTP_E_HOST, 400},
        {"CR in a value", STR(GET HOST "A: b\rc\r\n" END), HTTP_E_LINE, 400},
        {"two CRs before LF", STR(GET HOST "A: b\r\r\n" END), HTTP_E_LINE, 400},
        {"NUL in a value", STR(GET HOST "A: b\0c\r\n" END), HTTP_E_VALUE, 400},
        {"a control byte in a value", STR(GET HOST "A: b\1c\r\n" END), HTTP_E_VALUE, 400},
        {"DEL in a value", STR(GET HOST "A: b\x7f\r\n" END), HTTP_E_VALUE, 400},
        {"escape in a value", STR(GET HOST "A: \x1b[2J\r\n" END), HTTP_E_VALUE, 400},
        {"a control byte in a name", STR(GET HOST "A\1b: c\r\n" END), HTTP_E_NAME, 400},
        {"NUL in a name", STR(GET HOST "A\0b: c\r\n" END), HTTP_E_NAME, 400},
        {"a blank in a name", STR(GET HOST "A b: c\r\n" END), HTTP_E_NAME, 400},
        {"a blank before the colon", STR(GET HOST "A : c\r\n" END), HTTP_E_NAME, 400},
        {"a tab before the colon", STR(GET HOST "Content-Length\t: 5\r\n" END), HTTP_E_NAME, 400},
        {"no name", STR(GET HOST ": c\r\n" END), HTTP_E_NAME, 400},
        {"no colon", STR(GET HOST "Abc\r\n" END), HTTP_E_NAME, 400},
        {"a name that is not ASCII", STR(GET HOST "\xc3\xa4: c\r\n" END), HTTP_E_NAME, 400},
        {"a control byte in the method", STR("G\1T / HTTP/1.1\r\n" HOST END), HTTP_E_METHOD, 400},
        {"a tab in the method", STR("G\tT / HTTP/1.1\r\n" HOST END), HTTP_E_METHOD, 400},
        {"NUL in the method", STR("G\0T / HTTP/1.1\r\n" HOST END), HTTP_E_METHOD, 400},
        {"brackets in the method", STR("GET( / HTTP/1.1\r\n" HOST END), HTTP_E_METHOD, 400},
        {"raw bytes in the target", STR("GET /\xc3\xa4 HTTP/1.1\r\n" HOST END), HTTP_E_TARGET, 400},
        {"NUL in the target", STR("GET /\0 HTTP/1.1\r\n" HOST END), HTTP_E_TARGET, 400},
        {"a tab in the target", STR("GET /a\tb HTTP/1.1\r\n" HOST END), HTTP_E_TARGET, 400},
        {"DEL in the target", STR("GET /\x7f HTTP/1.1\r\n" HOST END), HTTP_E_TARGET, 400},
        {"a fragment in the target", STR("GET /a#b HTTP/1.1\r\n" HOST END), HTTP_E_TARGET, 400},
        {"a whole address", STR("GET http://muster/ HTTP/1.1\r\n" HOST END), HTTP_E_TARGET, 400},
        {"a target of CONNECT", STR("CONNECT muster:80 HTTP/1.1\r\n" HOST END), HTTP_E_TARGET, 400},
        {"an asterisk", STR("GET * HTTP/1.1\r\n" HOST END), HTTP_E_TARGET, 400},
        {"folding by a blank", STR(GET HOST "A: b\r\n c\r\n" END), HTTP_E_FOLDED, 400},
        {"folding by a tab", STR(GET HOST "A: b\r\n\tc\r\n" END), HTTP_E_FOLDED, 400},
        {"folding of the first line", STR(GET " Host: a\r\n" HOST END), HTTP_E_FOLDED, 400},
        {"HTTP/1.9", STR("GET / HTTP/1.9\r\n" HOST END), HTTP_E_VERSION, 505},
        {"HTTP/1.0", STR("GET / HTTP/1.0\r\n" HOST END), HTTP_E_VERSION, 505},
        {"HTTP/2.0", STR("PRI * HTTP/2.0\r\n\r\n"), HTTP_E_VERSION, 505},
        {"HTTP/1.10", STR("GET / HTTP/1.10\r\n" HOST END), HTTP_E_REQUEST, 400},
        {"HTTP/1,1", STR("GET / HTTP/1,1\r\n" HOST END), HTTP_E_REQUEST, 400},
        {"http/1.1", STR("GET / http/1.1\r\n" HOST END), HTTP_E_REQUEST, 400},
        {"HTTP/0.9", STR("GET /\r\n" END), HTTP_E_REQUEST, 400},
        {"two blanks", STR("GET  / HTTP/1.1\r\n" HOST END), HTTP_E_REQUEST, 400},
        {"two blanks behind the target", STR("GET /  HTTP/1.1\r\n" HOST END), HTTP_E_REQUEST, 400},
        {"a blank before the method", STR(" GET / HTTP/1.1\r\n" HOST END), HTTP_E_REQUEST, 400},
        {"a blank behind the version", STR("GET / HTTP/1.1 \r\n" HOST END), HTTP_E_REQUEST, 400},
        {"a blank in the target", STR("GET /a b HTTP/1.1\r\n" HOST END), HTTP_E_REQUEST, 400},
        {"an empty line first", STR(END), HTTP_E_REQUEST, 400},
        {"another expectation", STR(GET HOST "Expect: 200-ok\r\n" END), HTTP_E_EXPECT, 417},
        {"two tokens", STR(GET HOST "Authorization: Bearer a\r\nauthorization: Bearer b\r\n" END),
         HTTP_E_TWICE, 400},
        {"two Origins", STR(GET HOST "Origin: http://a\r\nOrigin: http://b\r\n" END), HTTP_E_TWICE, 400},
        {"two Ranges", STR(GET HOST "Range: bytes=0-1\r\nRange: bytes=1-2\r\n" END), HTTP_E_TWICE, 400},
};

static void test_refused(void **state) {
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(malformed); i++) {
                const Refused *bad = &malformed[i];
                size_t n_scanned = 0, n;
                HttpHead head;
                Str frame;
                int r;

                assert_int_equal(framing_next(&(Framing){FRAMING_HEAD, HTTP_HEAD_MAX}, bad->head, &n_scanned,
                                              &frame, &n),
                                 0); /* it comes this far */
                r = parse_block(frame, &head);
                if (r != bad->condition)
                        fail_msg("%s: %d, not %d", bad->name, r, bad->condition);
                assert_int_equal(http_head_status(r), bad->status);
                assert_true(strlen(http_head_reason(r)) > 0);
        }
}

/* LF alone never ends a line, and nobody waits for its CR: the framing refuses it at once. */
static void test_bare_lf(void **state) {
        static const Str heads[] = {
                STR("GET / HTTP/1.1\nHost: a\n\n"),
                STR(GET HOST "A: b\n" END),
                STR(GET HOST "\n"),
                STR("\n"),
                STR(GET "Host: a\n"),
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
                size_t n_scanned = 0, n;
                HttpHead head;
                Str frame;

                assert_int_equal(framing_next(&(Framing){FRAMING_HEAD, HTTP_HEAD_MAX}, heads[i], &n_scanned,
                                              &frame, &n),
                                 FRAMING_E_WRONG);
                assert_int_equal(parse_block(heads[i], &head), HTTP_E_LINE);
        }
}

/* Every part of a good head is no head, and neither is a good one with something behind it. */
static void test_parts(void **state) {
        Str whole = STR("POST /a?b=c HTTP/1.1\r\n" HOST "Content-Length: 5\r\n" END);
        HttpHead head;

        (void)state;
        for (size_t n = 0; n < whole.n; n++)
                assert_int_equal(parse_block((Str){whole.data, n}, &head), HTTP_E_LINE);
        assert_int_equal(parse_block(whole, &head), 0);
        assert_int_equal(parse_block(STR(GET HOST END "x"), &head), HTTP_E_LINE);
}

static void test_field_limit(void **state) {
        for (size_t n = HTTP_FIELDS_MAX - 1; n <= HTTP_FIELDS_MAX + 1; n++) {
                _cleanup_(buf_deinit) Buf text = BUF_NULL;
                HttpHead head;

                assert_int_equal(buf_append_str(&text, STR(GET HOST)), 0);
                for (size_t i = 1; i < n; i++)
                        assert_int_equal(buf_printf(&text, "f%zu: %zu\r\n", i, i), 0);
                assert_int_equal(buf_append_str(&text, STR(END)), 0);
                assert_int_equal(parse_block(buf_str(&text), &head),
                                 n > HTTP_FIELDS_MAX ? HTTP_E_FIELDS : 0);
        }
        (void)state;
        assert_int_equal(http_head_status(HTTP_E_FIELDS), 431);
        assert_int_equal(http_head_status(-1), 500);
        for (int e = 1; e < _HTTP_E_N; e++)
                assert_true(http_head_status(e) >= 400 && http_head_reason(e)[0]);
}

/* ---- what it says about itself --------------------------------------------------------------- */

static HttpHead with(const char *line) {
        static char text[1024];

        (void)snprintf(text, sizeof(text), "%s%s%s%s", GET, HOST, line, END);
        return parse_good(str_from(text));
}

static void test_bearer(void **state) {
        static const char *const bad[] = {
                "",
                "Authorization: Basic YTpi\r\n",
                "Authorization: Bearer\r\n",
                "Authorization: Bearer \r\n",
                "Authorization: Bearer a b\r\n",
                "Authorization: Bearer =\r\n",
                "Authorization: Bearer a=b\r\n",
                "Authorization: Bearer a\xc3\xa4\r\n",
                "Authorization: Bearera\r\n",
        };
        HttpHead head = with("authorization: bearer  aZ09-._~+/==\r\n");
        Str token;

        (void)state;
        assert_true(http_bearer(&head, &token) && str_is(token, "aZ09-._~+/=="));
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                head = with(bad[i]);
                assert_false(http_bearer(&head, &token));
        }
}

static void test_codings(void **state) {
        static const struct {
                const char *line;
                unsigned codings;
        } cases[] = {
                {"", 0},
                {"Accept-Encoding:\r\n", 0},
                {"Accept-Encoding: identity\r\n", 0},
                {"Accept-Encoding: gzip, deflate, br, zstd\r\n", 3},
                {"Accept-Encoding: GZIP\r\n", 1},
                {"Accept-Encoding: gzip;q=0, br\r\n", 2},
                {"Accept-Encoding: gzip ; q=0.000, br ;Q=0.001\r\n", 2},
                {"Accept-Encoding: br;q=0.0\r\nAccept-Encoding: gzip;q=1.0\r\n", 1},
                {"Accept-Encoding: *\r\n", 3},
                {"Accept-Encoding: *;q=0\r\n", 0},
                {"Accept-Encoding: br;q=0, *\r\n", 1},
                {"Accept-Encoding: gzip, *;q=0\r\n", 1},
                {"Accept-Encoding: gzipp, xbr\r\n", 0},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                HttpHead head = with(cases[i].line);
                assert_int_equal(http_codings(&head), cases[i].codings);
        }
}

static void test_none_match(void **state) {
        static const struct {
                const char *line;
                bool is_same;
        } cases[] = {
                {"", false},
                {"If-None-Match: \"a\"\r\n", true},
                {"If-None-Match: W/\"a\"\r\n", true},
                {"If-None-Match: \"b\", \"a\"\r\n", true},
                {"If-None-Match: \"b,\", W/\"c\" ,\"a\"\r\n", true},
                {"If-None-Match: \"x\"\r\nif-none-match: \"a\"\r\n", true},
                {"If-None-Match: *\r\n", true},
                {"If-None-Match: a\r\n", false},
                {"If-None-Match: \"a\r\n", false},
                {"If-None-Match: \"b, \"a\"\r\n", false},
                {"If-None-Match: \"A\"\r\n", false},
                {"If-None-Match:\r\n", false},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                HttpHead head = with(cases[i].line);
                assert_int_equal(http_none_match(&head, STR("\"a\"")), cases[i].is_same);
        }
}

static void test_range(void **state) {
        static const struct {
                const char *range;
                uint64_t size;
                int r;
                uint64_t first, n;
        } cases[] = {
                {"bytes=0-0", 10, 0, 0, 1},
                {"bytes=0-", 10, 0, 0, 10},
                {"Bytes=3-5", 10, 0, 3, 3},
                {"bytes=3-500", 10, 0, 3, 7},
                {"bytes=9-", 10, 0, 9, 1},
                {"bytes=-3", 10, 0, 7, 3},
                {"bytes=-30", 10, 0, 0, 10},
                {"bytes=10-", 10, HTTP_RANGE_E_OUTSIDE, 0, 0},
                {"bytes=-0", 10, HTTP_RANGE_E_OUTSIDE, 0, 0},
                {"bytes=0-", 0, HTTP_RANGE_E_OUTSIDE, 0, 0},
                {"bytes=-1", 0, HTTP_RANGE_E_OUTSIDE, 0, 0},
                {"bytes=5-3", 10, HTTP_RANGE_E_WHOLE, 0, 0},
                {"bytes=-", 10, HTTP_RANGE_E_WHOLE, 0, 0},
                {"bytes=", 10, HTTP_RANGE_E_WHOLE, 0, 0},
                {"bytes=0-1,3-4", 10, HTTP_RANGE_E_WHOLE, 0, 0},
                {"bytes=a-b", 10, HTTP_RANGE_E_WHOLE, 0, 0},
                {"bytes=0 -1", 10, HTTP_RANGE_E_WHOLE, 0, 0},
                {"lines=0-1", 10, HTTP_RANGE_E_WHOLE, 0, 0},
                {"bytes=0-9999999999999999999", 10, HTTP_RANGE_E_WHOLE, 0, 0},
                {"bytes=999999999999999999-", 10, HTTP_RANGE_E_OUTSIDE, 0, 0},
                {"bytes=0-999999999999999999", UINT64_MAX, 0, 0, 1000000000000000000},
                {"bytes=1-", UINT64_MAX, 0, 1, UINT64_MAX - 1},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                uint64_t first = 0, n = 0;
                char line[128];
                HttpHead head;

                (void)snprintf(line, sizeof(line), "Range: %s\r\n", cases[i].range);
                head = with(line);
                assert_int_equal(http_range(&head, cases[i].size, &first, &n), cases[i].r);
                assert_true(first == cases[i].first && n == cases[i].n);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_browser),     cmocka_unit_test(test_body),
                cmocka_unit_test(test_upgrade),     cmocka_unit_test(test_refused),
                cmocka_unit_test(test_bare_lf),     cmocka_unit_test(test_parts),
                cmocka_unit_test(test_field_limit), cmocka_unit_test(test_bearer),
                cmocka_unit_test(test_codings),     cmocka_unit_test(test_none_match),
                cmocka_unit_test(test_range),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
