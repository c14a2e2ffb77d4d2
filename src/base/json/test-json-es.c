/* SPDX-License-Identifier: MIT */
/* What ECMAScript reads and writes: the lenient reader, json_write_es(), and the order of texts. */
#include "base/test-cmocka.h"
#include "base/collate.h"
#include "base/json/json-writer.h"
#include "base/macro.h"
#include "base/sha256.h"

static const JsonLimits lenient = {.is_lenient = true};

static void check_es(const char *input, const char *expected) {
        Arena arena = ARENA_NULL;
        Buf out = BUF_NULL;
        Json *json = NULL;

        assert_int_equal(json_parse(&arena, input, strlen(input), &lenient, &json, NULL), 0);
        assert_int_equal(json_write_es(&out, json), 0);
        assert_string_equal(buf_cstr(&out), expected);
        buf_deinit(&out);
        arena_deinit(&arena);
}

static void test_numbers(_unused_ void **state) {
        check_es("[1.50,1e3,-0,0.0,1E21,1e-7,123456789012345678901,0.1,1e400,-1.0]",
                 "[1.5,1000,0,0,1e+21,1e-7,123456789012345680000,0.1,null,-1]");
}

static void test_strings(_unused_ void **state) {
        check_es("\"\\u00e9 \\/ \\u2028 \\u0001\\t\\n \\u007f\"",
                 "\"\xc3\xa9 / \xe2\x80\xa8 \\u0001\\t\\n \x7f\"");
        check_es("\"a\\ud800b\\udfffc\"", "\"a\\ud800b\\udfffc\"");
        check_es("\"\\ud83d\\ude00\\ud83d\"", "\"\xf0\x9f\x98\x80\\ud83d\"");
}

static void test_keys(_unused_ void **state) {
        check_es("{\"b\":1,\"10\":2,\"2\":3,\"01\":4,\"4294967295\":5,\"a\":6}",
                 "{\"2\":3,\"10\":2,\"b\":1,\"01\":4,\"4294967295\":5,\"a\":6}");
}

static void test_repeated(_unused_ void **state) {
        check_es("{\"a\":1,\"b\":2,\"a\":3}", "{\"a\":3,\"b\":2}");
        check_es("{\"a\":1,\"a\":2,\"a\":[4],\"b\":5,\"b\":\"x\"}", "{\"a\":[4],\"b\":\"x\"}");
        check_es("{\"a\":{\"x\":1,\"x\":2},\"a\":{\"y\":1,\"z\":0,\"y\":{\"q\":1,\"q\":2}},\"b\":1,\"b\":2}",
                 "{\"a\":{\"y\":{\"q\":2},\"z\":0},\"b\":2}");
        check_es(
                "{\"k0\":0,\"k1\":0,\"k2\":0,\"k3\":0,\"k4\":0,\"k5\":0,\"k6\":0,\"k7\":0,\"k8\":0,\"k9\":0,"
                "\"l0\":0,\"l1\":0,\"l2\":0,\"l3\":0,\"l4\":0,\"l5\":0,\"l6\":0,\"k3\":7,\"l6\":8}",
                "{\"k0\":0,\"k1\":0,\"k2\":0,\"k3\":7,\"k4\":0,\"k5\":0,\"k6\":0,\"k7\":0,\"k8\":0,\"k9\":0,"
                "\"l0\":0,\"l1\":0,\"l2\":0,\"l3\":0,\"l4\":0,\"l5\":0,\"l6\":8}");
}

static void test_strict_stays(_unused_ void **state) {
        Arena arena = ARENA_NULL;
        Json *json = NULL;

        assert_int_equal(json_parse(&arena, "{\"a\":1,\"a\":2}", 13, NULL, &json, NULL), JSON_E_DUPLICATE);
        assert_int_equal(json_parse(&arena, "\"\\ud800\"", 8, NULL, &json, NULL), JSON_E_UTF8);
        arena_deinit(&arena);
}

/* The check value of the contract: the hash is made over this form. */
static void test_event_hash(_unused_ void **state) {
        const char line[] =
                "{\"schema_version\":1,\"ts_wallclock\":\"2026-01-02T03:04:05.006Z\",\"run_id\":\"run_1\","
                "\"session_ref\":\"local_run_1\",\"actor\":\"agent_w\",\"visibility\":\"team\",\"type\":"
                "\"provider.raw\","
                "\"payload\":{\"stream\":\"stdout\",\"chunk\":\"h\xc3\xa9 \\\"q\\\" \\\\ / \xe2\x80\xa8 "
                "\\u0001\\t\\n\"},"
                "\"event_id\":\"evt_1\",\"correlation_id\":\"local_run_1\",\"causation_id\":null,"
                "\"ts_monotonic_ms\":12,\"prev_event_hash\":null}";
        char hex[SHA256_HEX_MAX];
        Arena arena = ARENA_NULL;
        Buf out = BUF_NULL;
        Json *json = NULL;

        assert_int_equal(json_parse(&arena, line, strlen(line), &lenient, &json, NULL), 0);
        assert_int_equal(json_write_es(&out, json), 0);
        assert_string_equal(buf_cstr(&out), line);
        assert_int_equal(sha256_hex(buf_str(&out), hex), 0);
        assert_string_equal(hex, "c9cbea9aa935da8b983d468413659b3ecb5ed725acd19b99eacf0386621bf9f5");
        buf_deinit(&out);
        arena_deinit(&arena);
}

static void test_order(_unused_ void **state) {
        static const char *const sorted[] = {"",      "_a",           "-b",      "1",   "10",
                                             "2",     "Alice",        "alice b", "bob", "Bob",
                                             "carol", "\xc3\xa9mile", "emma",    "zed"};

        for (size_t i = 1; i < ARRAY_SIZE(sorted); i++) {
                assert_true(text_compare(str_from(sorted[i - 1]), str_from(sorted[i])) < 0);
                assert_true(text_compare(str_from(sorted[i]), str_from(sorted[i - 1])) > 0);
        }
        assert_int_equal(text_compare(STR("x"), STR("x")), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_numbers),      cmocka_unit_test(test_strings),
                cmocka_unit_test(test_keys),         cmocka_unit_test(test_repeated),
                cmocka_unit_test(test_strict_stays), cmocka_unit_test(test_event_hash),
                cmocka_unit_test(test_order),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
