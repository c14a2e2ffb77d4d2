/* SPDX-License-Identifier: MIT */
#include "base/time.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/test-cmocka.h"

static const int64_t S = 1000000;

static void assert_parses(const char *text, int64_t us) {
        int64_t got = -1;

        if (!time_parse(str_from(text), &got))
                fail_msg("not parsed: %s", text);
        assert_int_equal(got, us);
}

static void assert_refused(const char *text) {
        int64_t got = 42;

        if (time_parse(str_from(text), &got))
                fail_msg("parsed: %s", text);
        assert_int_equal(got, 42);
}

static void test_format(void **state) {
        char out[TIME_TEXT_MAX];

        (void)state;
        assert_int_equal(time_format_s(0, out), 20);
        assert_string_equal(out, "1970-01-01T00:00:00Z");
        assert_int_equal(time_format_ms(0, out), 24);
        assert_string_equal(out, "1970-01-01T00:00:00.000Z");
        assert_int_equal(time_format_us(INT64_C(1767323045678901), out), 27);
        assert_string_equal(out, "2026-01-02T03:04:05.678901Z");
        time_format_ms(INT64_C(1767323045678901), out);
        assert_string_equal(out, "2026-01-02T03:04:05.678Z");
        time_format_s(INT64_C(1767323045999999), out);
        assert_string_equal(out, "2026-01-02T03:04:05Z");
        time_format_us(-1, out);
        assert_string_equal(out, "1969-12-31T23:59:59.999999Z");
        time_format_s(-1, out);
        assert_string_equal(out, "1969-12-31T23:59:59Z");
}

static void test_format_limits(void **state) {
        char out[TIME_TEXT_MAX];

        (void)state;
        time_format_us(INT64_MIN, out);
        assert_string_equal(out, "0000-01-01T00:00:00.000000Z");
        time_format_us(INT64_MAX, out);
        assert_string_equal(out, "9999-12-31T23:59:59.999999Z");
        time_format_us(INT64_C(-62167219200) * S, out);
        assert_string_equal(out, "0000-01-01T00:00:00.000000Z");
        time_format_us(INT64_C(-62167219200) * S + 1, out);
        assert_string_equal(out, "0000-01-01T00:00:00.000001Z");
}

static void test_parse(void **state) {
        (void)state;
        assert_parses("1970-01-01T00:00:00Z", 0);
        assert_parses("1970-01-01t00:00:00z", 0);
        assert_parses("1970-01-01 00:00:00Z", 0);
        assert_parses("1970-01-01T00:00:00", 0);
        assert_parses("1970-01-01T00:00:00.5", 500000);
        assert_parses("2026-01-02T03:04:05.678901Z", INT64_C(1767323045678901));
        assert_parses("2026-01-02T03:04:05.6789019999Z", INT64_C(1767323045678901));
        assert_parses("2026-01-02T03:04:05+00:00", INT64_C(1767323045) * S);
        assert_parses("2026-01-02T03:04:05-00:00", INT64_C(1767323045) * S);
        assert_parses("2026-01-02T05:34:05+02:30", INT64_C(1767323045) * S);
        assert_parses("2026-01-01T19:04:05-08:00", INT64_C(1767323045) * S);
        assert_parses("2000-02-29T00:00:00Z", INT64_C(951782400) * S);
        assert_parses("2016-12-31T23:59:60Z", INT64_C(1483228800) * S);
        assert_parses("0000-01-01T00:00:00Z", INT64_C(-62167219200) * S);
        assert_parses("9999-12-31T23:59:59.999999Z", INT64_C(253402300799) * S + 999999);
}

static void test_refuse(void **state) {
        static const char *const texts[] = {
                "",
                "2026-01-02",
                "2026-01-02T",
                "2026-01-02T03:04",
                "2026-01-02T03:04Z",
                "2026-1-2T03:04:05Z",
                "2026-01-02T03:04:05.Z",
                "2026-01-02T03:04:05,5Z",
                "2026-01-02T03:04:05Z ",
                " 2026-01-02T03:04:05Z",
                "2026-01-02T03:04:05+02",
                "2026-01-02T03:04:05+0200",
                "2026-01-02T03:04:05+24:00",
                "2026-01-02T03:04:05+02:60",
                "2026-01-02T24:00:00Z",
                "2026-01-02T23:60:00Z",
                "2026-01-02T23:59:61Z",
                "2026-00-02T03:04:05Z",
                "2026-13-02T03:04:05Z",
                "2026-01-00T03:04:05Z",
                "2026-01-32T03:04:05Z",
                "2026-04-31T03:04:05Z",
                "2026-02-29T03:04:05Z",
                "1900-02-29T03:04:05Z",
                "+2026-01-02T03:04:05Z",
                "-026-01-02T03:04:05Z",
                "2026-01-02X03:04:05Z",
                "0000-01-01T00:00:00+00:01",
                "9999-12-31T23:59:59-00:01",
                "1767323045",
        };

        (void)state;
        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
                assert_refused(texts[i]);
        int64_t us;
        assert_false(time_parse(STR_NULL, &us));
        assert_false(time_parse((Str){"2026-01-02T03:04:05\0Z", 21}, &us));
}

static void test_stamp(void **state) {
        static const char *const texts[] = {"",
                                            "20260101T000000",
                                            "20260101T000000Z-",
                                            "2026-01-01T00:00:00Z",
                                            "20260101t000000Z",
                                            "20261301T000000Z",
                                            "20260229T000000Z",
                                            "20260101T240000Z",
                                            " 20260101T000000Z"};
        char out[TIME_TEXT_MAX];
        int64_t us;

        (void)state;
        assert_int_equal(time_format_stamp(INT64_C(1767225600000001), out), 16);
        assert_string_equal(out, "20260101T000000Z");
        assert_true(time_parse_stamp(STR("20240229T235959Z"), &us));
        assert_int_equal(us, INT64_C(1709251199) * S);
        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
                assert_false(time_parse_stamp(str_from(texts[i]), &us));
}

/* Every day of the calendar against libc, forth and back. */
static void test_all_days(void **state) {
        char out[TIME_TEXT_MAX], want[TIME_TEXT_MAX * 2];

        (void)state;
        for (int64_t s = INT64_C(-62167219200); s < INT64_C(253402300800); s += 86400) {
                time_t t = (time_t)(s + 45296);
                struct tm tm;
                int64_t back;

                assert_non_null(gmtime_r(&t, &tm));
                snprintf(want, sizeof(want), "%04d-%02d-%02dT%02d:%02d:%02dZ", tm.tm_year + 1900,
                         tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
                time_format_s((s + 45296) * S, out);
                if (strcmp(out, want) != 0)
                        fail_msg("%s is not %s", out, want);
                if (!time_parse(str_from(out), &back) || back != (s + 45296) * S)
                        fail_msg("%s does not read back", out);
                if (time_weekday((s + 45296) * S) != (unsigned)tm.tm_wday)
                        fail_msg("%s: weekday %u is not %d", out, time_weekday((s + 45296) * S), tm.tm_wday);
                time_format_stamp((s + 45296) * S, out);
                if (!time_parse_stamp(str_from(out), &back) || back != (s + 45296) * S)
                        fail_msg("%s does not read back", out);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_format), cmocka_unit_test(test_format_limits),
                cmocka_unit_test(test_parse),  cmocka_unit_test(test_refuse),
                cmocka_unit_test(test_stamp),  cmocka_unit_test(test_all_days),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
