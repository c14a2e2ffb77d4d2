/* SPDX-License-Identifier: MIT */
/* Cron against an oracle that knows only gmtime(3) and one field at a time. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/test-cmocka.h"
#include "base/macro.h"
#include "base/time.h"
#include "core/schedule/cron.h"

static int64_t at(const char *text) {
        int64_t us = -1;

        assert_true(time_parse(str_from(text), &us));
        return us;
}

static Cron parse(const char *text, unsigned flags) {
        const char *wrong = NULL;
        Cron cron;

        if (cron_parse(&cron, str_from(text), flags, &wrong))
                fail_msg("%s: %s", text, wrong);
        return cron;
}

static void assert_next(const char *text, unsigned flags, const char *from, const char *want) {
        Cron cron = parse(text, flags);
        char got[TIME_TEXT_MAX] = "never";
        int64_t next;

        if (cron_next(&cron, at(from), &next))
                time_format_s(next, got);
        assert_string_equal(got, want);
}

static void test_next(_unused_ void **state) {
        assert_next("* * * * *", 0, "2026-01-02T03:04:05Z", "2026-01-02T03:05:00Z");
        assert_next("* * * * *", 0, "2026-01-02T03:04:00Z", "2026-01-02T03:05:00Z");
        assert_next("0 */6 * * *", 0, "2026-01-02T18:00:00Z", "2026-01-03T00:00:00Z");
        assert_next("0 9 * * 1", 0, "2026-01-02T00:00:00Z", "2026-01-05T09:00:00Z");
        assert_next("59 23 31 12 *", 0, "2026-12-31T23:59:59Z", "2027-12-31T23:59:00Z");
        assert_next("0 0 29 2 *", 0, "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z");
        assert_next("0 0 29 2 1", 0, "2026-01-01T00:00:00Z", "2044-02-29T00:00:00Z");
        assert_next("0 0 30 2 *", 0, "2026-01-01T00:00:00Z", "never");
        assert_next("0 0 13 * 5", 0, "2026-01-01T00:00:00Z", "2026-02-13T00:00:00Z");
        assert_next("0 0 13 * 5", CRON_EITHER_DAY, "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z");
        assert_next("0 0 */2 * *", CRON_STEP_DIVIDES, "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z");
        assert_next("0 0 */2 * *", 0, "2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z");
        assert_next("0 0 * feb SUN", CRON_NAMES, "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z");
        assert_next("0 0 * * 7", CRON_NAMES, "2026-01-02T00:00:00Z", "2026-01-04T00:00:00Z");
        assert_next("5,10-20/5,50 3 * * *", 0, "2026-01-02T03:10:00Z", "2026-01-02T03:15:00Z");
        assert_next("0 0 1 1 *", 0, "1969-06-01T00:00:00Z", "1970-01-01T00:00:00Z");
}

static void test_wrong(_unused_ void **state) {
        static const char *const texts[] = {"",
                                            "*",
                                            "* * * *",
                                            "* * * * * *",
                                            "60 * * * *",
                                            "* 24 * * *",
                                            "* * 0 * *",
                                            "* * 32 * *",
                                            "* * * 0 *",
                                            "* * * 13 *",
                                            "* * * * 7",
                                            "*/0 * * * *",
                                            "a * * * *",
                                            "5-1 * * * *",
                                            "1, * * * *",
                                            ", * * * *",
                                            "1-2-3 * * * *",
                                            "** * * * *",
                                            "*/ * * * *",
                                            "-1 * * * *",
                                            "1.5 * * * *",
                                            "* * * jan *",
                                            "99999999999 * * * *"};
        Cron cron;

        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                const char *wrong = NULL;
                if (cron_parse(&cron, str_from(texts[i]), 0, &wrong) != CRON_E_WRONG || !wrong)
                        fail_msg("taken: %s", texts[i]);
        }
}

/* ---- oracle ---------------------------------------------------------------------------------- */

typedef struct Plain {
        int from, to, step; /* of one field; step 0: any */
} Plain;

static bool plain_fits(const Plain *plain, int value) {
        return !plain->step ||
               (value >= plain->from && value <= plain->to && (value - plain->from) % plain->step == 0);
}

static bool oracle_fits(const Plain plain[5], int64_t wall_us) {
        time_t s = (time_t)(wall_us / 1000000);
        struct tm tm;

        gmtime_r(&s, &tm);
        return plain_fits(&plain[0], tm.tm_min) && plain_fits(&plain[1], tm.tm_hour) &&
               plain_fits(&plain[2], tm.tm_mday) && plain_fits(&plain[3], tm.tm_mon + 1) &&
               plain_fits(&plain[4], tm.tm_wday);
}

static uint32_t seed = 7;

static int random_to(int n) {
        seed = seed * 1664525 + 1013904223;
        return (int)(seed >> 8) % n;
}

static void random_field(Plain *plain, int min, int max, char *out, size_t n_out) {
        *plain = (Plain){0};
        if (random_to(3) == 0) {
                snprintf(out, n_out, "*");
                return;
        }
        plain->from = min + random_to(max - min + 1);
        plain->to = plain->from + random_to(max - plain->from + 1);
        plain->step = 1 + random_to(4);
        snprintf(out, n_out, "%d-%d/%d", plain->from, plain->to, plain->step);
}

/* Every minute of some days after a random time is asked of both. */
static void test_against_oracle(_unused_ void **state) {
        static const int bounds[5][2] = {{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}};

        for (int round = 0; round < 400; round++) {
                char text[5][32], line[200];
                Plain plain[5];
                int64_t now = (int64_t)random_to(2000000) * 3600 * 1000000, next = -1;
                bool has_next;
                Cron cron;

                for (int i = 0; i < 5; i++)
                        random_field(&plain[i], bounds[i][0], bounds[i][1], text[i], sizeof(text[i]));
                snprintf(line, sizeof(line), "%s %s %s %s %s", text[0], text[1], text[2], text[3], text[4]);
                cron = parse(line, 0);
                has_next = cron_next(&cron, now, &next);
                for (int64_t t = now + 60000000; t < now + INT64_C(4000) * 60000000; t += 60000000) {
                        bool fits = oracle_fits(plain, t);
                        if (fits != cron_fits(&cron, t) || (fits && (!has_next || next > t)) ||
                            (!fits && has_next && next == t))
                                fail_msg("%s at %lld", line, (long long)t);
                        if (fits && next < t) /* the next one after the last */
                                has_next = cron_next(&cron, next, &next);
                        if (fits && next != t)
                                fail_msg("%s: next %lld, want %lld", line, (long long)next, (long long)t);
                }
        }
}

/* What a step on the star means to the original, for every step and field value. */
static void test_steps_divide(_unused_ void **state) {
        for (int n = 1; n <= 60; n++) {
                char line[64];
                Cron cron;

                snprintf(line, sizeof(line), "*/%d */%d */%d */%d */%d", n, n, n, n, n);
                cron = parse(line, CRON_STEP_DIVIDES);
                for (int v = 0; v < 60; v++) {
                        assert_int_equal(cron.minutes >> v & 1, v % n == 0);
                        if (v < 24)
                                assert_int_equal(cron.hours >> v & 1, v % n == 0);
                        if (v >= 1 && v <= 31)
                                assert_int_equal(cron.days >> v & 1, v % n == 0);
                        if (v >= 1 && v <= 12)
                                assert_int_equal(cron.months >> v & 1, v % n == 0);
                }
                assert_int_equal(cron.days & 1, 0);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_next),
                cmocka_unit_test(test_wrong),
                cmocka_unit_test(test_against_oracle),
                cmocka_unit_test(test_steps_divide),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
