/* SPDX-License-Identifier: MIT */
/* Rules without a daemon: what is read, what fits, what is filled in. */
#include <stdio.h>

#include "base/test-cmocka.h"
#include "base/macro.h"
#include "tasks/rules/rule.h"

typedef struct Fixture {
        Arena arena;
        RuleSet *set;
} Fixture;

static Json *parse(Fixture *f, const char *text) {
        Json *json = NULL;

        if (json_parse(&f->arena, text, strlen(text), NULL, &json, NULL))
                fail_msg("not JSON: %s", text);
        return json;
}

static int setup(void **state) {
        static Fixture f;

        f = (Fixture){0};
        *state = &f;
        return 0;
}

static int teardown(void **state) {
        Fixture *f = *state;

        f->set = rule_set_unref(f->set);
        arena_deinit(&f->arena);
        return 0;
}

static RuleSet *load(Fixture *f, const char *text) {
        f->set = rule_set_unref(f->set);
        assert_int_equal(rule_set_new(&f->set, parse(f, text)), 0);
        return f->set;
}

static const char event_text[] =
        "{\"source\":\"watch\",\"type\":\"file.create\",\"payload\":{\"path\":\"src/a.ts\",\"n\":3,"
        "\"big\":10000000000000001,\"list\":[\"x\",{\"y\":true}],\"null\":null,\"flag\":false}}";

static bool fits_rule(Fixture *f, const char *rule) {
        char text[1024];
        const char *error = NULL;
        int n = snprintf(text, sizeof(text),
                         "{\"rules\":[{\"id\":\"r\",\"action\":{\"type\":\"notify\"},%s}]}", rule);

        assert_true(n < (int)sizeof(text));
        load(f, text);
        assert_int_equal(f->set->n_rules, 1);
        return rule_fits(&f->set->rules[0], parse(f, event_text), &error);
}

static bool holds(Fixture *f, const char *condition) {
        char text[512];

        snprintf(text, sizeof(text), "\"trigger\":{},\"conditions\":[%s]", condition);
        return fits_rule(f, text);
}

static void test_triggers(void **state) {
        assert_true(fits_rule(*state, "\"trigger\":{}"));
        assert_true(fits_rule(*state, "\"trigger\":{\"type\":\"file.create\",\"source\":\"watch\","
                                      "\"pattern\":\"^file.*watch$\"}"));
        assert_false(fits_rule(*state, "\"trigger\":{\"type\":\"file.create\",\"source\":\"cron\"}"));
        assert_false(fits_rule(*state, "\"trigger\":{\"type\":\"file\"}"));
        assert_false(fits_rule(*state, "\"trigger\":{\"type\":\"\"}"));
        assert_true(fits_rule(*state, "\"trigger\":{\"type\":\"file_change\"}"));
        assert_true(fits_rule(*state, "\"trigger\":{\"type\":\"file_change\",\"pattern\":\"*.ts\"}"));
        assert_true(fits_rule(*state, "\"trigger\":{\"type\":\"file_change\",\"glob\":\"src/*\"}"));
        assert_false(fits_rule(*state,
                               "\"trigger\":{\"type\":\"file_change\",\"paths\":[\"*.js\",\"test/**\"]}"));
        assert_false(fits_rule(*state, "\"trigger\":{\"type\":\"schedule\"}"));
        assert_true(fits_rule(*state, "\"trigger\":{\"type\":\"event\",\"event\":\"file.create\"}"));
}

