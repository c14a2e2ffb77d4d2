/* SPDX-License-Identifier: MIT */
/* Sentences about limits, in the zones that they name, and how long a limit is believed. */
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/test-cmocka.h"
#include "base/time.h"
#include "core/limits/limit.h"

#define S INT64_C(1000000)

static int64_t at(const char *text) {
        int64_t us = 0;

        assert_true(time_parse(str_from(text), &us));
        return us;
}

static void expect_time(int64_t us, const char *text) {
        char found[TIME_TEXT_MAX];

        time_format_s(us, found);
        assert_string_equal(us ? found : "none", text);
}

/* ---- zones ----------------------------------------------------------------------------------- */

#define WARSAW  "CET-1CEST,M3.5.0,M10.5.0/3"
#define ANGELES "PST8PDT,M3.2.0,M11.1.0"
#define SYDNEY  "AEST-10AEDT,M10.1.0,M4.1.0/3"
#define KOLKATA "IST-5:30"

static void test_clocks_of_zones(_unused_ void **state) {
        static const struct {
                const char *zone, *utc;
                int offset_s;
        } rows[] = {{WARSAW, "2026-01-15T12:00:00Z", 3600},
                    {WARSAW, "2026-07-15T12:00:00Z", 7200},
                    {WARSAW, "2026-03-29T00:59:59Z", 3600},
                    {WARSAW, "2026-03-29T01:00:00Z", 7200},
                    {WARSAW, "2026-10-25T00:59:59Z", 7200},
                    {WARSAW, "2026-10-25T01:00:00Z", 3600},
                    {ANGELES, "2026-03-08T09:59:59Z", -8 * 3600},
                    {ANGELES, "2026-03-08T10:00:00Z", -7 * 3600},
                    {ANGELES, "2026-11-01T09:00:00Z", -8 * 3600},
                    {SYDNEY, "2026-01-15T12:00:00Z", 11 * 3600},
                    {SYDNEY, "2026-07-15T12:00:00Z", 10 * 3600},
                    {KOLKATA, "2026-07-15T12:00:00Z", 19800},
                    {"<+0330>-3:30", "2026-07-15T12:00:00Z", 12600},
                    {"AAA0BBB,J60/0,J300/0", "2024-03-01T00:00:00Z", 3600},
                    {"AAA0BBB,J60/0,J300/0", "2024-02-29T23:00:00Z", 0},
                    {"AAA0BBB,59/0,299/0", "2024-02-29T00:00:00Z", 3600}};

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                Zone zone;

                assert_true(zone_read_text(&zone, str_from(rows[i].zone)));
                assert_int_equal(zone_offset_s(&zone, at(rows[i].utc) / S), rows[i].offset_s);
                zone_deinit(&zone);
        }
}

static void test_what_is_no_zone(_unused_ void **state) {
        static const char *const texts[] = {"",
                                            "CE",
                                            "CET",
                                            "CET-1CEST",
                                            "CET-99",
                                            "CET-1CEST,M3",
                                            "CET-1,M3.5.0",
                                            "CET-1CEST,M13.1.0,M1.1.0",
                                            "<CET",
                                            "CET-1CEST,M3.5.0,M10.5.0/3x",
                                            "CET-1CEST,J0,J1"};
        static const char *const names[] = {"",     "/etc/passwd", "../x",           "a/../b",
                                            "a//b", "a/",          "Europe/War saw", "a.b"};
        Zone zone;

        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                assert_false(zone_read_text(&zone, str_from(texts[i])));
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                assert_false(zone_is_name(str_from(names[i])));
        assert_true(zone_is_name(STR("America/Argentina/Buenos_Aires")));
        assert_true(zone_is_name(STR("Etc/GMT+3")));
}

static void put_big(char **to, uint64_t value, size_t n) {
        for (size_t i = n; i-- > 0; value >>= 8)
                (*to)[i] = (char)(value & 0xff);
        *to += n;
}

static void put_head(char **to, uint32_t n_times, uint32_t n_types) {
        memcpy(*to, "TZif2", 5);
        memset(*to + 5, 0, 15);
        *to += 20;
        put_big(to, 0, 4);
        put_big(to, 0, 4);
        put_big(to, 0, 4);
        put_big(to, n_times, 4);
        put_big(to, n_types, 4);
        put_big(to, 4, 4);
}

