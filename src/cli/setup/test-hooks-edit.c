/* SPDX-License-Identifier: MIT */
#include "cli/setup/hooks-edit.h"

#include <string.h>

#include "base/json/json.h"
#include "base/macro.h"
#include "base/test-cmocka.h"

static const HookConfig config = {.runtime = "claude", .program = "/x y/muster-hook", .socket = "/s/it's"};

#define OURS(event)                                                                                         \
        "{\"hooks\":[{\"type\":\"command\",\"command\":\"'/x/muster-hook' '/s' 'claude' '" event "'\"}]}"

static void there_and_back(const char *before) {
        _cleanup_(buf_deinit) Buf with = BUF_NULL, again = BUF_NULL, after = BUF_NULL;
        char what[SETUP_WHAT_MAX] = "";
        int r = hooks_add(&config, before ? str_from(before) : STR_NULL, &with, what);

        assert_string_equal(what, "");
        assert_int_equal(r, 0);
        assert_non_null(memmem(with.data, with.n, "muster-hook", 11));
        r = hooks_add(&config, buf_str(&with), &again, what);
        if (r != SETUP_E_SAME)
                fail_msg("%s becomes %s, then %s", before, buf_cstr(&with), buf_cstr(&again));
        r = hooks_remove("claude", buf_str(&with), &after, what);
        if (!before || !strcmp(before, "{}\n"))
                assert_int_equal(r, SETUP_E_GONE);
        else
                assert_int_equal(r, 0);
        assert_string_equal(buf_cstr(&after), before ? before : "{}\n");
}

static void test_there_and_back(_unused_ void **state) {
        static const char *const texts[] = {
                NULL,
                "{}",
                "{}\n",
                "{\n}\n",
                " { } ",
                "{\"a\":1}",
                "{\r\n\t\"a\": [1, 2],\r\n\t\"b\": \"{\"\r\n}\r\n",
                "// mine\n{ /* a */\n  \"a\": 1, // b\n}\n",
                "{\"hooks\":{}}",
                "{\"a\":1,\"hooks\":{ }}",
                "{\"hooks\": {\"Stop\": []}, \"z\": 1}",
                ("{\"hooks\": {\"Stop\": [ {\"hooks\": [{\"type\": \"command\", \"command\": \"x\"}]} ], "
                 "\"PreToolUse\": [/* none */]}}"),
                ("{\n  \"hooks\": {\n    \"Stop\": [\n      // ours\n      {\"hooks\": []},\n    ],\n  },\n "
                 " "
                 "\"z\": \"// no comment\",\n}\n"),
        };

        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                there_and_back(texts[i]);
}

/* Somebody has moved, added or written anew what stands around ours: only ours goes, and it stays JSON. */
static void test_edited(_unused_ void **state) {
        static const struct {
                const char *with, *without;
        } rows[] = {
                {"{\"hooks\":{\"Stop\":[{\"hooks\":[]}," OURS("Stop") "]}}",
                 "{\"hooks\":{\"Stop\":[{\"hooks\":[]}]}}"},
                {"{\"hooks\":{\"Stop\":[" OURS("Stop") "," OURS("Stop") ",7]}}",
                 "{\"hooks\":{\"Stop\":[7]}}"},
                {"{\"hooks\":{\"Stop\":[7 , " OURS("Stop") " , " OURS("Stop") "]}}",
                 "{\"hooks\":{\"Stop\":[7  ]}}"},
                {"{\"hooks\":{\"X\":[1], \"Stop\":[" OURS("Stop") "], \"SessionEnd\":[" OURS(
                         "SessionEnd") "] }}",
                 "{\"hooks\":{\"X\":[1] }}"},
                {"{\"hooks\":{\"Stop\":[" OURS("Stop") "],\"X\":[1]}}", "{\"hooks\":{\"X\":[1]}}"},
                {"{\"hooks\":{\"Stop\":[" OURS("Stop") "]},\"a\":1}", "{\"a\":1}"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
                _cleanup_(buf_deinit) Buf out = BUF_NULL;
                char what[SETUP_WHAT_MAX] = "";
                Json *json = NULL;

                assert_int_equal(hooks_remove("claude", str_from(rows[i].with), &out, what), 0);
                assert_string_equal(buf_cstr(&out), rows[i].without);
                assert_int_equal(json_parse(&arena, out.data, out.n, NULL, &json, NULL), 0);
        }
}

static void test_left_alone(_unused_ void **state) {
        static const char *const texts[] = {"",
                                            "{",
                                            "[]",
                                            "{\"hooks\":7}",
                                            "{\"hooks\":{\"Stop\":{}}}",
                                            "{\"a\":1,\"a\":2}",
                                            "x",
                                            "{}}",
                                            "{\"a\":\"//\n\"}",
                                            "/* {}"};

        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                _cleanup_(buf_deinit) Buf out = BUF_NULL;
                char what[SETUP_WHAT_MAX] = "";

                assert_int_equal(hooks_add(&config, str_from(texts[i]), &out, what), SETUP_E_BROKEN);
                assert_true(*what);
        }
}

/* Hooks of another program, and those that only look like ours, are not ours. */
static void test_not_ours(_unused_ void **state) {
        static const char text[] =
                "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"'/x/muster-hook' "
                "'/s' 'codex' 'Stop'\"}]},"
                "{\"hooks\":[{\"type\":\"command\",\"command\":\"muster-hook-of-mine\"}]}]}}";
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        char what[SETUP_WHAT_MAX] = "";

        assert_int_equal(hooks_remove("claude", str_from(text), &out, what), SETUP_E_SAME);
        assert_int_equal(hooks_remove("claude", STR_NULL, &out, what), SETUP_E_SAME);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_there_and_back),
                cmocka_unit_test(test_edited),
                cmocka_unit_test(test_left_alone),
                cmocka_unit_test(test_not_ours),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
