/* SPDX-License-Identifier: MIT */
/*
 * Recipients: tokens, mentions, policy, visibility; and the few functions on characters below them.
 */
#include <locale.h>

#include "base/test-cmocka.h"
#include "base/macro.h"
#include "collab/message/recipients.h"
#include "collab/unicode.h"

enum { LEAD, DEV, QA, GREEN, N_ACTORS };

typedef struct Fixture {
        Arena arena;
        ActorView actors[N_ACTORS];
        GroupDoc doc;
} Fixture;

static int set_up(void **state) {
        static Fixture f;

        f = (Fixture){.actors = {[LEAD] = {.id = STR("lead"), .title = STR(" Boss "), .is_enabled = true},
                                 [DEV] = {.id = STR("dev"), .title = STR("Same"), .is_enabled = true},
                                 [QA] = {.id = STR("qa"), .title = STR("sAME"), .is_enabled = true},
                                 [GREEN] = {.id = STR("grün"), .title = STR("ÄRGER"), .is_enabled = true}},
                      .doc = {.actors = f.actors, .n_actors = N_ACTORS}};
        *state = &f;
        return 0;
}

static int tear_down(void **state) {
        arena_deinit(&((Fixture *)*state)->arena);
        return 0;
}

/* words: separated by '|'. */
static StrList list(Fixture *f, const char *words) {
        StrList ret = {.items = arena_alloc(&f->arena, 32 * sizeof(Str))};

        while (words) {
                const char *end = strchr(words, '|');

                ret.items[ret.n++] = (Str){words, end ? (size_t)(end - words) : strlen(words)};
                words = end ? end + 1 : NULL;
        }
        return ret;
}

static const char *text(Fixture *f, const StrList *items) {
        Str out = STR("");

        for (size_t i = 0; i < items->n; i++)
                out = arena_printf(&f->arena, STR_FMT "%s" STR_FMT, STR_ARG(out), i ? "|" : "",
                                   STR_ARG(items->items[i]));
        return out.data;
}

static void expect_resolved(Fixture *f, const char *tokens, int r, const char *want) {
        StrList given = list(f, tokens), got;
        Str wrong = STR_NULL;

        assert_int_equal(recipients_resolve(&f->arena, &f->doc, &given, &got, &wrong), r);
        if (r)
                assert_true(str_is(wrong, want));
        else
                assert_string_equal(text(f, &got), want);
}

static void test_tokens(void **state) {
        Fixture *f = *state;

        expect_resolved(f, "", 0, "");
        expect_resolved(f, " | @ |@", 0, "");
        expect_resolved(f, "dev", 0, "dev");
        expect_resolved(f, " @dev |dev|@ dev", 0, "dev");
        expect_resolved(f, "@all|@peers|@foreman|@all", 0, "@all|@peers|@foreman");
        expect_resolved(f, "@user|user", 0, "user");
        expect_resolved(f, "boss", 0, "lead");
        expect_resolved(f, "@BOSS|lead", 0, "lead");
        expect_resolved(f, "ärger", 0, "grün");
        expect_resolved(f, "same", RECIPIENTS_E_AMBIGUOUS, "same");
        expect_resolved(f, "dev|nobody|same", RECIPIENTS_E_UNKNOWN, "nobody");
        expect_resolved(f, "DEV", RECIPIENTS_E_UNKNOWN, "DEV");
        expect_resolved(f, "all", RECIPIENTS_E_UNKNOWN, "all");
}

static void expect_mentioned(Fixture *f, const char *message, const char *want) {
        StrList got;

        assert_int_equal(recipients_mentioned(&f->arena, &f->doc, str_from(message), &got), 0);
        assert_string_equal(text(f, &got), want);
}