static size_t put_zone(char *file, const char *tail) {
        char *to = file;

        put_head(&to, 0, 1); /* the short part, which is passed over */
        memset(to, 0, 10);
        to += 10;
        put_head(&to, 2, 2);
        put_big(&to, 1000, 8);
        put_big(&to, 2000, 8);
        put_big(&to, 1, 1);
        put_big(&to, 0, 1);
        put_big(&to, 0, 6);
        put_big(&to, 3600, 4);
        put_big(&to, 0, 2);
        memcpy(to, "LMT", 4);
        to += 4;
        return (size_t)(to - file) + (size_t)sprintf(to, "\n%s\n", tail);
}

static void test_a_file_of_the_database(_unused_ void **state) {
        char file[512];
        size_t n = put_zone(file, WARSAW);
        Zone zone;

        assert_true(zone_read(&zone, (Str){file, n}));
        assert_int_equal(zone_offset_s(&zone, 999), 0);
        assert_int_equal(zone_offset_s(&zone, 1000), 3600);
        assert_int_equal(zone_offset_s(&zone, at("2026-07-15T12:00:00Z") / S),
                         7200); /* by the text at its end */
        zone_deinit(&zone);
        for (size_t i = 0; i < n - strlen(WARSAW) - 2;
             i++) /* cut anywhere, it is none, and nothing breaks */
                assert_false(zone_read(&zone, (Str){file, i}));
        n = put_zone(file, "nonsense");
        assert_false(zone_read(&zone, (Str){file, n}));
}

/* The database of this machine, where there is one. */
static void test_names_of_the_database(_unused_ void **state) {
        Zone zone;

        if (!zone_load(&zone, STR("Europe/Warsaw")))
                skip();
        assert_int_equal(zone_offset_s(&zone, at("2026-07-15T12:00:00Z") / S), 7200);
        zone_deinit(&zone);
        assert_false(zone_load(&zone, STR("Europe/Nowhere")));
        assert_false(zone_load(&zone, STR("../../etc/passwd")));
}

/* ---- times ----------------------------------------------------------------------------------- */

