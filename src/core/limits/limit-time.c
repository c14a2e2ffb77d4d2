/* SPDX-License-Identifier: MIT */
#include "core/limits/limit-time.h"

#include "base/macro.h"
#include "base/time.h"

enum { LIMIT_TIME_MAX = 200, LIMIT_EPOCH_DIGITS = 9 };
#define LIMIT_TIME_S      INT64_C(1000000)
#define LIMIT_TIME_DAY_US (INT64_C(86400) * LIMIT_TIME_S)
#define LIMIT_EPOCH_MAX   INT64_C(100000000000)

/* ---- words ----------------------------------------------------------------------------------- */

typedef struct LimitReader {
        Str rest;
} LimitReader;

static bool limit_is_letter(char c) {
        return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool limit_is_digit(char c) {
        return c >= '0' && c <= '9';
}

static void limit_drop(LimitReader *reader, size_t n) {
        reader->rest = (Str){reader->rest.data + n, reader->rest.n - n};
}

static void limit_drop_blanks(LimitReader *reader) {
        while (reader->rest.n && (reader->rest.data[0] == ' ' || reader->rest.data[0] == ','))
                limit_drop(reader, 1);
}

static Str limit_letters(LimitReader *reader) {
        Str word = {reader->rest.data, 0};

        while (word.n < reader->rest.n && limit_is_letter(word.data[word.n]))
                word.n++;
        limit_drop(reader, word.n);
        return word;
}

static Str limit_digits(LimitReader *reader) {
        Str word = {reader->rest.data, 0};

        while (word.n < reader->rest.n && limit_is_digit(word.data[word.n]))
                word.n++;
        limit_drop(reader, word.n);
        return word;
}

static int64_t limit_value(Str digits) {
        int64_t value = 0;

        for (size_t i = 0; i < digits.n && value < LIMIT_EPOCH_MAX; i++)
                value = value * 10 + (digits.data[i] - '0');
        return value;
}

/* 0: it is none. */
static unsigned limit_month(Str word) {
        static const char months[][4] = {"jan", "feb", "mar", "apr", "may", "jun",
                                         "jul", "aug", "sep", "oct", "nov", "dec"};

        for (unsigned i = 0; word.n >= 3 && word.n <= 9 && i < ARRAY_SIZE(months); i++)
                if (str_eq_nocase((Str){word.data, 3}, str_from(months[i])))
                        return i + 1;
        return 0;
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* 3pm, 3:42 PM, 15:00: the hour was read. False: it is no hour. */
static bool limit_take_hour(LimitReader *reader, int64_t hour, LimitTime *ret) {
        LimitReader ahead = *reader;
        Str word, digits = STR_NULL;
        bool is_pm;

        if (ahead.rest.n && ahead.rest.data[0] == ':') {
                limit_drop(&ahead, 1);
                digits = limit_digits(&ahead);
                if (digits.n != 2 || limit_value(digits) > 59)
                        return false;
                *reader = ahead;
        }
        limit_drop_blanks(&ahead);
        word = limit_letters(&ahead);
        is_pm = str_eq_nocase(word, STR("pm"));
        if (is_pm || str_eq_nocase(word, STR("am"))) {
                if (hour < 1 || hour > 12)
                        return false;
                hour = hour % 12 + (is_pm ? 12 : 0);
                *reader = ahead;
        } else if (!digits.n || hour > 23)
                return false;
        ret->has_hour = true;
        ret->hour = (unsigned)hour;
        ret->minute = (unsigned)limit_value(digits);
        return true;
}

/* 11, 11th: a day of the month that was named. */
static bool limit_take_day(LimitReader *reader, Str digits, LimitTime *ret) {
        LimitReader ahead = *reader;
        Str suffix = limit_letters(&ahead);

        if (!ret->month || ret->day || digits.n > 2 || limit_value(digits) < 1 || limit_value(digits) > 31)
                return false;
        if (str_eq_nocase(suffix, STR("st")) || str_eq_nocase(suffix, STR("nd")) ||
            str_eq_nocase(suffix, STR("rd")) || str_eq_nocase(suffix, STR("th")))
                *reader = ahead;
        ret->day = (unsigned)limit_value(digits);
        ret->has_date = true;
        return true;
}

static bool limit_take_number(LimitReader *reader, LimitTime *ret) {
        Str digits = limit_digits(reader);
        int64_t value = limit_value(digits);

        if (digits.n >= LIMIT_EPOCH_DIGITS) {
                ret->at_us = value < LIMIT_EPOCH_MAX ? value * LIMIT_TIME_S : 0;
                return ret->at_us;
        }
        if (digits.n == 4 && ret->has_date && !ret->has_year) {
                if (value <= 1970) /* in some zones its first day is none of the clock's */
                        return false;
                ret->has_year = true;
                ret->year = (unsigned)value;
                return true;
        }
        if (digits.n <= 2 && !ret->has_hour && limit_take_hour(reader, value, ret))
                return true;
        return limit_take_day(reader, digits, ret);
}

static bool limit_take_word(LimitReader *reader, LimitTime *ret) {
        Str word = limit_letters(reader);
        unsigned month = limit_month(word);

        if (month && !ret->month) {
                ret->month = month;
                return true;
        }
        return str_eq_nocase(word, STR("at")) || str_eq_nocase(word, STR("on"));
}

static bool limit_take_zone(LimitReader *reader, LimitTime *ret) {
        const char *end = memchr(reader->rest.data, ')', reader->rest.n);
        Str name = {reader->rest.data + 1, end ? (size_t)(end - reader->rest.data) - 1 : 0};

        if (ret->zone.n || !zone_is_name(name))
                return false;
        ret->zone = name;
        limit_drop(reader, name.n + 2);
        return true;
}

static bool limit_take_next(LimitReader *reader, LimitTime *ret) {
        char c = reader->rest.data[0];

        if (limit_is_digit(c))
                return limit_take_number(reader, ret);
        if (limit_is_letter(c))
                return limit_take_word(reader, ret);
        return c == '(' && limit_take_zone(reader, ret);
}

/* 2026-07-11T17:42:00Z and its like. */
static bool limit_take_stamp(Str text, LimitTime *ret) {
        Str word = {text.data, 0};

        while (word.n < text.n && word.data[word.n] != ' ')
                word.n++;
        if (word.n && word.data[word.n - 1] == '.')
                word.n--;
        return word.n >= 16 && limit_is_digit(word.data[0]) && time_parse(word, &ret->at_us) &&
               ret->at_us > 0;
}

bool limit_time_read(Str text, LimitTime *ret) {
        LimitReader reader = {{text.data, MIN(text.n, (size_t)LIMIT_TIME_MAX)}};
        LimitReader before;

        *ret = (LimitTime){0};
        limit_drop_blanks(&reader);
        if (limit_take_stamp(reader.rest, ret))
                return true;
        *ret = (LimitTime){0};
        while (reader.rest.n && !ret->at_us) {
                before = reader;
                if (!limit_take_next(&reader, ret))
                        break;
                if (reader.rest.n == before.rest.n)
                        break;
                limit_drop_blanks(&reader);
        }
        return ret->at_us || ret->has_hour || ret->has_date;
}

/* ---- which moment ---------------------------------------------------------------------------- */

static int64_t limit_moment(const LimitTime *time, const Zone *zone, const Civil *date) {
        Civil civil = {.year = date->year,
                       .month = date->month,
                       .day = date->day,
                       .hour = time->hour,
                       .minute = time->minute};

        return zone_utc_s(zone, time_of_civil(&civil) / LIMIT_TIME_S) * LIMIT_TIME_S;
}

int64_t limit_time_us(const LimitTime *time, const Zone *zone, int64_t now_us) {
        int64_t local_us = now_us + (int64_t)zone_offset_s(zone, now_us / LIMIT_TIME_S) * LIMIT_TIME_S;
        Civil date = time_civil(local_us);
        int64_t at_us;

        if (time->at_us)
                return time->at_us;
        if (time->has_date) {
                date.month = time->month;
                date.day = time->day;
                date.year = time->has_year ? time->year : date.year;
                at_us = limit_moment(time, zone, &date);
                if (time->has_year || at_us > now_us - LIMIT_TIME_DAY_US)
                        return at_us;
                date.year++;
                return limit_moment(time, zone, &date);
        }
        if (!time->has_hour)
                return 0;
        at_us = limit_moment(time, zone, &date);
        if (at_us > now_us - LIMIT_JUST_US)
                return at_us;
        date = time_civil(local_us + LIMIT_TIME_DAY_US);
        return limit_moment(time, zone, &date);
}
