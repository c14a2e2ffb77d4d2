/* SPDX-License-Identifier: MIT */
#include "cli/setup/setup-edit.h"

#include <string.h>

#include "base/macro.h"
#include "base/test-cmocka.h"

#define ENTRY "{\"command\":\"/x/muster\",\"args\":[\"mcp\"]}"
#define TABLE "[mcp_servers.muster]\ncommand = \"/x/muster\"\nargs = [\"mcp\"]\n"

static Str text_of(const char *text) {
        return text ? str_from(text) : STR_NULL;
}

typedef int (*Edit)(const SetupEdit *edit, Str text, Buf *out, char what[SETUP_WHAT_MAX]);

static void there_and_back(Edit run, const SetupEdit *add, const char *before) {
        SetupEdit removal = {.key = add->key, .is_removal = true};
        _cleanup_(buf_deinit) Buf with = BUF_NULL, again = BUF_NULL, after = BUF_NULL;
        char what[SETUP_WHAT_MAX] = "";
        int r = run(add, text_of(before), &with, what);

        assert_string_equal(what, "");
        assert_int_equal(r, 0);
        assert_non_null(memmem(with.data, with.n, "/x/muster", 9));
        assert_int_equal(run(add, buf_str(&with), &again, what), SETUP_E_SAME);
        r = run(&removal, buf_str(&with), &after, what);
        if (!before) {
                assert_int_equal(r, SETUP_E_GONE);
                return;
        }
        assert_int_equal(r, 0);
        assert_string_equal(after.n ? buf_cstr(&after) : "", before);
}

static void test_json_there_and_back(_unused_ void **state) {
        static const char *const texts[] = {
                NULL,
                "{}",
                "{}\n",
                "{\n}\n",
                " { } ",
                "{\"a\":1}",
                "{\r\n\t\"a\": [1, 2],\r\n\t\"b\": \"{\"\r\n}\r\n",
                "{\"mcpServers\":{}}",
                "{\"a\":1,\"mcpServers\":{ }}",
                "{\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"}\n  },\n  \"z\": null\n}\n",
                "{\"x\":{\"mcpServers\":{\"muster\":1}}}",
        };
        const SetupEdit edit = {.key = "mcpServers", .entry = STR(ENTRY)};

        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                there_and_back(setup_json, &edit, texts[i]);
}

static void test_toml_there_and_back(_unused_ void **state) {
        static const char *const texts[] = {
                NULL,
                "",
                "\n",
                "a = 1",
                "a = 1\n",
                "# x\n[b]\r\nc = \"[mcp_servers.muster]\"\r\n\n\n",
                "[mcp_servers.other]\ncommand = \"x\"\n",
        };
        const SetupEdit edit = {.entry = STR(TABLE)};

        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                there_and_back(setup_toml, &edit, texts[i]);
}

static void expect(Edit run, const SetupEdit *edit, const char *text, int condition, const char *wanted) {
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        char what[SETUP_WHAT_MAX] = "";

        assert_int_equal(run(edit, text_of(text), &out, what), condition);
        assert_int_equal(condition == SETUP_E_BROKEN, *what != 0);
        if (wanted)
                assert_string_equal(buf_cstr(&out), wanted);
}

static void test_json(_unused_ void **state) {
        const SetupEdit add = {.key = "mcpServers", .entry = STR(ENTRY)},
                        removal = {.key = "mcpServers", .is_removal = true};
        static const char *const broken[] = {
                "",
                "{",
                "[]",
                "17",
                "{\"mcpServers\":[]}",
                "// words\n{}",
                "{\"mcpServers\":{},\"mcpServers\":{}}",
                "{\"mcpServers\":{\"muster\":1,\"muster\":2}}",
        };

        for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
                expect(setup_json, &add, broken[i], SETUP_E_BROKEN, NULL);
                expect(setup_json, &removal, broken[i], SETUP_E_BROKEN, NULL);
        }
        expect(setup_json, &add, "{\"mcpServers\":{\"muster\":{\"command\":\"x\"}}}", SETUP_E_OTHER, NULL);
        expect(setup_json, &removal, "{\"mcpServers\":{\"muster\":{\"command\":\"x\"}}}", SETUP_E_OTHER,
               NULL);
        expect(setup_json, &removal, NULL, SETUP_E_SAME, NULL);
        expect(setup_json, &removal, "{}", SETUP_E_SAME, NULL);
        /* It was moved, or is an older one of ours. */
        expect(setup_json, &add,
               "{\"mcpServers\":{\"muster\":{\"command\":\"/y/muster\",\"args\":[\"mcp\"]}}}", 0,
               "{\"mcpServers\":{\"muster\":" ENTRY "}}");
        /* Somebody has written the file anew. */
        expect(setup_json, &removal, "{\"mcpServers\":{\"a\":1, \"muster\" : " ENTRY " , \"b\":2}}", 0,
               "{\"mcpServers\":{\"a\":1 , \"b\":2}}");
        expect(setup_json, &removal, "{\"mcpServers\":{\"muster\":" ENTRY ", \"b\":2}}", 0,
               "{\"mcpServers\":{ \"b\":2}}");
        expect(setup_json, &removal, "{\"mcpServers\":{ \"muster\":" ENTRY " }}", 0, "{\"mcpServers\":{ }}");
        expect(setup_json, &removal, "{\"mcpServers\":{\"\\u006duster\":" ENTRY "}}", SETUP_E_BROKEN, NULL);
}

static void test_json_of_lists(_unused_ void **state) {
        const SetupEdit add = {.key = "mcp", .entry = STR("{\"command\":[\"/x/muster\",\"mcp\"]}")};

        there_and_back(setup_json, &add, "{\"theme\":\"x\"}");
        expect(setup_json, &add, "{\"mcp\":{\"muster\":{\"command\":[\"/y/muster\",\"mcp\"]}}}", 0,
               "{\"mcp\":{\"muster\":{\"command\":[\"/x/muster\",\"mcp\"]}}}");
        expect(setup_json, &add, "{\"mcp\":{\"muster\":{\"command\":[\"/y/muster\"]}}}", SETUP_E_OTHER,
               NULL);
}

static void test_toml(_unused_ void **state) {
        const SetupEdit add = {.entry = STR(TABLE)}, removal = {.is_removal = true};

        expect(setup_toml, &add, "a =", SETUP_E_BROKEN, NULL);
        expect(setup_toml, &removal, "a =", SETUP_E_BROKEN, NULL);
        expect(setup_toml, &removal, "a = 1\n", SETUP_E_SAME, NULL);
        expect(setup_toml, &removal, NULL, SETUP_E_SAME, NULL);
        expect(setup_toml, &add, TABLE, SETUP_E_OTHER, NULL);
        expect(setup_toml, &removal, TABLE, SETUP_E_OTHER, NULL);
        expect(setup_toml, &add, "mcp_servers = {}\n", SETUP_E_BROKEN, NULL);
        /* The program itself has written something behind it. */
        expect(setup_toml, &removal,
               "a = 1\n# added by muster setup, with the line break before it\n" TABLE
               "# end of what muster setup has added\n[b]\n",
               0, "a = 1\n[b]\n");
        expect(setup_toml, &removal, "# added by muster setup\n" TABLE, SETUP_E_BROKEN, NULL);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_json_there_and_back),
                cmocka_unit_test(test_toml_there_and_back),
                cmocka_unit_test(test_json),
                cmocka_unit_test(test_json_of_lists),
                cmocka_unit_test(test_toml),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