static void test_conditions(void **state) {
        static const char *const yes[] = {
                "{\"field\":\"payload.n\",\"operator\":\"eq\",\"value\":3.0}",
                "{\"field\":\"payload.n\",\"operator\":\"gt\",\"value\":2}",
                "{\"field\":\"payload.n\",\"operator\":\"lte\",\"value\":3}",
                "{\"field\":\"payload.list.1.y\",\"operator\":\"equals\",\"value\":true}",
                "{\"field\":\"payload.null\",\"operator\":\"eq\",\"value\":null}",
                "{\"field\":\"payload.null\",\"operator\":\"not_exists\"}",
                "{\"field\":\"payload.flag\",\"operator\":\"exists\"}",
                "{\"field\":\"payload.list\",\"operator\":\"neq\",\"value\":[\"x\"]}",
                "{\"field\":\"payload.path\",\"operator\":\"contains\",\"value\":\"\"}",
                "{\"field\":\"payload.path\",\"operator\":\"matches\",\"value\":\"\\\\.ts$\"}",
        };
        static const char *const no[] = {
                "{\"field\":\"payload.n\",\"operator\":\"eq\",\"value\":\"3\"}",
                "{\"field\":\"payload.n\",\"operator\":\"contains\",\"value\":\"3\"}",
                "{\"field\":\"payload.path\",\"operator\":\"lt\",\"value\":9}",
                "{\"field\":\"payload.n\",\"operator\":\"gt\",\"value\":\"2\"}",
                "{\"field\":\"payload.none\",\"operator\":\"eq\",\"value\":null}",
                "{\"field\":\"payload.list.2\",\"operator\":\"exists\"}",
                "{\"field\":\"payload.list\",\"operator\":\"eq\",\"value\":[\"x\",{\"y\":true}]}",
                "{\"field\":\"payload..n\",\"operator\":\"exists\"}",
                "{\"field\":\"payload.n\",\"operator\":\"between\",\"value\":1}",
                "{\"operator\":\"not_exists\"}",
                "7",
        };

        for (size_t i = 0; i < ARRAY_SIZE(yes); i++)
                if (!holds(*state, yes[i]))
                        fail_msg("does not hold: %s", yes[i]);
        for (size_t i = 0; i < ARRAY_SIZE(no); i++)
                if (holds(*state, no[i]))
                        fail_msg("holds: %s", no[i]);
}

static void expect_expansion(Fixture *f, const char *template, const char *want) {
        _cleanup_(buf_deinit) Buf out = BUF_NULL;

        assert_int_equal(rule_expand(&out, str_from(template), parse(f, event_text)), 0);
        assert_string_equal(out.n ? buf_cstr(&out) : "", want);
}

static void test_templates(void **state) {
        expect_expansion(*state, "", "");
        expect_expansion(*state, "plain { text }", "plain { text }");
        expect_expansion(*state, "{{type}}", "file.create");
        expect_expansion(*state, "{{{type}}}", "{file.create}");
        expect_expansion(*state, "{{payload.n}}{{payload.big}}", "310000000000000001");
        expect_expansion(*state, "{{payload.none}} {{payload.null}} {{payload.flag}}",
                         "{{payload.none}} null false");
        expect_expansion(*state, "{{payload.list}}", "[\"x\",{\"y\":true}]");
        expect_expansion(*state, "{{payload.list.0}}", "x");
        expect_expansion(*state, "{{", "{{");
        expect_expansion(*state, "{{}}", "{{}}");
        expect_expansion(*state, "{{type}", "{{type}");
        expect_expansion(*state, "{{ty-pe}}{{type", "{{ty-pe}}{{type");
        expect_expansion(*state, "{{type}}{{type}}", "file.createfile.create");
}

static bool glob_fits(const char *glob, const char *path) {
        char why[REGEX_WHY_MAX];
        Str globs[] = {str_from(glob)};
        Regex *regex = NULL;
        bool fits;

        assert_int_equal(rule_glob_new(&regex, globs, 1, why), 0);
        fits = regex_search(regex, str_from(path)) == 0;
        regex_free(regex);
        return fits;
}

static void test_globs(_unused_ void **state) {
        assert_true(glob_fits("src/*.ts", "src/a.ts"));
        assert_false(glob_fits("src/*.ts", "src/b/a.ts"));
        assert_true(glob_fits("src/**/*.ts", "src/a.ts"));
        assert_true(glob_fits("src/**/*.ts", "src/b/c/a.ts"));
        assert_true(glob_fits("src/**", "src/b/c/a.ts"));
        assert_true(glob_fits("*.ts", "src/b/a.ts"));
        assert_false(glob_fits("*.ts", "src/b/a.tsx"));
        assert_true(glob_fits("./src/?.c", "src/a.c"));
        assert_false(glob_fits("src/?.c", "src/ab.c"));
        assert_true(glob_fits("a+(b).[c]", "x/a+(b).[c]"));
        assert_true(glob_fits("src/*\n*", "src/a\nb"));
}

