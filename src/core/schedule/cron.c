/* SPDX-License-Identifier: MIT */
#include "core/schedule/cron.h"

#include <strings.h>

#include "base/macro.h"
#include "base/time.h"

#define MINUTE_US INT64_C(60000000)
#define DAY_US    (1440 * MINUTE_US)

enum {
        SEARCH_DAYS = 28 * 366 + 366
}; /* all combinations of date and weekday come within 28 years, and 2100
      without its leap day is passed, too */

typedef struct Field {
        unsigned min, max;
        const char *names; /* three letters each; NULL: none */
        const char *wrong;
} Field;

static const Field fields[] = {
        {0, 59, NULL, "minute: want 0-59, *, a-b, lists or steps"},
        {0, 23, NULL, "hour: want 0-23, *, a-b, lists or steps"},
        {1, 31, NULL, "day of the month: want 1-31, *, a-b, lists or steps"},
        {1, 12, "janfebmaraprmayjunjulaugsepoctnovdec", "month: want 1-12, *, a-b, lists or steps"},
        {0, 6, "sunmontuewedthufrisat", "day of the week: want 0-6, *, a-b, lists or steps"},
};

enum { N_FIELDS = ARRAY_SIZE(fields), WEEKDAY = 4, DIGITS_MAX = 4 };

/* ---- reading --------------------------------------------------------------------------------- */

static bool cron_take(Str *text, char c) {
        if (!text->n || text->data[0] != c)
                return false;
        *text = (Str){text->data + 1, text->n - 1};
        return true;
}

static bool cron_take_number(Str *text, unsigned *ret) {
        unsigned value = 0;
        size_t n = 0;

        while (n < text->n && n < DIGITS_MAX && text->data[n] >= '0' && text->data[n] <= '9')
                value = value * 10 + (unsigned)(text->data[n++] - '0');
        *text = (Str){text->data + n, text->n - n};
        *ret = value;
        return n > 0;
}

static bool cron_take_name(Str *text, const Field *field, unsigned *ret) {
        for (unsigned i = 0; field->names && text->n >= 3 && i <= field->max - field->min; i++)
                if (!strncasecmp(text->data, field->names + (size_t)i * 3, 3)) {
                        *text = (Str){text->data + 3, text->n - 3};
                        *ret = field->min + i;
                        return true;
                }
        return false;
}

static bool take_value(Str *text, const Field *field, unsigned flags, unsigned *ret) {
        unsigned max = field->max + (flags & CRON_NAMES && field == &fields[WEEKDAY] ? 1 : 0);

        if (flags & CRON_NAMES && cron_take_name(text, field, ret))
                return true;
        return cron_take_number(text, ret) && *ret >= field->min && *ret <= max;
}

/* The weekday 7 is Sunday, which is 0. */
static void cron_add(uint64_t *set, const Field *field, unsigned value) {
        *set |= UINT64_C(1) << (value > field->max ? field->min : value);
}

static bool cron_take_item(Str *text, const Field *field, unsigned flags, uint64_t *set) {
        bool is_any = cron_take(text, '*');
        unsigned from = field->min, to = field->max, step = 1;

        if (!is_any) {
                if (!take_value(text, field, flags, &from))
                        return false;
                to = from;
                if (cron_take(text, '-') && (!take_value(text, field, flags, &to) || to < from))
                        return false;
        }
        if (cron_take(text, '/') && (!cron_take_number(text, &step) || !step))
                return false;
        if (is_any && flags & CRON_STEP_DIVIDES)
                from = (from + step - 1) / step * step;
        for (unsigned v = from; v <= to; v += step)
                cron_add(set, field, v);
        return true;
}

static bool parse_field(Str text, const Field *field, unsigned flags, uint64_t *ret) {
        *ret = 0;
        do
                if (!cron_take_item(&text, field, flags, ret))
                        return false;
        while (cron_take(&text, ','));
        return !text.n;
}

static bool cron_next_word(Str *text, Str *ret) {
        size_t n = 0;

        *text = str_trim(*text);
        while (n < text->n && text->data[n] != ' ' && text->data[n] != '\t')
                n++;
        *ret = (Str){text->data, n};
        *text = (Str){text->data + n, text->n - n};
        return n > 0;
}

static int cron_wrong(const char **reterr, const char *what) {
        if (reterr)
                *reterr = what;
        return CRON_E_WRONG;
}

int cron_parse(Cron *ret, Str text, unsigned flags, const char **reterr) {
        uint64_t sets[N_FIELDS];
        bool has_any[N_FIELDS];
        Str word;

        if (text.n > 1024)
                return cron_wrong(reterr, "longer than 1024 bytes");
        text = str_trim(text);
        for (size_t i = 0; i < N_FIELDS; i++) {
                if (!cron_next_word(&text, &word))
                        return cron_wrong(reterr, "want five fields");
                has_any[i] = word.data[0] == '*';
                if (!parse_field(word, &fields[i], flags, &sets[i]))
                        return cron_wrong(reterr, fields[i].wrong);
        }
        if (str_trim(text).n)
                return cron_wrong(reterr, "want five fields");
        *ret = (Cron){.minutes = sets[0],
                      .hours = (uint32_t)sets[1],
                      .days = (uint32_t)sets[2],
                      .months = (uint32_t)sets[3],
                      .weekdays = (uint32_t)sets[4],
                      .either_day = flags & CRON_EITHER_DAY && !has_any[2] && !has_any[4]};
        return 0;
}

/* ---- time ------------------------------------------------------------------------------------ */

static int64_t floor_div(int64_t a, int64_t b) {
        return a / b - (a % b < 0);
}

/* days: since 1970-01-01 */
static bool fits_day(const Cron *cron, int64_t days) {
        Civil date = time_civil(days * DAY_US);
        bool day_fits, weekday_fits;

        if (!(cron->months >> date.month & 1))
                return false;
        day_fits = cron->days >> date.day & 1;
        weekday_fits = cron->weekdays >> time_weekday(days * DAY_US) & 1;
        return cron->either_day ? day_fits || weekday_fits : day_fits && weekday_fits;
}

static bool fits_minute(const Cron *cron, unsigned minute_of_day) {
        return cron->hours >> (minute_of_day / 60) & 1 && cron->minutes >> (minute_of_day % 60) & 1;
}

bool cron_fits(const Cron *cron, int64_t wall_us) {
        int64_t days = floor_div(wall_us, DAY_US);

        return fits_day(cron, days) && fits_minute(cron, (unsigned)((wall_us - days * DAY_US) / MINUTE_US));
}

/* The first minute of a day, from `minute` on; -1: none. */
static int first_minute(const Cron *cron, unsigned minute) {
        for (; minute < 1440; minute++) {
                if (fits_minute(cron, minute))
                        return (int)minute;
                if (!(cron->hours >> (minute / 60) & 1))
                        minute += 59 - minute % 60; /* not in this hour */
        }
        return -1;
}

bool cron_next(const Cron *cron, int64_t wall_us, int64_t *ret_us) {
        int64_t after = floor_div(wall_us, MINUTE_US) + 1, days = floor_div(after, 1440);
        unsigned minute = (unsigned)(after - days * 1440);

        for (int i = 0; i < SEARCH_DAYS; i++, days++, minute = 0) {
                int found = fits_day(cron, days) ? first_minute(cron, minute) : -1;
                if (found >= 0) {
                        *ret_us = days * DAY_US + found * MINUTE_US;
                        return true;
                }
        }
        return false;
}
