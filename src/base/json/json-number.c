/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json/json-private.h"

/* A number is digits * 10^exponent. strtod() gets it in this form, which no locale's decimal point can
 * spoil. */
typedef struct Decimal {
        bool negative;
        Str whole;        /* digits before the point */
        Str part;         /* digits behind it */
        int64_t exponent; /* of the last digit */
} Decimal;

static const int64_t exponent_max = 100000000000; /* more than any text we read has digits */

/* The run of digits at p. */
static Str json_number_take_digits(const char *p, const char *end) {
        const char *start = p;

        while (p < end && json_is_digit(*p))
                p++;
        return (Str){start, (size_t)(p - start)};
}

static Decimal decimal_split(Str text) {
        const char *p = text.data, *end = text.data + text.n;
        Decimal d = {0};
        bool minus = false;

        if (p < end && *p == '-')
                d.negative = true, p++;
        d.whole = json_number_take_digits(p, end);
        p += d.whole.n;
        if (p < end && *p == '.') {
                d.part = json_number_take_digits(p + 1, end);
                p += 1 + d.part.n;
        }
        if (p < end && (*p == 'e' || *p == 'E')) {
                p++;
                if (p < end && (*p == '+' || *p == '-'))
                        minus = *p++ == '-';
                for (; p < end; p++)
                        if (d.exponent < exponent_max)
                                d.exponent = d.exponent * 10 + (*p - '0');
                if (minus)
                        d.exponent = -d.exponent;
        }
        d.exponent -= (int64_t)d.part.n;
        return d;
}

/* Appends digits to *value; false when that is too large. */
static bool add_digits(uint64_t *value, Str digits) {
        for (size_t i = 0; i < digits.n; i++)
                if (__builtin_mul_overflow(*value, 10, value) ||
                    __builtin_add_overflow(*value, (uint64_t)(digits.data[i] - '0'), value))
                        return false;
        return true;
}

static void trim_zeros(Str *digits, int64_t *exponent) {
        while (digits->n && digits->data[digits->n - 1] == '0')
                digits->n--, ++*exponent;
}

/* The exact integer that a number stands for, however it is written: 1, 1.0, 10e-1. */
static bool read_integer(const Json *json, bool *ret_negative, uint64_t *ret) {
        uint64_t value = 0;
        Decimal d;

        if (!json_is(json, JSON_NUMBER))
                return false;
        d = decimal_split((Str){json->text, json->n});
        if (!(json->flags & JSON_F_INTEGER)) {
                trim_zeros(&d.part, &d.exponent);
                if (d.part.n == 0)
                        trim_zeros(&d.whole, &d.exponent);
        }
        if (!add_digits(&value, d.whole) || !add_digits(&value, d.part))
                return false;
        if (value != 0 && d.exponent < 0)
                return false;
        for (; value != 0 && d.exponent > 0; d.exponent--)
                if (__builtin_mul_overflow(value, 10, &value))
                        return false;
        *ret_negative = d.negative && value != 0;
        *ret = value;
        return true;
}

bool json_is_integer(const Json *json) {
        if (!json_is(json, JSON_NUMBER))
                return false;
        for (uint32_t i = 0; i < json->n; i++)
                if (json->text[i] != '-' && (json->text[i] < '0' || json->text[i] > '9'))
                        return false;
        return true;
}

bool json_uint64(const Json *json, uint64_t *ret) {
        uint64_t value;
        bool negative;

        if (!read_integer(json, &negative, &value) || negative)
                return false;
        *ret = value;
        return true;
}

bool json_int64(const Json *json, int64_t *ret) {
        uint64_t value;
        bool negative;

        if (!read_integer(json, &negative, &value) || value > (uint64_t)INT64_MAX + negative)
                return false;
        *ret = negative ? (int64_t)(0 - value) : (int64_t)value;
        return true;
}

/* Small numbers: both factors are exact, so one rounding gives the right answer. */
static bool read_double_fast(const Decimal *d, double *ret) {
        static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                        1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                        1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
        const int64_t max = (int64_t)ARRAY_SIZE(powers) - 1;
        uint64_t digits = 0;

        if (FLT_EVAL_METHOD != 0 || d->exponent < -max || d->exponent > max)
                return false;
        if (!add_digits(&digits, d->whole) || !add_digits(&digits, d->part) || digits > (uint64_t)1 << 53)
                return false;
        *ret = d->exponent < 0 ? (double)digits / powers[-d->exponent]
                               : (double)digits * powers[d->exponent];
        return true;
}

