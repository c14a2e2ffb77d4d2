/* SPDX-License-Identifier: MIT */
#include "cli/call/args.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/test-cmocka.h"
#include "base/json/json-writer.h"
#include "base/macro.h"

static const char *const levels[] = {"low", "middle", "high", NULL};

static const OpDocParam params[] = {
        {.name = "text", .type = "string"},  {.name = "level", .type = "string", .words = levels},
        {.name = "count", .type = "int"},    {.name = "ratio", .type = "number"},
        {.name = "force", .type = "bool"},   {.name = "kinds", .type = "strings"},
        {.name = "patch", .type = "object"}, {.name = "items", .type = "array"},
        {.name = "extra", .type = "any"},
};
static const OpDoc doc = {.dialect = "test", .name = "op", .params = params, .n_params = ARRAY_SIZE(params)};

static const char entry[] = "{\"params\":[{\"name\":\"count\",\"schema\":{\"minimum\":1,\"maximum\":1000}},"
                            "{\"name\":\"ratio\",\"schema\":{\"minimum\":0}}]}";

static const OpDocParam required_params[] = {{.name = "group_id", .type = "string", .required = true},
                                             {.name = "n", .type = "int", .required = true},
                                             {.name = "by", .type = "string"}};
static const OpDoc required_doc = {
        .dialect = "test", .name = "needs", .params = required_params, .n_params = 3};
static const OpDoc empty_doc = {.dialect = "test", .name = "none"};

/* Adds the words and gives the object's text, or `! reason`. The result is valid until the next call. */
static const char *run(const OpDoc *op, const char *const *words) {
        static char out[4096];
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Json *method;
        Args args;
        int r;

        assert_int_equal(json_parse(&arena, entry, sizeof(entry) - 1, NULL, &method, NULL), 0);
        assert_int_equal(args_init(&args, &arena, op, method), 0);
        for (r = 0; !r && *words; words++)
                r = args_add(&args, *words);
        if (!r)
                r = args_check(&args);
        assert_in_range(r, 0, VALUE_E_WRONG);
        assert_int_equal(json_write(&text, args.object), 0);
        if (r)
                snprintf(out, sizeof(out), "! %s", args.why);
        else
                snprintf(out, sizeof(out), STR_FMT, STR_ARG(buf_str(&text)));
        return out;
}

#define expect(op, want, ...) assert_string_equal(run(&(op), (const char *const[]){__VA_ARGS__, NULL}), want)
#define expect_wrong(op, part, ...)                                                                         \
        do {                                                                                                \
                const char *_got = run(&(op), (const char *const[]){__VA_ARGS__, NULL});                    \
                assert_int_equal(_got[0], '!');                                                             \
                if (!strstr(_got, part))                                                                    \
                        fail_msg("\"%s\" does not say \"%s\"", _got, part);                                 \
        } while (0)

static void test_strings(void **state) {
        (void)state;
        expect(doc, "{\"text\":\"hello\"}", "text=hello");
        expect(doc, "{\"text\":\"\"}", "text=");
        expect(doc, "{\"text\":\" a=b \\\" \"}", "text= a=b \" ");
        expect(doc, "{\"text\":\"42\"}", "text=42");
        expect(doc, "{\"text\":\"@all\"}", "text=@@all");
        expect(doc, "{\"text\":\"J\xc3\xbcrgen\"}", "text=J\xc3\xbcrgen");
        expect_wrong(doc, "text is not UTF-8", "text=\xff");
        expect_wrong(doc, "text is given twice", "text=a", "text=b");
        expect(doc, "{\"level\":\"high\"}", "level=high");
        expect_wrong(doc, "did you mean middle?", "level=midle");
        expect_wrong(doc, "one of: low, middle, high", "level=xyz");
}

static void test_numbers(void **state) {
        (void)state;
        expect(doc, "{\"count\":7}", "count=7");
        expect(doc, "{\"count\":7}", "count= 7 ");
        expect(doc, "{\"count\":1000}", "count=1e3");
        expect_wrong(doc, "count must be a whole number", "count=7.0");
        expect_wrong(doc, "count must be a whole number", "count=seven");
        expect_wrong(doc, "count must be a whole number", "count=");
        expect_wrong(doc, "count must be a whole number", "count=99999999999999999999");
        expect_wrong(doc, "count must be a whole number", "count=\"7\"");
        expect_wrong(doc, "count must be at least 1", "count=0");
        expect_wrong(doc, "count must be at most 1000", "count=1001");
        expect(doc, "{\"ratio\":0.25}", "ratio=0.25");
        expect(doc, "{\"ratio\":3}", "ratio=3");
        expect_wrong(doc, "ratio must be a number", "ratio=nan");
        expect_wrong(doc, "ratio must be at least 0", "ratio=-0.5");
        expect_wrong(doc, "ratio is too large", "ratio=1e999");
}

