/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/test-cmocka.h"
#include "base/macro.h"
#include "company/job/prompt.h"

static Json *parsed(Arena *arena, const char *text, size_t n) {
        Json *json = NULL;

        assert_int_equal(json_parse(arena, text, n, NULL, &json, NULL), 0);
        return json;
}

static const char job_text[] =
        "{\"job_id\":\"job_1\",\"worker_kind\":\"codex\",\"workspace_dir\":\"/w\",\"project_id\":\"p\","
        "\"goal\":\"Do the\\u0000 thing\",\"constraints\":[\"stay small\",\"be "
        "quick\"],\"deliverables\":[\"a patch\"],"
        "\"permission_level\":\"patch\",\"context_refs\":[{\"kind\":\"note\",\"value\":\"n1\","
        "\"description\":\"why\"},"
        "{\"kind\":\"file\",\"value\":\"a.c\"}]}";
static const char beat_text[] =
        "{\"job_id\":\"job_h\",\"job_kind\":\"heartbeat\",\"goal\":\"Look\",\"constraints\":[],"
        "\"deliverables\":[],\"permission_level\":\"read-only\",\"context_refs\":[]}";

/* Each one stands behind the one before. */
static void in_order(Buf *text, const char *const *words) {
        const char *at = buf_cstr(text);

        for (; *words; words++) {
                const char *found = strstr(at, *words);

                if (!found)
                        fail_msg("missing behind %.40s: %s", at, *words);
                at = found + strlen(*words);
        }
        assert_int_equal(strlen(buf_cstr(text)), text->n); /* no NUL comes through */
}

static void test_first(_unused_ void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        static const char *const words[] = {
                "JSON",
                "ResultSpec",
                "\n\njob_id: job_1\nattempt_run_id: ",
                "\ngoal: Do the thing\npermission_level: patch\n\nconstraints:\n- stay small\n- be "
                "quick\n\ndeliverables:\n- a patch\n\ncontext_refs:\n- [note] n1 (why)\n- [file] "
                "a.c\n\nResultSpec",
                "\n{\n  \"schema_version\": 1,\n  \"type\": \"result\",",
                "\"files_changed\": [",
                "\"errors\": [",
                NULL};

        assert_int_equal(prompt_write(&out, parsed(&arena, job_text, strlen(job_text)), NULL), 0);
        in_order(&out, words);
        assert_null(strstr(buf_cstr(&out), "validation_errors"));
}

static void test_repair(_unused_ void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf out = BUF_NULL, last = BUF_NULL;
        PromptRepair repair = {.attempt = 2, .errors = STR("result_unparseable: no JSON")};
        static const char *const words[] = {"Repair",
                                            "job_id: job_1",
                                            "validation_errors:\nresult_unparseable: no JSON\n",
                                            "previous_output:\n\xc3\xa9\xc3\xa9",
                                            "ResultSpec",
                                            NULL};

        for (int i = 0; i < 9000; i++)
                assert_int_equal(buf_append_str(&last, STR("\xc3\xa9")), 0);
        repair.output = buf_str(&last);
        assert_int_equal(prompt_write(&out, parsed(&arena, job_text, strlen(job_text)), &repair), 0);
        in_order(&out, words);
        assert_true(out.n < 2 * PROMPT_OUTPUT_MAX + 4000 && out.n > 2 * PROMPT_OUTPUT_MAX);
        out.n = 0;
        repair.attempt = 3;
        assert_int_equal(prompt_write(&out, parsed(&arena, job_text, strlen(job_text)), &repair), 0);
        assert_non_null(strstr(buf_cstr(&out), "anew"));
}

static void test_heartbeat(_unused_ void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        static const char *const words[] = {"HeartbeatWorkerReport",
                                            "job_id: job_h",
                                            "goal: Look\n\nconstraints:\n",
                                            "context_refs:",
                                            "HEARTBEAT_OK",
                                            "idempotency_key",
                                            NULL};

        assert_int_equal(prompt_write(&out, parsed(&arena, beat_text, strlen(beat_text)), NULL), 0);
        in_order(&out, words);
        assert_null(strstr(buf_cstr(&out), "permission_level:"));
        assert_null(strstr(buf_cstr(&out), "\ndeliverables:"));
}

static void test_schema(_unused_ void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        Json *schema, *properties;
        static const char begins[] =
                "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"schema_version\",";

        assert_int_equal(prompt_schema(&out, parsed(&arena, job_text, strlen(job_text)), STR("run_9")), 0);
        assert_true(str_starts(buf_str(&out), str_from(begins)));
        schema = parsed(&arena, out.data, out.n);
        properties = json_get(schema, "properties");
        assert_int_equal(json_count(json_get(schema, "required")), 11);
        assert_int_equal(json_count(properties), 11);
        assert_true(str_is(json_text_of(json_get(properties, "job_id"), "const"), "job_1"));
        assert_true(str_is(json_text_of(json_get(properties, "attempt_run_id"), "const"), "run_9"));
        assert_true(str_is(json_text_of(json_get(properties, "type"), "const"), "result"));
        assert_int_equal(json_count(json_get(json_get(properties, "status"), "enum")), 5);
        assert_int_equal(json_count(json_get(json_get(json_get(properties, "errors"), "items"), "required")),
                         2);
}

static void test_heartbeat_schema(_unused_ void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        Json *forms, *items;

        assert_int_equal(prompt_schema(&out, parsed(&arena, beat_text, strlen(beat_text)), STR("run_9")), 0);
        forms = json_get(parsed(&arena, out.data, out.n), "oneOf");
        assert_int_equal(json_count(forms), 2);
        items = json_get(json_get(json_get(json_first(forms)->next, "properties"), "actions"), "items");
        assert_true(json_truth_of(items, "additionalProperties"));
        assert_int_equal(json_count(json_get(items, "required")), 4);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_first),
                cmocka_unit_test(test_repair),
                cmocka_unit_test(test_heartbeat),
                cmocka_unit_test(test_schema),
                cmocka_unit_test(test_heartbeat_schema),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