static void test_which_moment_is_meant(_unused_ void **state) {
        static const struct {
                const char *text, *zone, *now, *then;
        } rows[] = {
                /* an hour: the next such */
                {"3pm", WARSAW, "2026-07-10T10:00:00Z", "2026-07-10T13:00:00Z"},
                {"3pm", ANGELES, "2026-07-10T10:00:00Z", "2026-07-10T22:00:00Z"},
                {"3pm", KOLKATA, "2026-07-10T10:00:00Z", "2026-07-11T09:30:00Z"},
                {"3:30 PM", WARSAW, "2026-07-10T10:00:00Z", "2026-07-10T13:30:00Z"},
                {"15:30", WARSAW, "2026-07-10T10:00:00Z", "2026-07-10T13:30:00Z"},
                {"12am", WARSAW, "2026-07-10T10:00:00Z", "2026-07-10T22:00:00Z"},
                {"12pm", WARSAW, "2026-07-10T12:00:00Z", "2026-07-11T10:00:00Z"},
                /* one that has just passed is meant, not tomorrow's: it is not believed then */
                {"3pm", WARSAW, "2026-07-10T13:05:00Z", "2026-07-10T13:00:00Z"},
                {"3pm", WARSAW, "2026-07-10T13:11:00Z", "2026-07-11T13:00:00Z"},
                /* a date */
                {"Jul 11 at 12pm", WARSAW, "2026-07-10T10:00:00Z", "2026-07-11T10:00:00Z"},
                {"Jul 11, 12pm", ANGELES, "2026-07-10T10:00:00Z", "2026-07-11T19:00:00Z"},
                {"Jul 11th, 2026 5:42 PM", WARSAW, "2026-07-10T10:00:00Z", "2026-07-11T15:42:00Z"},
                {"January 2 at 3pm", WARSAW, "2026-12-30T10:00:00Z", "2027-01-02T14:00:00Z"},
                {"Jul 11", WARSAW, "2026-07-10T10:00:00Z", "2026-07-10T22:00:00Z"},
                /* clocks are changed: 02:30 is left out, and is there twice */
                {"2:30am", WARSAW, "2026-03-28T22:00:00Z", "2026-03-29T01:30:00Z"},
                {"2:30am", WARSAW, "2026-10-24T22:00:00Z", "2026-10-25T01:30:00Z"},
                {"3pm", WARSAW, "2026-03-28T20:00:00Z", "2026-03-29T13:00:00Z"},
                {"1:30am", ANGELES, "2026-11-01T03:00:00Z", "2026-11-01T09:30:00Z"},
                /* moments by themselves */
                {"1783771200", ANGELES, "2026-07-10T10:00:00Z", "2026-07-11T12:00:00Z"},
                {"2026-07-11T12:00:00Z.", ANGELES, "2026-07-10T10:00:00Z", "2026-07-11T12:00:00Z"},
                {"2026-07-11T12:00:00+02:00", ANGELES, "2026-07-10T10:00:00Z", "2026-07-11T10:00:00Z"},
                /* no time */
                {"", WARSAW, "2026-07-10T10:00:00Z", "none"},
                {"soon", WARSAW, "2026-07-10T10:00:00Z", "none"},
                {"25:00", WARSAW, "2026-07-10T10:00:00Z", "none"},
                {"13pm", WARSAW, "2026-07-10T10:00:00Z", "none"},
                {"99999999999999999999", WARSAW, "2026-07-10T10:00:00Z", "none"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                LimitTime time;
                Zone zone;

                assert_true(zone_read_text(&zone, str_from(rows[i].zone)));
                expect_time(limit_time_read(str_from(rows[i].text), &time)
                                    ? limit_time_us(&time, &zone, at(rows[i].now))
                                    : 0,
                            rows[i].then);
                zone_deinit(&zone);
        }
}

/* ---- sentences ------------------------------------------------------------------------------- */

static void test_sentences_of_programs(_unused_ void **state) {
        static const struct {
                const char *runtime, *screen, *window, *zone;
                bool has_time;
        } rows[] = {
                {"claude", "You've hit your session limit · resets 3pm (Europe/Warsaw)\n", "session",
                 "Europe/Warsaw", true},
                {"claude",
                 "  \xe2\x8e\xbf  You\xe2\x80\x99ve hit your weekly limit · resets Jul 11 at 12pm "
                 "(Asia/Kolkata)\n\n> \n",
                 "weekly", "Asia/Kolkata", true},
                {"claude", "You've reached your Opus weekly limit · resets 3pm (Europe/Warsaw)",
                 "Opus weekly", "Europe/Warsaw", true},
                {"claude", "You're out of extra usage · resets 3pm", "usage", "", true},
                {"claude", "Claude AI usage limit reached|1749924000\n", "usage", "", true},
                {"claude", "You've hit your limit", "usage", "", false},
                {"codex",
                 "\xe2\x96\xa0 You've hit your usage limit. Upgrade to Pro, or try again at 5:42 PM.\n",
                 "usage", "", true},
                {"codex",
                 "You've hit your usage limit. Upgrade to Pro or\n  try again at Jul 11th, 2026 5:42 PM.\n",
                 "usage", "", true},
                {"gemini",
                 "Usage limit reached for gemini-3-pro. Access resets at 3:00 PM (America/New_York).\n",
                 "usage", "America/New_York", true},
                /* not at the beginning of a line, of another program, or too far up */
                {"claude", "The message was: You've hit your session limit · resets 3pm\n", NULL, "", false},
                {"claude", "- You've hit your session limit · resets 3pm\n", NULL, "", false},
                {"codex", "You've hit your session limit · resets 3pm (Europe/Warsaw)\n", NULL, "", false},
                {"claude",
                 "You've hit your session limit · resets 3pm\na\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n", NULL,
                 "", false},
                {"claude", "", NULL, "", false},
        };
        LimitTexts texts;

        assert_int_equal(limit_texts_read_ours(&texts), 0);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                LimitFound found;
                bool is_found =
                        limit_text_find(&texts, str_from(rows[i].runtime), str_from(rows[i].screen), &found);

                assert_int_equal(is_found, rows[i].window != NULL);
                if (!is_found)
                        continue;
                assert_string_equal(found.window, rows[i].window);
                assert_int_equal(found.has_time, rows[i].has_time);
                if (found.has_time)
                        assert_true(str_is(found.time.zone, rows[i].zone));
        }
        limit_texts_deinit(&texts);
}