static void test_mentions(void **state) {
        Fixture *f = *state;

        expect_mentioned(f, "", "");
        expect_mentioned(f, "@", "");
        expect_mentioned(f, "@@dev", "dev");
        expect_mentioned(f, "@dev @qa,@dev", "dev|qa");
        expect_mentioned(f, "x@dev.org", "dev");
        expect_mentioned(f, "@dev-1 @dev_ @devx @-dev", "");
        expect_mentioned(f, "@all@peers@foreman", "@all|@peers|@foreman");
        expect_mentioned(f, "@grün: @gr\xc3", "grün");
        expect_mentioned(f, "@dev\xe3\x80\x82", "dev"); /* ideographic full stop */
        expect_mentioned(f, "@dev\xe5\xa5\xbd", "");    /* a letter */
        expect_mentioned(f, "@user @same @Boss", "");   /* titles and the user are not mentioned */
}

static void test_policy(void **state) {
        Fixture *f = *state;
        StrList got;

        assert_int_equal(recipients_default(&f->arena, &f->doc, &got), 0);
        assert_string_equal(text(f, &got), "@foreman");
        f->doc.settings.is_broadcast = true;
        assert_int_equal(recipients_default(&f->arena, &f->doc, &got), 0);
        assert_int_equal(got.n, 0);
}

static bool includes(Fixture *f, const char *to, const char *name) {
        StrList tokens = *to ? list(f, to) : (StrList){0};

        return recipients_include(&f->doc, &tokens, str_from(name));
}

static void test_visibility(void **state) {
        Fixture *f = *state;

        assert_true(includes(f, "", "dev") && includes(f, "@all", "anybody") &&
                    includes(f, "qa|dev", "dev"));
        assert_false(includes(f, "qa", "dev"));
        assert_true(includes(f, "@foreman", "lead") && includes(f, "@peers", "dev") &&
                    includes(f, "@peers", "user"));
        assert_false(includes(f, "@foreman", "dev") || includes(f, "@peers", "lead"));
        f->actors[LEAD].is_enabled = false;
        assert_true(includes(f, "@foreman", "dev") && includes(f, "@peers", "lead"));
        for (int i = 0; i < N_ACTORS; i++)
                f->actors[i].is_enabled = false;
        assert_false(includes(f, "@foreman", "lead") || includes(f, "@foreman", "dev"));
}

static bool has_reader(Fixture *f, const char *to, const char *by) {
        StrList tokens = *to ? list(f, to) : (StrList){0};

        return recipients_have_reader(&f->doc, &tokens, str_from(by));
}

static void test_readers(void **state) {
        Fixture *f = *state;

        assert_true(has_reader(f, "", "user") && has_reader(f, "user", "lead") &&
                    has_reader(f, "dev", "user"));
        assert_false(has_reader(f, "dev", "dev") || has_reader(f, "user|dev", "dev") ||
                     has_reader(f, "@foreman", "lead"));
        f->actors[DEV].is_enabled = false;
        assert_false(has_reader(f, "dev", "user"));
        assert_true(has_reader(f, "dev|qa", "user"));
        f->doc.n_actors = 0;
        assert_false(has_reader(f, "", "user") || has_reader(f, "@all", "user"));
        assert_true(has_reader(f, "user", "user"));
}

static void test_characters(void **state) {
        Str s = STR("a\xc3\xa4\xf0\x9f\x98\x80\xff\xe2\x82");

        (void)state;
        assert_int_equal(unicode_take(&s), 'a');
        assert_int_equal(unicode_take(&s), 0xe4);
        assert_int_equal(unicode_take(&s), 0x1f600);
        assert_int_equal(unicode_take(&s), 0xff); /* not UTF-8: byte by byte */
        assert_int_equal(unicode_take(&s), 0xe2);
        assert_int_equal(unicode_take(&s), 0x82);
        assert_int_equal(s.n, 0);
        assert_true(unicode_equal_folded(STR("ÄÖ"), STR("äö")) &&
                    !unicode_equal_folded(STR("ab"), STR("a")));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_tokens, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_mentions, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_policy, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_visibility, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_readers, set_up, tear_down),
                cmocka_unit_test(test_characters),
        };

        setlocale(LC_CTYPE, "C.UTF-8");
        return cmocka_run_group_tests(tests, NULL, NULL);
}