static void test_bools(void **state) {
        static const char *const yes[] = {"force=true", "force=YES", "force=on", "force=1"};
        static const char *const no[] = {"force=false", "force=No", "force=off", "force=0"};

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
                expect(doc, "{\"force\":true}", yes[i]);
                expect(doc, "{\"force\":false}", no[i]);
        }
        expect_wrong(doc, "force must be true or false", "force=maybe");
        expect_wrong(doc, "force must be true or false", "force=");
}

static void test_lists(void **state) {
        (void)state;
        expect(doc, "{\"kinds\":[\"a\"]}", "kinds=a");
        expect(doc, "{\"kinds\":[\"a\",\"b,c\",\"\"]}", "kinds=a", "kinds=b,c", "kinds=");
        expect(doc, "{\"kinds\":[\"a\",\"b\"],\"force\":true}", "kinds=a", "force=1", "kinds=b");
        expect(doc, "{\"kinds\":[]}", "kinds:=[]");
        expect(doc, "{\"kinds\":[\"a\",\"b\"]}", "kinds:=[\"a\"]", "kinds=b");
        expect_wrong(doc, "kinds is given twice", "kinds:=5", "kinds=b");
}

static void test_json(void **state) {
        (void)state;
        expect(doc, "{\"patch\":{\"a\":[1,2.50]}}", "patch={\"a\":[1,2.50]}");
        expect_wrong(doc, "patch must be a JSON object", "patch=[]");
        expect_wrong(doc, "patch must be JSON", "patch={");
        expect_wrong(doc, "patch must be JSON", "patch={\"a\":1,\"a\":2}");
        expect(doc, "{\"items\":[1]}", "items=[1]");
        expect_wrong(doc, "items must be a JSON array", "items={}");
        expect(doc, "{\"extra\":null}", "extra=null");
        expect(doc, "{\"extra\":12}", "extra=12");
        expect(doc, "{\"extra\":\"plain words\"}", "extra=plain words");
        expect(doc, "{\"count\":\"as it is\"}", "count:=\"as it is\"");
        expect(doc, "{\"text\":null}", "text:=null");
        expect_wrong(doc, "text must be JSON", "text:=hello");
        expect_wrong(doc, "count is given twice", "count:=1", "count=2");
}

static void test_keys(void **state) {
        (void)state;
        expect_wrong(doc, "there is no parameter cuont (did you mean count?); known: text, level, count",
                     "cuont=1");
        expect_wrong(doc, "known: text", "zzzzzz=1");
        expect_wrong(doc, "not of the form key=value", "text");
        expect_wrong(doc, "not of the form key=value", "=x");
        expect_wrong(doc, "not of the form key=value", ":=x");
        expect_wrong(empty_doc, "takes no parameters", "a=1");
        expect_wrong(required_doc, "missing: group_id (string), n (int)", "by=me");
        expect_wrong(required_doc, "missing: n (int)", "group_id=g");
        expect(required_doc, "{\"n\":1,\"group_id\":\"g\"}", "n=1", "group_id=g");
}

static void test_files(void **state) {
        char path[] = "/tmp/muster-test-args-XXXXXX", word[64];
        int fd = mkstemp(path);

        (void)state;
        assert_true(fd >= 0);
        assert_int_equal(write(fd, "[1,\n2]\n", 7), 7);
        close(fd);
        snprintf(word, sizeof(word), "items=@%s", path);
        expect(doc, "{\"items\":[1,2]}", word);
        snprintf(word, sizeof(word), "text=@%s", path);
        expect(doc, "{\"text\":\"[1,\\n2]\\n\"}", word);
        snprintf(word, sizeof(word), "extra:=@%s", path);
        expect(doc, "{\"extra\":[1,2]}", word);
        unlink(path);
        expect_wrong(doc, "cannot read", word);
        expect_wrong(doc, "with @@", "text=@all");
        expect_wrong(doc, "Is a directory", "text=@/tmp");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_strings), cmocka_unit_test(test_numbers), cmocka_unit_test(test_bools),
                cmocka_unit_test(test_lists),   cmocka_unit_test(test_json),    cmocka_unit_test(test_keys),
                cmocka_unit_test(test_files),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
