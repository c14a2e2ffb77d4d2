/* SPDX-License-Identifier: MIT */
/* Shapes against trees, arguments with issues, and documents with front matter. */
#include "base/test-cmocka.h"
#include "base/macro.h"
#include "core/document.h"
#include "core/op.h"
#include "gen/shapes.h"

static Arena arena;

static Json *parsed(const char *text) {
        Json *json = NULL;

        assert_int_equal(json_parse(&arena, text, strlen(text), NULL, &json, NULL), 0);
        return json;
}

static void check_issues(const Issues *issues, const char *expected) {
        Buf out = BUF_NULL;
        JsonWriter w = JSON_WRITER(&out);

        issues_write(issues, &w);
        assert_string_equal(buf_cstr(&out), expected);
        buf_deinit(&out);
}

static void check_shape(const Shape *shape, const char *text, const char *expected) {
        Issues issues = ISSUES(&arena);
        bool fits;

        fits = shape_check(shape, parsed(text), NULL, &issues);
        assert_int_equal(fits, issues.n == 0);
        check_issues(&issues, expected);
        assert_int_equal(shape_fits(shape, parsed(text)), issues.n == 0);
}

static void test_budget(_unused_ void **state) {
        check_shape(&shape_budget, "{}", "[]");
        check_shape(&shape_budget, "{\"soft_cost_usd\":0.5,\"hard_tokens\":7.0}", "[]");
        check_shape(&shape_budget, "[]",
                    "[{\"code\":\"invalid_type\",\"path\":[],\"message\":\"must be an object\"}]");
        check_shape(
                &shape_budget, "{\"soft_cost_usd\":-1,\"hard_tokens\":1.5,\"x\":1}",
                "[{\"code\":\"too_small\",\"path\":[\"soft_cost_usd\"],\"message\":\"must be at least 0\"},"
                "{\"code\":\"invalid_type\",\"path\":[\"hard_tokens\"],\"message\":\"must be an integer\"},"
                "{\"code\":\"unrecognized_keys\",\"path\":[],\"message\":\"has an unknown member: x\"}]");
}

static void test_nested(_unused_ void **state) {
        check_shape(&shape_share_pack,
                    "{\"schema_version\":1,\"type\":\"share_pack\",\"id\":\"s\",\"created_at\":\"x\","
                    "\"project_id\":\"p\","
                    "\"created_by\":\"\",\"visibility\":\"all\",\"included_artifacts\":[{\"artifact_id\":"
                    "\"a\",\"type\":\"t\","
                    "\"visibility\":\"org\",\"source_relpath\":\"s\"}]}",
                    "[{\"code\":\"invalid_string\",\"path\":[\"created_at\"],\"message\":\"must be an ISO "
                    "date and time\"},"
                    "{\"code\":\"too_small\",\"path\":[\"created_by\"],\"message\":\"must not be empty\"},"
                    "{\"code\":\"invalid_enum_value\",\"path\":[\"visibility\"],\"message\":\"is not one of "
                    "the allowed values\"},"
                    "{\"code\":\"invalid_type\",\"path\":[\"included_artifacts\",0,\"bundle_relpath\"],"
                    "\"message\":\"is required\"}]");
}

static void test_variants(_unused_ void **state) {
        check_shape(&shape_run_spec, "{\"kind\":\"command\",\"argv\":[\"a\",\"\"],\"more\":1}", "[]");
        check_shape(&shape_run_spec, "{\"kind\":\"command\",\"argv\":[1]}",
                    "[{\"code\":\"invalid_type\",\"path\":[\"argv\",0],\"message\":\"must be a string\"}]");
        check_shape(&shape_run_spec, "{\"kind\":\"other\"}",
                    "[{\"code\":\"invalid_enum_value\",\"path\":[\"kind\"],\"message\":\"is not one of the "
                    "allowed "
                    "values\"}]");
}

static void test_ordered(_unused_ void **state) {
        Json *json = parsed("{\"zzz\":1,\"schedule\":{\"depends_on_task_ids\":[],\"planned_start\":\"a\"},"
                            "\"id\":\"t\"}");
        Buf out = BUF_NULL;

        assert_int_equal(json_write(&out, shape_ordered(&arena, &shape_task, json)), 0);
        assert_string_equal(buf_cstr(&out), "{\"id\":\"t\",\"schedule\":{\"planned_start\":\"a\","
                                            "\"depends_on_task_ids\":[]},\"zzz\":1}");
        buf_deinit(&out);
}

typedef struct TwoArgs {
        int64_t limit;
        StrList types;
        const Json *budget;
        Str name;
} TwoArgs;

