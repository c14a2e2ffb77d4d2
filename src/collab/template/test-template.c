/* SPDX-License-Identifier: MIT */
#include "collab/template/template.h"

#include <locale.h>

#include "base/test-cmocka.h"
#include "base/macro.h"
#include "base/json/yaml.h"
#include "collab/actor/actor.h"

static char why[TEMPLATE_WHY_MAX];
static Arena arena;
static Template parsed;

static int clean(void **state _unused_) {
        arena_deinit(&arena);
        arena = ARENA_NULL;
        return 0;
}

static void parse(const char *text) {
        why[0] = 0;
        if (template_parse(&parsed, &arena, str_from(text), why))
                fail_msg("refused: %s", why);
}

static void invalid(const char *text, const char *complaint) {
        assert_int_equal(template_parse(&parsed, &arena, str_from(text), why), TEMPLATE_E_INVALID);
        assert_string_equal(why, complaint);
}

static void unfit(const char *text, const char *complaint) {
        parse(text);
        assert_int_equal(template_check(&parsed, why), TEMPLATE_E_INVALID);
        assert_string_equal(why, complaint);
}

static const char *written(void (*write)(JsonWriter *w)) {
        Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        Str copy;

        write(&w);
        assert_false(w.failed);
        copy = arena_str(&arena, buf_str(&text));
        buf_deinit(&text);
        return copy.data;
}

static void has(const char *text, const char *part) {
        if (!text || !strstr(text, part))
                fail_msg("\"%s\" is not in:\n%s", part, text ? text : "");
}

static void write_parsed(JsonWriter *w) {
        template_write(&parsed, w);
}

