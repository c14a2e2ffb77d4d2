/* SPDX-License-Identifier: MIT */
/* Pure parts of the collaboration domain: tags of events, identity of scopes, patches, the view of
 * group.yaml. */
#include "base/test-cmocka.h"
#include "base/json/yaml.h"
#include "collab/group/events.h"
#include "collab/group/group-doc.h"
#include "collab/group/group.h"
#include "collab/group/patch.h"
#include "collab/group/scope.h"
#include "collab/group/compaction.h"

static Json *parse(Arena *arena, const char *text) {
        Json *json = NULL;

        assert_int_equal(json_parse(arena, text, strlen(text), NULL, &json, NULL), 0);
        return json;
}

static bool has_tag(const LedgerFacts *facts, const char *word) {
        for (size_t i = 0; i < facts->n_tags; i++)
                if (str_is(facts->tags[i], word))
                        return true;
        return false;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void test_tags_of_a_message(_unused_ void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        LedgerFacts facts;

        assert_true(collab_classify(
                &arena,
                parse(&arena,
                      "{\"id\":\"x\",\"ts\":\"2026-01-01T00:00:00.000001Z\",\"kind\":\"chat.message\","
                      "\"by\":\"a\",\"data\":{\"to\":[\"b\",\"@peers\"],\"reply_to\":\"y\","
                      "\"client_id\":\"k\"}}"),
                &facts));
        assert_true(str_is(facts.id, "x") && str_is(facts.kind, "chat.message"));
        assert_int_equal(facts.ts_us, INT64_C(1767225600000001));
        assert_int_equal(facts.n_tags, 5);
        assert_true(has_tag(&facts, "by:a") && has_tag(&facts, "to:b") && has_tag(&facts, "to:@peers"));
        assert_true(has_tag(&facts, "re:y") && has_tag(&facts, "client:k"));
}

static void test_tags_of_other_kinds(_unused_ void **state) {
        static const struct {
                const char *line, *tag;
        } cases[] = {
                {"{\"kind\":\"chat.message\",\"data\":{}}", "to:@all"},
                {"{\"kind\":\"chat.message\",\"data\":{\"to\":[]}}", "to:@all"},
                {"{\"kind\":\"chat.ack\",\"data\":{\"event_id\":\"e\"}}", "re:e"},
                {"{\"kind\":\"chat.read\",\"data\":{\"event_id\":\"e\"}}", "re:e"},
                {"{\"kind\":\"system.notify\",\"data\":{\"target_actor_id\":\"a\"}}", "notify:a"},
                {"{\"kind\":\"system.notify\",\"data\":{\"target_actor_id\":null}}", "notify:*"},
                {"{\"kind\":\"system.notify_ack\",\"data\":{\"notify_event_id\":\"e\"}}", "re:e"},
                {"{\"kind\":\"group.create\",\"by\":\"user\"}", "by:user"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
                LedgerFacts facts;
                assert_true(collab_classify(&arena, parse(&arena, cases[i].line), &facts));
                assert_true(has_tag(&facts, cases[i].tag));
        }
}

static void test_many_recipients_become_anybody(_unused_ void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        LedgerFacts facts;

        assert_int_equal(buf_printf(&text, "{\"kind\":\"chat.message\",\"by\":\"a\",\"data\":{\"reply_to\":"
                                           "\"r\",\"priority\":\"attention\","
                                           "\"client_id\":\"c\",\"to\":[\"x\""),
                         0);
        for (int i = 0; i < 100; i++)
                assert_int_equal(buf_printf(&text, ",\"n%d\"", i), 0);
        assert_int_equal(buf_append_str(&text, STR("]}}")), 0);
        assert_true(collab_classify(&arena, parse(&arena, buf_cstr(&text)), &facts));
        assert_int_equal(facts.n_tags, LEDGER_TAGS_MAX);
        assert_true(has_tag(&facts, "to:*") && has_tag(&facts, "re:r") && has_tag(&facts, "client:c"));
}

static void test_what_is_no_event(_unused_ void **state) {
        static const char *const lines[] = {"{}", "[]", "1", "{\"kind\":1}", "{\"kind\":\"\"}"};

        for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
                _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
                LedgerFacts facts;
                assert_false(collab_classify(&arena, parse(&arena, lines[i]), &facts));
        }
}

/* ---- identities ------------------------------------------------------------------------------ */

static void test_remotes(_unused_ void **state) {
        static const char *const cases[][2] = {
                {"git@h:a/b.git", "https://h/a/b"},
                {"me@h:a/b", "https://h/a/b"},
                {"ssh://git@h/a/b.git", "https://h/a/b"},
                {"ssh://h:22/a", "https://h:22/a"},
                {"ssh://git@h:22/a.git", "https://h/22/a"},
                {"https://me@h:8443/a.git", "https://h/8443/a"},
                {"https://me:secret@h/a.git", "https://me:secret@h/a"},
                {"ssh://h", "ssh://h"},
                {"@h:a", "@h:a"},
                {"me@h:", "me@h:"},
                {"https://h/a.git", "https://h/a"},
                {" http://h/a ", "http://h/a"},
                {"/srv/a@b:c.git", "/srv/a@b:c.git"},
                {"file:///x.git", "file:///x.git"},
                {"", ""},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
                Str got = scope_normalize_remote(&arena, str_from(cases[i][0]));
                assert_string_equal(got.data, cases[i][1]);
        }
}

static void test_group_ids(_unused_ void **state) {
        assert_true(group_id_is_valid(STR("g_0")) && group_id_is_valid(STR("g_aB-_9")));
        assert_false(group_id_is_valid(STR("g_")) || group_id_is_valid(STR("h_0")) ||
                     group_id_is_valid(STR("g_/")) || group_id_is_valid(STR("g_.")) ||
                     group_id_is_valid((Str){"g_\0a", 4}) || group_id_is_valid(STR_NULL));
}

/* ---- values of patches ----------------------------------------------------------------------- */

static void test_integers_of_patches(_unused_ void **state) {
        static const struct {
                const char *text;
                bool is_one;
                int64_t value;
        } cases[] = {
                {"5", true, 5},
                {"-7.9", true, -7},
                {"\" 12 \"", true, 12},
                {"true", true, 1},
                {"\"-3\"", true, -3},
                {"1e300", false, 0},
                {"\"1.5\"", false, 0},
                {"\"\"", false, 0},
                {"null", false, 0},
                {"[]", false, 0},
                {"\"soon\"", false, 0},
                {"9223372036854775807", true, INT64_MAX},
                {"9223372036854775808", false, 0},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
                int64_t n = 0;
                assert_int_equal(patch_int(parse(&arena, cases[i].text), &n), cases[i].is_one);
                if (cases[i].is_one)
                        assert_int_equal(n, cases[i].value);
        }
}

/* ---- group.yaml ------------------------------------------------------------------------------ */

static GroupDoc *doc_from(const char *yaml) {
        Document *document = document_new();
        Json *json = NULL;

        assert_non_null(document);
        assert_int_equal(yaml_parse(&document->arena, str_from(yaml), &json, NULL), 0);
        document->json = json;
        return group_doc_new(document);
}

static void test_view_of_nonsense(_unused_ void **state) {
        GroupDoc *doc =
                doc_from("title: [1]\nstate: 5\nscopes: 7\nactors: [1, {}, {id: ''}, {id: a, enabled: x, "
                         "command: y}]\nautomation: []\nledger: {keep_tail_lines: 2.7}\n"
                         "terminal_transcript: {visibility: 9, notify_lines: 500}\nrunning: maybe\n");

        assert_non_null(doc);
        assert_int_equal(doc->title.n, 0);
        assert_int_equal(doc->state, GROUP_ACTIVE);
        assert_int_equal(doc->n_scopes, 0);
        assert_int_equal(doc->n_actors, 1);
        assert_true(doc->actors[0].is_enabled && !doc->actors[0].command && !doc->is_running);
        assert_int_equal(doc->settings.nudge_after_s, 300);
        assert_int_equal(doc->settings.ledger_keep_tail_lines, 2);
        assert_int_equal(doc->settings.transcript_notify_lines, 80);
        assert_int_equal(doc->settings.transcript_visibility, TRANSCRIPT_FOREMAN);
        group_doc_unref(doc);
}

static void test_roles(_unused_ void **state) {
        GroupDoc *doc = doc_from("actors: [{id: a, enabled: false}, {id: b}, {id: c}]\n");

        assert_string_equal(group_role(doc, STR("a")), "peer");
        assert_string_equal(group_role(doc, STR("b")), "foreman");
        assert_string_equal(group_role(doc, STR("user")), "peer");
        group_doc_unref(doc);
        doc = doc_from("actors: []\n");
        assert_null(group_foreman(doc));
        group_doc_unref(doc);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_tags_of_a_message),
                cmocka_unit_test(test_tags_of_other_kinds),
                cmocka_unit_test(test_many_recipients_become_anybody),
                cmocka_unit_test(test_what_is_no_event),
                cmocka_unit_test(test_remotes),
                cmocka_unit_test(test_group_ids),
                cmocka_unit_test(test_integers_of_patches),
                cmocka_unit_test(test_view_of_nonsense),
                cmocka_unit_test(test_roles),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
