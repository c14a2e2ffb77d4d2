/* SPDX-License-Identifier: MIT */
#include "base/time.h"

/*
 * Civil dates by arithmetic on the proleptic Gregorian calendar (Howard Hinnant's days_from_civil): a year
 * starts on the first of March, so that the leap day is its last one, and an era is 400 years. No zone, no
 * locale, no lock.
 */
enum { ERA_DAYS = 146097, EPOCH_DAYS = 719468 }; /* days of 400 years; 0000-03-01 to 1970-01-01 */

static const int64_t US_PER_S = 1000000;
static const int64_t S_PER_DAY = 86400;
static const int64_t US_MIN = INT64_C(-62167219200) * 1000000;          /* 0000-01-01T00:00:00Z */
static const int64_t US_MAX = INT64_C(253402300799) * 1000000 + 999999; /* the last microsecond of 9999 */

/* year 0..9999, month 1..12, day 1..31 */
static int64_t days_from_civil(int64_t year, int64_t month, int64_t day) {
        int64_t y = year - (month <= 2) + 400; /* never negative */
        int64_t era = y / 400, year_of_era = y % 400;
        int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
        int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

        return (era - 1) * ERA_DAYS + day_of_era - EPOCH_DAYS;
}

/* Microseconds since 0000-01-01, never negative. */
static int64_t time_since_year_0(int64_t us) {
        return (us < US_MIN ? US_MIN : us > US_MAX ? US_MAX : us) - US_MIN;
}

unsigned time_weekday(int64_t us) {
        return (unsigned)((time_since_year_0(us) / (S_PER_DAY * US_PER_S) + 6) %
                          7); /* it began on a Saturday */
}

Civil time_civil(int64_t us) {
        int64_t since = time_since_year_0(us), days, rest, era, day_of_era, year_of_era, day_of_year, month;
        Civil c;

        days = since / (S_PER_DAY * US_PER_S);
        rest = since % (S_PER_DAY * US_PER_S);

        days += ERA_DAYS - 60; /* since -0400-03-01: 60 days from 0000-01-01 to 0000-03-01 */
        era = days / ERA_DAYS;
        day_of_era = days % ERA_DAYS;
        year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
        day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        month = (5 * day_of_year + 2) / 153; /* from March */

        c.day = (unsigned)(day_of_year - (153 * month + 2) / 5 + 1);
        c.month = (unsigned)(month < 10 ? month + 3 : month - 9);
        c.year = (unsigned)((era - 1) * 400 + year_of_era + (c.month <= 2));
        c.us = (unsigned)(rest % US_PER_S);
        rest /= US_PER_S;
        c.second = (unsigned)(rest % 60);
        c.minute = (unsigned)(rest / 60 % 60);
        c.hour = (unsigned)(rest / 3600);
        return c;
}

int64_t time_of_civil(const Civil *civil) {
        int64_t days = days_from_civil(civil->year, civil->month, 1) + civil->day - 1;

        return (days * S_PER_DAY + civil->hour * INT64_C(3600) + civil->minute * INT64_C(60) +
                civil->second) *
                       US_PER_S +
               civil->us;
}

static char *put_digits(char *at, unsigned value, unsigned n_digits) {
        for (unsigned i = n_digits; i-- > 0; value /= 10)
                at[i] = (char)('0' + value % 10);
        return at + n_digits;
}

static size_t format_with(int64_t us, unsigned n_fraction, char out[TIME_TEXT_MAX]) {
        Civil c = time_civil(us);
        char *at = out;

        at = put_digits(at, c.year, 4);
        *at++ = '-';
        at = put_digits(at, c.month, 2);
        *at++ = '-';
        at = put_digits(at, c.day, 2);
        *at++ = 'T';
        at = put_digits(at, c.hour, 2);
        *at++ = ':';
        at = put_digits(at, c.minute, 2);
        *at++ = ':';
        at = put_digits(at, c.second, 2);
        if (n_fraction) {
                *at++ = '.';
                at = put_digits(at, n_fraction == 3 ? c.us / 1000 : c.us, n_fraction);
        }
        *at++ = 'Z';
        *at = 0;
        return (size_t)(at - out);
}

size_t time_format_s(int64_t us, char out[TIME_TEXT_MAX]) {
        return format_with(us, 0, out);
}

size_t time_format_ms(int64_t us, char out[TIME_TEXT_MAX]) {
        return format_with(us, 3, out);
}

size_t time_format_us(int64_t us, char out[TIME_TEXT_MAX]) {
        return format_with(us, 6, out);
}