static void test_ignoring(void **state) {
        const RuleWatch *watch;

        load(*state, "{\"watch\":{\"enabled\":true,\"paths\":[{\"path\":\".aiwg/"
                     "\",\"ignore\":[\"*.tmp\",\"daemon/**\",\"secret\"],"
                     "\"extensions\":[\".md\"],\"events\":[\"modify\"]}]}}");
        watch = &((Fixture *)*state)->set->watches[0];
        assert_true(rule_watch_ignores(watch, STR("a.tmp"), false));
        assert_true(rule_watch_ignores(watch, STR("a.tmp.md"), false));
        assert_true(rule_watch_ignores(watch, STR("daemon"), true));
        assert_true(rule_watch_ignores(watch, STR("working/x"), false));
        assert_true(rule_watch_ignores(watch, STR("x/node_modules/y"), false));
        assert_true(rule_watch_ignores(watch, STR("my-secrets.md"), false));
        assert_false(rule_watch_ignores(watch, STR("daemon"), false));
        assert_false(rule_watch_ignores(watch, STR("notes.md"), false));
        assert_true(rule_watch_wants(watch, RULE_WATCH_MODIFY, STR("notes.md")));
        assert_false(rule_watch_wants(watch, RULE_WATCH_CREATE, STR("notes.md")));
        assert_false(rule_watch_wants(watch, RULE_WATCH_MODIFY, STR("notes.txt")));
        assert_true(rule_ignore_fits(STR("a*b*c"), STR("xxaxxbxxcxx")));
        assert_false(rule_ignore_fits(STR("a*b*c"), STR("acb")));
        assert_true(rule_ignore_fits(STR("*"), STR("")));
}

/* Nothing that JSON can say makes reading fail, and every broken thing is named. */
static void test_odd_documents(void **state) {
        static const char odd_rule[] =
                "{\"rules\":[{\"id\":\"a\",\"trigger\":{\"type\":7,\"source\":{},\"pattern\":[]},\"action\":"
                "{\"type\":7,\"priority\":\"x\"},"
                "\"cooldownMs\":-1,\"enabled\":7,\"conditions\":7,\"condition\":7}]}";
        static const char odd_rest[] =
                "{\"schedule\":{\"jobs\":[7,{\"id\":\"x\",\"cron\":7},{\"name\":\"y\",\"cron\":\"* * * * "
                "*\"}]},\"watch\":{\"paths\":[7,{\"path\":7},"
                "{\"path\":\"x\",\"events\":[7],\"ignore\":7,\"extensions\":[7]}],\"debounce_ms\":\"x\"},"
                "\"webhook\":{\"allow_hosts\":7}}";
        const char *const texts[] = {
                "null",
                "[]",
                "7",
                "{}",
                "{\"rules\":{}}",
                "{\"rules\":[null,7,\"x\",[],{}]}",
                "{\"rules\":[{\"id\":7}]}",
                "{\"rules\":[{\"id\":\"a\",\"trigger\":[],\"action\":{}}]}",
                odd_rule,
                odd_rest,
        };

        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                RuleSet *set = load(*state, texts[i]);
                for (size_t j = 0; j < set->n_rules; j++)
                        assert_true(!set->rules[j].is_broken || set->rules[j].fault);
        }
}

static void test_many_rules(void **state) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        RuleSet *set;

        assert_int_equal(buf_append_str(&text, STR("{\"rules\":[")), 0);
        for (int i = 0; i < RULES_MAX + 5; i++)
                assert_int_equal(
                        buf_printf(&text, "%s{\"id\":\"%d\",\"trigger\":{},\"action\":{}}", i ? "," : "", i),
                        0);
        assert_int_equal(buf_append_str(&text, STR("]}")), 0);
        set = load(*state, buf_cstr(&text));
        assert_int_equal(set->n_rules, RULES_MAX);
        assert_true(set->n_errors == 1 && set->n_problems == RULE_PROBLEMS_MAX);
        assert_non_null(rule_set_find(set, STR("999")));
        assert_null(rule_set_find(set, STR("1000")));
}

static void test_broken_rules_never_fit(void **state) {
        Fixture *f = *state;

        assert_false(fits_rule(f, "\"trigger\":{\"pattern\":\"(\"}"));
        assert_true(f->set->rules[0].is_broken && f->set->n_errors == 1);
        assert_false(fits_rule(f, "\"trigger\":{\"type\":\"schedule\",\"cron\":\"x\"}"));
        assert_true(f->set->rules[0].is_broken && f->set->n_jobs == 0);
        assert_false(fits_rule(f, "\"trigger\":{\"type\":\"schedule\",\"cron\":\"0 0 * * *\"}"));
        assert_true(!f->set->rules[0].is_broken && f->set->n_jobs == 1);
}

#define rule_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                rule_test(test_triggers),   rule_test(test_conditions),
                rule_test(test_templates),  rule_test(test_globs),
                rule_test(test_ignoring),   rule_test(test_odd_documents),
                rule_test(test_many_rules), rule_test(test_broken_rules_never_fit),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