static void write_settings(JsonWriter *w) {
        jw_value(w, parsed.settings);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_defaults(void **state _unused_) {
        parse("actors: [{actor_id: dev}]\n");
        assert_string_equal(
                written(write_parsed),
                "{\"kind\":\"cccc.group_template\",\"v\":1,\"title\":\"\",\"topic\":\"\",\"exported_at\":"
                "\"\","
                "\"cccc_version\":\"\",\"actors\":[{\"id\":\"dev\",\"title\":\"\",\"runtime\":\"codex\","
                "\"runner\":\"pty\",\"command\":[],\"submit\":\"enter\",\"enabled\":true}],\"settings\":{"
                "\"default_send_to\":\"foreman\",\"nudge_after_seconds\":300,"
                "\"actor_idle_timeout_seconds\":600,\"keepalive_delay_seconds\":120,"
                "\"keepalive_max_per_actor\":3,\"silence_timeout_seconds\":600,"
                "\"help_nudge_interval_seconds\":600,\"help_nudge_min_messages\":10,"
                "\"min_interval_seconds\":0,\"standup_interval_seconds\":900,"
                "\"terminal_transcript_visibility\":\"foreman\",\"terminal_transcript_notify_tail\":true,"
                "\"terminal_transcript_notify_lines\":20},\"prompts\":{\"preamble\":{\"source\":\"builtin\"}"
                ","
                "\"help\":{\"source\":\"builtin\"},\"standup\":{\"source\":\"builtin\"}}}");
}

static void test_given(void **state _unused_) {
        parse("kind: cccc.group_template\nactors:\n- id: '7'\n  enabled: no\n  runtime: custom\n  command: "
              "cat -u 'a b'\n"
              "settings: {nudge_after_seconds: '42', terminal_transcript_notify_tail: off, "
              "terminal_transcript_notify_lines: 900}\nprompts:\n  help: |\n    Hilfe für alle.\n  standup: "
              "'  '\n");
        assert_string_equal(parsed.actors[0].id.data, "7");
        assert_false(parsed.actors[0].is_enabled);
        assert_int_equal(json_count(parsed.actors[0].command), 3);
        has(written(write_settings), "\"nudge_after_seconds\":42");
        has(written(write_settings),
            "\"terminal_transcript_notify_tail\":false,\"terminal_transcript_notify_lines\":900");
        has(written(write_parsed), "\"command\":\"cat -u 'a b'\"");
        has(written(write_parsed),
            "\"help\":{\"source\":\"repo\",\"chars\":16,\"preview\":\"Hilfe für alle.\"},"
            "\"standup\":{\"source\":\"repo\",\"chars\":2,\"preview\":\"\"}");
        assert_int_equal(template_bound_settings(&parsed, &arena), 0);
        has(written(write_settings), "\"terminal_transcript_notify_lines\":80");
        assert_int_equal(template_check(&parsed, why), 0);
}

static void test_invalid(void **state _unused_) {
        invalid("just text", "template must be a mapping (YAML object)");
        invalid("- 1", "template must be a mapping (YAML object)");
        invalid("kind: other", "kind must be cccc.group_template");
        invalid("actors: 7", "actors must be a list");
        invalid("actors: [7]", "actors must be a list of mappings");
        invalid("actors:", "actors must be a list");
        invalid("settings:", "settings must be a mapping");
        invalid("prompts:", "prompts must be a mapping");
        invalid("kind:", "kind must be cccc.group_template");
        invalid("v: x", "v must be a number");
        invalid("title: 5", "title must be a text");
        invalid("topic:", "topic must be a text");
        invalid("prompts: {help: 5}", "prompts.help must be a text");
        invalid("actors: [{id: 5}]", "an actor has no id");
        invalid("actors: [{id: a, title: 5}]", "title must be a text");
        invalid("actors: [{id: a, command: 5}]", "actor a: command must be a list or a string");
        invalid("actors: [{id: a, command: }]", "actor a: command must be a list or a string");
        invalid("actors: [{id: a, command: [5]}]", "actor a: command must be a list of strings");
        invalid("actors: [{title: x}]", "an actor has no id");
        invalid("actors: [{id: a, runtime: abacus}]", "actor a: invalid runtime: abacus");
        invalid("actors: [{id: a, runner: tty}]", "actor a: invalid runner: tty");
        invalid("actors: [{id: a, submit: []}]", "actor a: invalid submit: ");
        invalid("actors: [{id: a, enabled: maybe}]", "actor a: enabled must be true or false");
        invalid("actors: [{id: a, command: {}}]", "actor a: command must be a list or a string");
        invalid("actors: [{id: a, command: [[]]}]", "actor a: command must be a list of strings");
        invalid("actors: [{id: a, command: \"say 'x\"}]", "actor a: command has an open quote");
        invalid("settings: []", "settings must be a mapping");
        invalid("settings: {nudge_after_seconds: soon}", "settings.nudge_after_seconds does not fit");
        invalid("settings: {default_send_to: nobody}", "settings.default_send_to does not fit");
        invalid("prompts: text", "prompts must be a mapping");
        invalid("prompts: {help: [1]}", "prompts.help must be a text");
        assert_int_equal(template_parse(&parsed, &arena, STR("a: [1\n"), why), TEMPLATE_E_INVALID);
        has(why, "template is not YAML: line ");
}

static void test_check(void **state _unused_) {
        unfit("actors: [{id: a}, {id: b}, {id: a}]", "duplicate actor id: a");
        unfit("actors: [{id: a, runtime: custom}]", "actor a: a custom runtime needs a command");
        unfit("actors: [{id: Foreman}]", "reserved actor id: Foreman");
        unfit("actors: [{id: ../x}]", "invalid actor id: ../x (a name has no dots in it)");
        parse("actors: [{id: a, runtime: custom, runner: headless}]");
        assert_int_equal(template_check(&parsed, why), 0);
}

static void test_actor_ids(void **state _unused_) {
        assert_true(actor_id_is_valid(STR("dev-1_x")));
        assert_true(actor_id_is_valid(STR("späher")));
        assert_true(actor_id_is_valid(STR("助手")));
        assert_true(actor_id_is_valid(STR("12345678901234567890123456789012")));
        assert_false(actor_id_is_valid(STR("123456789012345678901234567890123")));
        assert_false(actor_id_is_valid(STR("")));
        assert_false(actor_id_is_valid(STR("-dev")));
        assert_false(actor_id_is_valid(STR("a.b")));
        assert_false(actor_id_is_valid(STR("a b")));
        assert_false(actor_id_is_valid(STR("a\0b")));
        assert_false(actor_id_is_valid(STR("a\xff")));
        assert_true(actor_id_is_reserved(STR("USER")));
        assert_false(actor_id_is_reserved(STR("users")));
}

static void test_words(void **state _unused_) {
        static const struct {
                const char *text, *list;
        } cases[] = {
                {"", "[]"},
                {"  a  b\tc ", "[\"a\",\"b\",\"c\"]"},
                {"a 'b c' \"d \\\" e\" f\\ g", "[\"a\",\"b c\",\"d \\\" e\",\"f g\"]"},
                {"x'y'\"z\" ''", "[\"xyz\",\"\"]"},
                {"'a\\b'", "[\"a\\\\b\"]"},
        };
        int r;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                Buf text = BUF_NULL;
                Json *list = template_words(&arena, str_from(cases[i].text), &r);
                assert_int_equal(r, 0);
                assert_int_equal(json_write(&text, list), 0);
                assert_string_equal(buf_cstr(&text), cases[i].list);
                buf_deinit(&text);
        }
        assert_null(template_words(&arena, STR("a \"b"), &r));
        assert_int_equal(r, TEMPLATE_E_INVALID);
        assert_null(template_words(&arena, STR("a\\"), &r));
        assert_int_equal(r, TEMPLATE_E_INVALID);
}