static bool read_double_slow(const Decimal *d, double *ret) {
        enum { N_EXPONENT = 24 };
        char few[128], *text = few;
        size_t n = d->whole.n + d->part.n;

        if (n + N_EXPONENT > sizeof(few))
                text = malloc(n + N_EXPONENT);
        if (!text)
                return false;
        memcpy(text, d->whole.data, d->whole.n);
        if (d->part.n)
                memcpy(text + d->whole.n, d->part.data, d->part.n);
        snprintf(text + n, N_EXPONENT, "e%lld", (long long)d->exponent);
        *ret = strtod(text, NULL);
        if (text != few)
                free(text);
        return true;
}

bool json_is_whole(const Json *json) {
        double value;

        if (!json_double(json, &value))
                return false;
        /* From there on doubles have no fraction; below it all fit an integer. */
        return value >= 0x1p53 || value <= -0x1p53 || value == (double)(int64_t)value;
}

bool json_double(const Json *json, double *ret) {
        double value;
        Decimal d;

        if (!json_is(json, JSON_NUMBER))
                return false;
        d = decimal_split((Str){json->text, json->n});
        if (!read_double_fast(&d, &value) && !read_double_slow(&d, &value))
                return false;
        if (isinf(value))
                return false;
        *ret = d.negative ? -value : value;
        return true;
}

size_t json_format_uint(char *text, uint64_t value) {
        size_t n = 1;

        for (uint64_t rest = value; rest > 9; rest /= 10)
                n++;
        for (size_t i = n; i-- > 0; value /= 10)
                text[i] = (char)('0' + value % 10);
        return n;
}

size_t json_format_int(char *text, int64_t value) {
        if (value >= 0)
                return json_format_uint(text, (uint64_t)value);
        text[0] = '-';
        return 1 + json_format_uint(text + 1, 0 - (uint64_t)value);
}

/*
 * The fewest significant digits that read back as value (which is positive), and the power of ten of the
 * first. 15 digits survive the way through a double and back, so a shorter form shows as trailing zeros of
 * those 15; the smallest numbers have less precision and are tried from 1.
 */
static int shortest_digits(double value, char digits[18], int *ret_power) {
        char text[JSON_NUMBER_MAX], back[JSON_NUMBER_MAX];

        for (int n = value < DBL_MIN ? 1 : 15;; n++) {
                const char *p = text;
                int n_digits = 0;

                snprintf(text, sizeof(text), "%.*e", n - 1, value);
                for (; *p != 'e'; p++)
                        if (json_is_digit(*p))
                                digits[n_digits++] = *p;
                digits[n_digits] = 0;
                *ret_power = atoi(p + 1);
                snprintf(back, sizeof(back), "%se%d", digits, *ret_power - (n_digits - 1));
                if (n < 17 && strtod(back, NULL) != value)
                        continue;
                while (n_digits > 1 && digits[n_digits - 1] == '0')
                        n_digits--;
                return n_digits;
        }
}

static size_t json_number_put(char *to, const char *data, int n) {
        memcpy(to, data, (size_t)n);
        return (size_t)n;
}

static size_t put_zeros(char *to, int n) {
        memset(to, '0', (size_t)n);
        return (size_t)n;
}

/* Laid out as ECMAScript does (and RFC 8785), but -0 keeps its sign. */
size_t json_format_double(char *text, double value) {
        char digits[18], *to = text;
        int power, n;

        if (signbit(value))
                *to++ = '-';
        if (value == 0) {
                *to++ = '0';
                return (size_t)(to - text);
        }
        n = shortest_digits(fabs(value), digits, &power);
        if (power >= 0 && power < 21) {
                to += json_number_put(to, digits, MIN(n, power + 1));
                if (n > power + 1) {
                        *to++ = '.';
                        to += json_number_put(to, digits + power + 1, n - power - 1);
                } else {
                        to += put_zeros(to, power + 1 - n);
                }
        } else if (power < 0 && power >= -6) {
                to += json_number_put(to, "0.", 2);
                to += put_zeros(to, -power - 1);
                to += json_number_put(to, digits, n);
        } else {
                *to++ = digits[0];
                if (n > 1) {
                        *to++ = '.';
                        to += json_number_put(to, digits + 1, n - 1);
                }
                *to++ = 'e';
                *to++ = power < 0 ? '-' : '+';
                to += json_format_uint(to, (uint64_t)abs(power));
        }
        return (size_t)(to - text);
}