size_t time_format_stamp(int64_t us, char out[TIME_TEXT_MAX]) {
        Civil c = time_civil(us);
        char *at = out;

        at = put_digits(at, c.year, 4);
        at = put_digits(at, c.month, 2);
        at = put_digits(at, c.day, 2);
        *at++ = 'T';
        at = put_digits(at, c.hour, 2);
        at = put_digits(at, c.minute, 2);
        at = put_digits(at, c.second, 2);
        *at++ = 'Z';
        *at = 0;
        return (size_t)(at - out);
}

/* The take_ functions consume what they accept from the front of *s. */
static bool time_take_char(Str *s, char c) {
        if (!s->n || s->data[0] != c)
                return false;
        s->data++, s->n--;
        return true;
}

static bool time_take_any(Str *s, const char *set) {
        for (; *set; set++)
                if (time_take_char(s, *set))
                        return true;
        return false;
}

static bool time_take_digits(Str *s, unsigned n_digits, unsigned *ret) {
        unsigned value = 0;

        if (s->n < n_digits)
                return false;
        for (unsigned i = 0; i < n_digits; i++) {
                if (s->data[i] < '0' || s->data[i] > '9')
                        return false;
                value = value * 10 + (unsigned)(s->data[i] - '0');
        }
        s->data += n_digits, s->n -= n_digits;
        *ret = value;
        return true;
}

/* Digits beyond the microsecond are dropped. */
static bool take_fraction(Str *s, unsigned *ret_us) {
        unsigned us = 0, n = 0, digit;

        for (; time_take_digits(s, 1, &digit); n++)
                if (n < 6)
                        us = us * 10 + digit;
        if (!n)
                return false;
        for (; n < 6; n++)
                us *= 10;
        *ret_us = us;
        return true;
}

static bool take_zone(Str *s, int64_t *ret_offset_s) {
        unsigned hours, minutes;
        bool west;

        *ret_offset_s = 0;
        if (s->n == 0 || time_take_any(s, "Zz"))
                return true;
        west = s->data[0] == '-';
        if (!time_take_any(s, "+-") || !time_take_digits(s, 2, &hours) || !time_take_char(s, ':') ||
            !time_take_digits(s, 2, &minutes))
                return false;
        if (hours > 23 || minutes > 59)
                return false;
        *ret_offset_s = (int64_t)(hours * 3600 + minutes * 60) * (west ? -1 : 1);
        return true;
}

static unsigned days_in_month(unsigned year, unsigned month) {
        static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
        bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

        return days[month - 1] + (month == 2 && leap);
}

/* False: there is no such time. */
static bool time_from_civil(const Civil *c, int64_t offset_s, int64_t *ret_us) {
        int64_t us;

        if (c->month < 1 || c->month > 12 || c->day < 1 || c->day > days_in_month(c->year, c->month))
                return false;
        if (c->hour > 23 || c->minute > 59 ||
            c->second > 60) /* 60: a leap second is the first of the next minute */
                return false;
        us = days_from_civil(c->year, c->month, c->day) * S_PER_DAY;
        us += (int64_t)c->hour * 3600 + (int64_t)c->minute * 60 + c->second - offset_s;
        us = us * US_PER_S + c->us;
        if (us < US_MIN || us > US_MAX)
                return false;
        *ret_us = us;
        return true;
}

bool time_parse_stamp(Str text, int64_t *ret_us) {
        Civil c = {0};

        return time_take_digits(&text, 4, &c.year) && time_take_digits(&text, 2, &c.month) &&
               time_take_digits(&text, 2, &c.day) && time_take_char(&text, 'T') &&
               time_take_digits(&text, 2, &c.hour) && time_take_digits(&text, 2, &c.minute) &&
               time_take_digits(&text, 2, &c.second) && time_take_char(&text, 'Z') && !text.n &&
               time_from_civil(&c, 0, ret_us);
}

bool time_parse(Str text, int64_t *ret_us) {
        int64_t offset_s;
        Civil c = {0};

        if (!time_take_digits(&text, 4, &c.year) || !time_take_char(&text, '-') ||
            !time_take_digits(&text, 2, &c.month) || !time_take_char(&text, '-') ||
            !time_take_digits(&text, 2, &c.day) || !time_take_any(&text, "Tt ") ||
            !time_take_digits(&text, 2, &c.hour) || !time_take_char(&text, ':') ||
            !time_take_digits(&text, 2, &c.minute) || !time_take_char(&text, ':') ||
            !time_take_digits(&text, 2, &c.second))
                return false;
        if (time_take_char(&text, '.') && !take_fraction(&text, &c.us))
                return false;
        return take_zone(&text, &offset_s) && !text.n && time_from_civil(&c, offset_s, ret_us);
}
