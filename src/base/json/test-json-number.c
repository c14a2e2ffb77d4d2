/* SPDX-License-Identifier: MIT */
/* Numbers of JSON: what fits which type, what is written for a double, and that it reads back. */
#include "base/json/test-json-fixture.h"

#include <float.h>
#include <locale.h>
#include <math.h>

#include "base/macro.h"

typedef struct Number {
        const char *text;
        bool fits_int, fits_uint, fits_double;
        int64_t i;
        uint64_t u;
        double d;
} Number;

static const Number numbers[] = {
        {"0", true, true, true, 0, 0, 0},
        {"-0", true, true, true, 0, 0, -0.0},
        {"-0.0", true, true, true, 0, 0, -0.0},
        {"1", true, true, true, 1, 1, 1},
        {"-1", true, false, true, -1, 0, -1},
        {"1.0", true, true, true, 1, 1, 1},
        {"1e2", true, true, true, 100, 100, 100},
        {"12.50e1", true, true, true, 125, 125, 125},
        {"100e-2", true, true, true, 1, 1, 1},
        {"1e-1", false, false, true, 0, 0, 0.1},
        {"0.1", false, false, true, 0, 0, 0.1},
        {"1.5", false, false, true, 0, 0, 1.5},
        {"1e-7", false, false, true, 0, 0, 1e-7},
        {"0e99999999999999999999", true, true, true, 0, 0, 0},
        {"0.000e-5", true, true, true, 0, 0, 0},
        {"9007199254740993", true, true, true, 9007199254740993, 9007199254740993, 9007199254740992.0},
        {"9223372036854775807", true, true, true, INT64_MAX, INT64_MAX, 9223372036854775808.0},
        {"9223372036854775808", false, true, true, 0, 9223372036854775808u, 9223372036854775808.0},
        {"-9223372036854775808", true, false, true, INT64_MIN, 0, -9223372036854775808.0},
        {"-9223372036854775809", false, false, true, 0, 0, -9223372036854775808.0},
        {"18446744073709551615", false, true, true, 0, UINT64_MAX, 18446744073709551616.0},
        {"18446744073709551616", false, false, true, 0, 0, 18446744073709551616.0},
        {"18446744073709551620", false, false, true, 0, 0, 18446744073709551616.0},
        {"9.223372036854775807e18", true, true, true, INT64_MAX, INT64_MAX, 9223372036854775808.0},
        {"1e19", false, true, true, 0, 10000000000000000000u, 1e19},
        {"1e20", false, false, true, 0, 0, 1e20},
        {"123456789012345678901234567890", false, false, true, 0, 0, 123456789012345678901234567890.0},
        {"1e22", false, false, true, 0, 0, 1e22},
        {"1e23", false, false, true, 0, 0, 1e23},
        {"1e308", false, false, true, 0, 0, 1e308},
        {"1.7976931348623157e308", false, false, true, 0, 0, DBL_MAX},
        {"1e309", false, false, false, 0, 0, 0},
        {"1e400", false, false, false, 0, 0, 0},
        {"-1e400", false, false, false, 0, 0, 0},
        {"1e99999999999999999999", false, false, false, 0, 0, 0},
        {"1e-99999999999999999999", false, false, true, 0, 0, 0},
        {"5e-324", false, false, true, 0, 0, 5e-324},
        {"2.2250738585072011e-308", false, false, true, 0, 0, 2.2250738585072011e-308},
        {"9007199254740993.0000000000000000000000000000001", false, false, true, 0, 0, 9007199254740994.0},
        {"0.1000000000000000055511151231257827021181583404541015625", false, false, true, 0, 0, 0.1},
};