static const OpField two_fields[] = {
        {.name = "limit", .type = OP_INT, .offset = offsetof(TwoArgs, limit), .min = 1, .max = 9},
        {.name = "types", .type = OP_STRINGS, .flags = OP_FIELD_FILLED, .offset = offsetof(TwoArgs, types)},
        {.name = "budget", .type = OP_OBJECT, .offset = offsetof(TwoArgs, budget), .shape = &shape_budget},
        {.name = "name",
         .type = OP_STRING,
         .flags = OP_FIELD_REQUIRED | OP_FIELD_NON_EMPTY,
         .offset = offsetof(TwoArgs, name)},
};
static const Op two = {.name = "two",
                       .fields = two_fields,
                       .n_fields = 4,
                       .args_size = sizeof(TwoArgs),
                       .flags = OP_PARAMS};

static void test_arguments(_unused_ void **state) {
        TwoArgs args;
        OpFault fault;

        assert_int_equal(op_decode(&two, OP_ISSUES, parsed("{\"name\":\"x\",\"limit\":2.0,\"more\":1}"),
                                   &arena, &args, &fault),
                         0);
        assert_int_equal(args.limit, 2);
        assert_int_equal(
                op_decode(&two, OP_ISSUES,
                          parsed("{\"name\":\"\",\"limit\":10,\"types\":[\"a\",\"\"],\"budget\":{\"x\":1}}"),
                          &arena, &args, &fault),
                OP_E_FIELD);
        assert_null(fault.field);
        check_issues(&fault.issues,
                     "[{\"code\":\"too_big\",\"path\":[\"limit\"],\"message\":\"is out of range\"},"
                     "{\"code\":\"too_small\",\"path\":[\"types\",1],\"message\":\"must not hold an empty "
                     "string\"},"
                     "{\"code\":\"unrecognized_keys\",\"path\":[\"budget\"],\"message\":\"has an unknown "
                     "member: x\"},"
                     "{\"code\":\"too_small\",\"path\":[\"name\"],\"message\":\"must not be empty\"}]");
        assert_int_equal(
                op_decode(&two, OP_ISSUES, parsed("{\"name\":\"x\",\"limit\":1.5}"), &arena, &args, &fault),
                OP_E_FIELD);
        check_issues(
                &fault.issues,
                "[{\"code\":\"invalid_type\",\"path\":[\"limit\"],\"message\":\"must be an integer\"}]");
        assert_int_equal(op_decode(&two, OP_ISSUES, NULL, &arena, &args, &fault), OP_E_FIELD);
        check_issues(&fault.issues,
                     "[{\"code\":\"invalid_type\",\"path\":[],\"message\":\"is required\"},"
                     "{\"code\":\"invalid_type\",\"path\":[\"name\"],\"message\":\"is required\"}]");
        assert_string_equal(issues_text(&fault.issues).data, "is required");
}

static void test_matter(_unused_ void **state) {
        const char text[] = "---\r\ntitle: a\nm: 1\n---\n# Body\n---\nmore";
        char what[DOCUMENT_WHAT_MAX];
        Json *json = NULL;
        Buf out = BUF_NULL;
        Str body;

        assert_int_equal(document_parse(&arena, str_from(text), DOCUMENT_MATTER, &json, &body, what), 0);
        assert_string_equal(json_text_of(json, "title").data, "a");
        assert_true(str_is(body, "# Body\n---\nmore"));
        assert_int_equal(document_text(json, DOCUMENT_MATTER, body, &out), 0);
        assert_string_equal(buf_cstr(&out), "---\ntitle: a\nm: 1\n---\n# Body\n---\nmore");
        assert_int_equal(document_parse(&arena, STR("# no\n---\n"), DOCUMENT_MATTER, &json, &body, what),
                         DOCUMENT_E_BROKEN);
        assert_string_equal(what, "it has no front matter");
        assert_int_equal(document_parse(&arena, STR("---\na: 1\n"), DOCUMENT_MATTER, &json, &body, what),
                         DOCUMENT_E_BROKEN);
        assert_int_equal(
                document_parse(&arena, STR("---\na: 1\na: 2\n---\n"), DOCUMENT_MATTER, &json, &body, what),
                DOCUMENT_E_BROKEN);
        buf_deinit(&out);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_budget),    cmocka_unit_test(test_nested),
                cmocka_unit_test(test_variants),  cmocka_unit_test(test_ordered),
                cmocka_unit_test(test_arguments), cmocka_unit_test(test_matter),
        };
        int r = cmocka_run_group_tests(tests, NULL, NULL);

        arena_deinit(&arena);
        return r;
}