static const char group_text[] = "title: My  Group!\ntopic: t\nactors:\n- {id: dev, title: D, runtime: "
                                 "custom, runner: headless, command: [], "
                                 "env: {K: secret}}\n- {id: lead, enabled: false, command: [claude, "
                                 "-x]}\nautomation: {nudge_after_seconds: 7}\n";

static void of_group(Template *ret) {
        Json *group;
        Str prompts[_TEMPLATE_PROMPTS] = {STR("Be kind.\n")};

        assert_int_equal(yaml_parse(&arena, str_from(group_text), &group, NULL), 0);
        assert_int_equal(template_of_group(ret, &arena, group, prompts), 0);
}

static Template now;

static void write_diff(JsonWriter *w) {
        template_write_diff(&parsed, &now, w);
}

/* What is exported is, when it is read, no change. */
static void test_export(void **state _unused_) {
        Buf text = BUF_NULL;

        of_group(&now);
        assert_int_equal(template_export(&now, &arena, &text), 0);
        assert_null(strstr(buf_cstr(&text), "secret"));
        parse(buf_cstr(&text));
        has(written(write_diff),
            "{\"actors_add\":[],\"actors_update\":[],\"actors_remove\":[],\"settings_changed\":{},"
            "\"prompts_changed\":{\"preamble\":{\"changed\":false");
        buf_deinit(&text);
        assert_string_equal(template_filename(&arena, now.title).data, "cccc-group-template--my-group.yaml");
        assert_string_equal(template_filename(&arena, STR("…")).data, "cccc-group-template--group.yaml");
}

static void test_diff(void **state _unused_) {
        of_group(&now);
        parse("actors:\n- {id: lead, command: claude -x}\n- {id: new}\nsettings: {default_send_to: "
              "broadcast}\n"
              "prompts: {help: h}\n");
        has(written(write_diff),
            "{\"actors_add\":[\"new\"],\"actors_update\":[\"lead\"],\"actors_remove\":[\"dev\"],\"settings_"
            "changed\":{"
            "\"default_send_to\":{\"from\":\"foreman\",\"to\":\"broadcast\"},"
            "\"nudge_after_seconds\":{\"from\":7,\"to\":300}},\"prompts_changed\":{\"preamble\":{"
            "\"changed\":true,"
            "\"current_chars\":9,\"new_chars\":0,\"current_source\":\"repo\",\"new_source\":\"builtin\"}");
}

int main(void) {
        setlocale(LC_CTYPE, "C.UTF-8"); /* as main() of the daemon does */
        const struct CMUnitTest all[] = {
                cmocka_unit_test_teardown(test_defaults, clean),
                cmocka_unit_test_teardown(test_given, clean),
                cmocka_unit_test_teardown(test_invalid, clean),
                cmocka_unit_test_teardown(test_check, clean),
                cmocka_unit_test_teardown(test_actor_ids, clean),
                cmocka_unit_test_teardown(test_words, clean),
                cmocka_unit_test_teardown(test_export, clean),
                cmocka_unit_test_teardown(test_diff, clean),
        };

        return cmocka_run_group_tests(all, NULL, NULL);
}