static void check_number(const Number *n) {
        Json *json = parse(n->text);
        int64_t i = 42;
        uint64_t u = 42;
        double d = 42;

        if (json_int64(json, &i) != n->fits_int || i != (n->fits_int ? n->i : 42))
                fail_msg("%s: int64 %lld", n->text, (long long)i);
        if (json_uint64(json, &u) != n->fits_uint || u != (n->fits_uint ? n->u : 42))
                fail_msg("%s: uint64 %llu", n->text, (unsigned long long)u);
        if (json_double(json, &d) != n->fits_double || d != (n->fits_double ? n->d : 42) ||
            (n->fits_double && signbit(d) != signbit(n->d)))
                fail_msg("%s: double %.17g", n->text, d);
        assert_written(json, n->text);
}

static void test_numbers(void **state) {
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
                check_number(&numbers[i]);
}

static void test_long_numbers(void **state) {
        enum { N = 5000 };
        char text[N + 16];
        Json *json;
        int64_t i;
        double d;

        (void)state;
        memset(text, '0', sizeof(text));
        memcpy(text, "0.", 2);
        memcpy(text + N, "1e4999", 7); /* 0.000...1e4999 */
        json = parse(text);
        assert_true(json_double(json, &d) && d == 1);
        assert_true(json_int64(json, &i) && i == 1);
        memset(text, '7', N);
        text[N] = 0;
        json = parse(text);
        assert_false(json_double(json, &d) || json_int64(json, &i));
}

static void test_numbers_in_other_locale(void **state) {
        static const char *const names[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8"};
        const char *name = NULL;
        double d;

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(names) && !name; i++)
                name = setlocale(LC_NUMERIC, names[i]);
        if (!name)
                skip(); /* none with a decimal comma on this machine */
        assert_true(json_double(parse("123.4560000000000000000000001"), &d) && d == 123.456);
        assert_written(json_new_double(&arena, 0.5), "0.5");
        assert_written(json_new_double(&arena, 1.0 / 3), "0.3333333333333333");
        setlocale(LC_NUMERIC, "C");
}

static const struct {
        double value;
        const char *text;
} doubles[] = {
        {0, "0"},
        {-0.0, "-0"},
        {1, "1"},
        {-1, "-1"},
        {0.1, "0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1e-7, "1e-7"},
        {1e-6, "0.000001"},
        {1.5e-6, "0.0000015"},
        {123456789, "123456789"},
        {123.456, "123.456"},
        {100, "100"},
        {1e20, "100000000000000000000"},
        {1e21, "1e+21"},
        {1.5e300, "1.5e+300"},
        {1e23, "1e+23"},
        {9007199254740992.0, "9007199254740992"},
        {1.0 / 3, "0.3333333333333333"},
        {2.0 / 3, "0.6666666666666666"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {-DBL_MIN, "-2.2250738585072014e-308"},
        {5e-324, "5e-324"},
        {1715937063.123456, "1715937063.123456"},
        {INFINITY, "null"},
        {-INFINITY, "null"},
        {NAN, "null"},
};

static void test_doubles(void **state) {
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(doubles); i++) {
                Json *json = json_new_double(&arena, doubles[i].value);
                JsonWriter w = JSON_WRITER(&out);
                double back;

                assert_written(json, doubles[i].text);
                if (isfinite(doubles[i].value))
                        assert_true(json_double(json, &back) && back == doubles[i].value);
                out.n = 0;
                jw_double(&w, doubles[i].value);
                assert_str(buf_str(&out), doubles[i].text);
        }
}

static void test_doubles_read_back(void **state) {
        uint64_t bits = 88172645463325252u;

        (void)state;
        for (int i = 0; i < 20000; i++) {
                double value, back;
                Json *json;

                bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
                memcpy(&value, &bits, sizeof(value));
                if (!isfinite(value))
                        continue;
                json = json_new_double(&arena, value);
                if (!json_double(json, &back) || memcmp(&back, &value, sizeof(value)))
                        fail_msg("%a came back as %a", value, back);
                arena_reset(&arena);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                json_test(test_numbers),
                json_test(test_long_numbers),
                json_test(test_numbers_in_other_locale),
                json_test(test_doubles),
                json_test(test_doubles_read_back),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