/* The same sentence with and without the choices of a dialog below it. */
static void test_dialogs(_unused_ void **unused) {
#define BOX                                                                                                 \
        "\xe2\x95\xad\xe2\x94\x80\xe2\x95\xae\n\xe2\x94\x82 Usage limit reached for all Pro models. "       \
        "\xe2\x94\x82\n"
#define STOP "\xe2\x94\x82   2. Stop       \xe2\x94\x82\n\xe2\x95\xb0\xe2\x94\x80\xe2\x95\xaf\n"
        const struct {
                const char *screen;
                bool is_asked;
        } rows[] = {
                {BOX "\xe2\x94\x82 \xe2\x97\x8f 1. Keep trying \xe2\x94\x82\n" STOP, true},
                {BOX STOP, true},
                {BOX, false},
                {BOX "Stop\n2 Stop\n. Stop\n2. Go on\n2.Stop\nthen 2. Stop\n", false},
                {STOP BOX, false},
        };
        LimitTexts texts;

        assert_int_equal(limit_texts_read_ours(&texts), 0);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                LimitFound found;

                assert_true(limit_text_find(&texts, STR("gemini"), str_from(rows[i].screen), &found));
                assert_int_equal(found.is_asked, rows[i].is_asked);
        }
        limit_texts_deinit(&texts);
}

static void test_the_sentence_is_known_again(_unused_ void **state) {
        LimitFound first, again;
        LimitTexts texts;

        assert_int_equal(limit_texts_read_ours(&texts), 0);
        assert_true(limit_text_find(&texts, STR("claude"),
                                    STR("You've hit your session limit · resets 3pm\n>\n"), &first));
        assert_true(limit_text_find(&texts, STR("claude"),
                                    STR("x\nYou've hit your session limit · resets 3pm\n> hello\n"),
                                    &again));
        assert_true(first.hash == again.hash);
        limit_texts_deinit(&texts);
}

/* ---- how long a limit is believed ------------------------------------------------------------ */

#define HOUR (INT64_C(3600) * S)

static const int64_t then_us = INT64_C(1783771200) * S;

static Limit seen_at(int64_t now_us, int64_t resets_us) {
        return (Limit){.window = "session",
                       .used_percent = -1,
                       .resets_us = resets_us,
                       .seen_us = now_us,
                       .source = LIMIT_BY_TEXT,
                       .is_reached = true};
}

static void test_a_reset_is_believed_or_asked_again(_unused_ void **state) {
        static const struct {
                int64_t in_us, until_us;
        } rows[] = {{HOUR, HOUR},
                    {INT64_C(8) * 24 * HOUR, INT64_C(8) * 24 * HOUR},
                    {INT64_C(8) * 24 * HOUR + S, HOUR / 4}, /* too far off */
                    {-HOUR, HOUR / 4},
                    {0, HOUR / 4}};

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                Limit limit = {.used_percent = -1}, seen = seen_at(then_us, then_us + rows[i].in_us);

                limit_take(&limit, &seen, then_us);
                assert_true(limit_until_us(&limit, then_us) == then_us + rows[i].until_us);
                assert_true(limit_holds(&limit, then_us + rows[i].until_us + 59 * S));
                assert_false(limit_holds(&limit, then_us + rows[i].until_us + 60 * S));
        }
}

static void test_asked_again_after_15_30_60_minutes(_unused_ void **state) {
        static const int64_t minutes[] = {15, 30, 60, 60};
        Limit limit = {.used_percent = -1}, seen;
        int64_t now_us = then_us;

        for (size_t i = 0; i < ARRAY_SIZE(minutes); i++) {
                seen = seen_at(now_us, 0);
                limit_take(&limit, &seen, now_us);
                assert_true(limit_until_us(&limit, now_us) == now_us + minutes[i] * 60 * S);
                seen = seen_at(now_us + S, 0); /* said twice: nothing was tried */
                limit_take(&limit, &seen, now_us + S);
                assert_true(limit_until_us(&limit, now_us) == now_us + S + minutes[i] * 60 * S);
                now_us = limit_until_us(&limit, now_us) + 70 * S;
        }
        now_us += 10 * HOUR; /* another day, another limit */
        seen = seen_at(now_us, 0);
        limit_take(&limit, &seen, now_us);
        assert_true(limit_until_us(&limit, now_us) == now_us + HOUR / 4);
}

