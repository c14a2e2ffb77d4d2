/* SPDX-License-Identifier: MIT */
#include "cli/link/exchange.h"

#include "base/test-cmocka.h"
#include "base/macro.h"

static Json *parsed(Arena *arena, const char *text) {
        Json *json = NULL;

        assert_int_equal(json_parse(arena, text, strlen(text), NULL, &json, NULL), 0);
        return json;
}

static void expect_bytes(const Request *request, Str want) {
        _cleanup_(buf_deinit) Buf out = BUF_NULL;

        assert_int_equal(request_write(request, &out), 0);
        assert_int_equal(out.n, want.n);
        assert_memory_equal(out.data, want.data, want.n);
}

static void test_requests(void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        /* Line breaks between tokens may not get into a line. */
        const Json *args = parsed(&arena, "{\"a\":\n[1,\r\n\"x\"]}\n");

        (void)state;
        expect_bytes(&(Request){.dialect = "cccc", .op = "ping"},
                     STR("{\"v\":1,\"op\":\"ping\",\"args\":{}}\n"));
        expect_bytes(&(Request){.dialect = "cccc", .op = "send", .args = args},
                     STR("{\"v\":1,\"op\":\"send\",\"args\":{\"a\":[1,\"x\"]}}\n"));
        expect_bytes(&(Request){.dialect = "native", .op = "daemon.info"},
                     STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"daemon.info\",\"params\":{}}\n"));
        expect_bytes(
                &(Request){.dialect = "aiwg", .op = "ping", .args = args, .project = "/p q"},
                STR("@aiwg project=/p q\n"
                    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":[1,\"x\"]}}\n"));
        expect_bytes(&(Request){.dialect = "agentcompany", .op = "x"},
                     STR("@agentcompany\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{}}\n"));
        expect_bytes(&(Request){.dialect = "coop", .op = "ls"},
                     STR("\0\0\0\x0d{\"version\":1}\0\0\0\x0c{\"cmd\":\"ls\"}"));
        expect_bytes(&(Request){.dialect = "coop", .op = "ls", .args = args},
                     STR("\0\0\0\x0d{\"version\":1}\0\0\0\x18{\"cmd\":\"ls\",\"a\":[1,\"x\"]}"));
}

static void expect_error(const char *dialect, const char *text, const char *code, const char *message) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Reply reply;

        assert_int_equal(reply_read(&arena, dialect, str_from(text), &reply), 0);
        assert_true(reply.is_error);
        assert_null(reply.result);
        assert_true(str_is((Str){reply.code->text, reply.code->n}, code));
        assert_true(str_is(reply.message, message));
}

static void test_errors(void **state) {
        static const char refusal[] =
                "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32003,\"message\":\"no\"}}";

        (void)state;
        expect_error(
                "cccc",
                "{\"v\":1,\"ok\":false,\"result\":{},\"error\":{\"code\":\"unknown_op\",\"message\":\"m\","
                "\"details\":{}}}",
                "unknown_op", "m");
        expect_error("coop", "{\"ok\":false,\"error\":\"SESSION_NOT_FOUND\",\"message\":\"m\"}",
                     "SESSION_NOT_FOUND", "m");
        expect_error("aiwg", "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32601,\"message\":\"m\"},\"id\":1}",
                     "-32601", "m");
        expect_error("cccc", refusal, "-32003", "no");
        expect_error("coop", refusal, "-32003", "no");
}

static void test_results(void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Reply reply;

        (void)state;
        assert_int_equal(reply_read(&arena, "cccc",
                                    STR("{\"v\":1,\"ok\":true,\"result\":{\"a\":1},\"error\":null}"),
                                    &reply),
                         0);
        assert_false(reply.is_error);
        assert_int_equal(json_count(reply.result), 1);
        assert_int_equal(reply_read(&arena, "coop", STR("{\"ok\":true,\"sessions\":[]}"), &reply), 0);
        assert_int_equal(json_count(reply.result), 1);
        assert_true(json_is(json_get(reply.result, "sessions"), JSON_ARRAY));
        assert_int_equal(
                reply_read(&arena, "native", STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}"), &reply),
                0);
        assert_true(json_is(reply.result, JSON_NULL));
}

static void test_garbled(void **state) {
        static const char *const cases[] = {
                "", "hello", "[]", "null", "{}", "{\"result\":1", "{\"jsonrpc\":\"2.0\"}"};
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Reply reply;

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                assert_int_equal(reply_read(&arena, "native", str_from(cases[i]), &reply),
                                 EXCHANGE_E_GARBLED);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_requests),
                cmocka_unit_test(test_errors),
                cmocka_unit_test(test_results),
                cmocka_unit_test(test_garbled),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