static void test_who_knows_less_takes_nothing_away(_unused_ void **state) {
        Limit limit = {.used_percent = -1}, seen = seen_at(then_us, then_us + HOUR);

        limit_take(&limit, &seen, then_us);
        seen = seen_at(then_us + S, 0);
        limit_take(&limit, &seen, then_us + S);
        assert_true(limit_until_us(&limit, then_us + S) == then_us + HOUR);
        limit_ignore(&limit, then_us + S);
        limit_take(&limit, &seen, then_us + S);
        assert_true(limit_is_ignored(&limit, then_us + HOUR - S) && !limit_holds(&limit, then_us + S));
        seen = seen_at(then_us + 2 * HOUR, then_us + 7 * HOUR); /* the next window */
        limit_take(&limit, &seen, then_us + 2 * HOUR);
        assert_false(limit_is_ignored(&limit, then_us + 2 * HOUR));
        seen.is_reached = false;
        limit_take(&limit, &seen, then_us + 2 * HOUR);
        assert_false(limit_holds(&limit, then_us + 2 * HOUR));
}

static void test_a_clock_that_jumps(_unused_ void **state) {
        Limit limit = {.used_percent = -1}, seen = seen_at(then_us, then_us + HOUR);
        int64_t back_us = then_us - INT64_C(30) * 24 * HOUR;

        limit_take(&limit, &seen, then_us);
        assert_false(limit_holds(&limit, then_us + 3 * HOUR)); /* forth: it is over */
        limit_mend(&limit, then_us - HOUR);                    /* back an hour: the moment is the same */
        assert_true(limit_until_us(&limit, then_us - HOUR) == then_us + HOUR);
        limit_mend(&limit, back_us); /* back a month: the reset is not believed, and is asked for */
        assert_true(limit_until_us(&limit, back_us) == back_us + HOUR / 4);
        assert_false(limit_holds(&limit, back_us + HOUR / 4 + 60 * S));
}

static void test_as_a_file_keeps_it(_unused_ void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        Limit limit = seen_at(then_us, then_us + HOUR), found;
        Json *json = NULL;

        limit.used_percent = 12.5;
        limit.n_asked = 2;
        limit_ignore(&limit, then_us);
        jw_begin_object(&w);
        limit_write(&w, &limit);
        jw_end_object(&w);
        assert_int_equal(json_parse(&arena, text.data, text.n, NULL, &json, NULL), 0);
        assert_true(limit_read(json, &found));
        assert_memory_equal(found.window, "session", 8);
        assert_true(found.resets_us == limit.resets_us && found.seen_us == limit.seen_us &&
                    found.used_percent == 12.5 && found.n_asked == 2 &&
                    found.ignored_us == limit.ignored_us && found.is_reached &&
                    found.source == LIMIT_BY_TEXT);
        assert_false(limit_read(json_get(json, "window"), &found));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_clocks_of_zones),
                cmocka_unit_test(test_what_is_no_zone),
                cmocka_unit_test(test_a_file_of_the_database),
                cmocka_unit_test(test_names_of_the_database),
                cmocka_unit_test(test_which_moment_is_meant),
                cmocka_unit_test(test_sentences_of_programs),
                cmocka_unit_test(test_dialogs),
                cmocka_unit_test(test_the_sentence_is_known_again),
                cmocka_unit_test(test_a_reset_is_believed_or_asked_again),
                cmocka_unit_test(test_asked_again_after_15_30_60_minutes),
                cmocka_unit_test(test_who_knows_less_takes_nothing_away),
                cmocka_unit_test(test_a_clock_that_jumps),
                cmocka_unit_test(test_as_a_file_keeps_it),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
