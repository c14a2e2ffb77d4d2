/* SPDX-License-Identifier: MIT */
#include "core/limits/zone.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/macro.h"
#include "base/time.h"

enum { ZONE_DAY_S = 86400, ZONE_HEAD = 44, ZONE_OFFSET_MAX = 26 * 3600, ZONE_RULE_HOURS = 167 };
#define ZONE_S INT64_C(1000000)

/* ---- a text as in $TZ ------------------------------------------------------------------------ */

typedef struct ZoneText {
        const char *at, *end;
} ZoneText;

static bool zone_skip(ZoneText *text, char c) {
        if (text->at == text->end || *text->at != c)
                return false;
        text->at++;
        return true;
}

static bool zone_number(ZoneText *text, unsigned max, unsigned *ret) {
        const char *from = text->at;
        unsigned n = 0;

        while (text->at < text->end && *text->at >= '0' && *text->at <= '9' && n <= max)
                n = n * 10 + (unsigned)(*text->at++ - '0');
        *ret = n;
        return text->at > from && n <= max;
}

/* Letters, or anything printable in angle brackets. */
static bool zone_word(ZoneText *text) {
        const char *from = text->at;

        if (zone_skip(text, '<')) {
                while (text->at < text->end && *text->at != '>')
                        text->at++;
                return zone_skip(text, '>') && text->at - from > 2;
        }
        while (text->at < text->end && ((*text->at | 0x20) >= 'a' && (*text->at | 0x20) <= 'z'))
                text->at++;
        return text->at - from >= 3;
}

/* [+-]hh[:mm[:ss]] */
static bool zone_clock(ZoneText *text, unsigned max_hours, int32_t *ret) {
        bool is_negative = zone_skip(text, '-');
        unsigned hours = 0, minutes = 0, seconds = 0;

        if (!is_negative)
                (void)zone_skip(text, '+');
        if (!zone_number(text, max_hours, &hours))
                return false;
        if (zone_skip(text, ':') && !zone_number(text, 59, &minutes))
                return false;
        if (zone_skip(text, ':') && !zone_number(text, 59, &seconds))
                return false;
        *ret = (int32_t)(hours * 3600 + minutes * 60 + seconds) * (is_negative ? -1 : 1);
        return true;
}

static bool zone_rule(ZoneText *text, ZoneRule *ret) {
        *ret = (ZoneRule){.kind = '0', .time_s = 2 * 3600};
        if (!zone_skip(text, ','))
                return false;
        if (zone_skip(text, 'M')) {
                ret->kind = 'M';
                if (!zone_number(text, 12, &ret->month) || !ret->month || !zone_skip(text, '.') ||
                    !zone_number(text, 5, &ret->week) || !ret->week || !zone_skip(text, '.') ||
                    !zone_number(text, 6, &ret->day))
                        return false;
        } else {
                if (zone_skip(text, 'J'))
                        ret->kind = 'J';
                if (!zone_number(text, 365, &ret->day) || (ret->kind == 'J' && !ret->day))
                        return false;
        }
        return !zone_skip(text, '/') || zone_clock(text, ZONE_RULE_HOURS, &ret->time_s);
}

static bool zone_tail(Zone *zone, Str bytes) {
        ZoneText text = {bytes.data, bytes.data + bytes.n};
        int32_t west = 0;

        if (!zone_word(&text) || !zone_clock(&text, 24, &west))
                return false;
        zone->winter_s = -west;
        zone->has_tail = true;
        if (text.at == text.end)
                return true;
        if (!zone_word(&text))
                return false;
        zone->summer_s = zone->winter_s + 3600;
        if (text.at < text.end && *text.at != ',') {
                if (!zone_clock(&text, 24, &west))
                        return false;
                zone->summer_s = -west;
        }
        zone->has_summer = true;
        return zone_rule(&text, &zone->begin) && zone_rule(&text, &zone->end) && text.at == text.end;
}

bool zone_read_text(Zone *ret, Str text) {
        *ret = (Zone){0};
        return text.n && zone_tail(ret, text);
}

/* ---- a file ---------------------------------------------------------------------------------- */

static uint64_t zone_big(const char *at, size_t n) {
        uint64_t value = 0;

        for (size_t i = 0; i < n; i++)
                value = value << 8 | (unsigned char)at[i];
        return value;
}

typedef struct ZoneCounts {
        size_t n_utc, n_std, n_leap, n_times, n_types, n_chars;
} ZoneCounts;

/* The size of what follows the head, with times of so many bytes; 0: it is no such file. */
static size_t zone_counts(Str bytes, size_t n_wide, ZoneCounts *ret) {
        if (bytes.n < ZONE_HEAD || memcmp(bytes.data, "TZif", 4) != 0)
                return 0;
        *ret = (ZoneCounts){zone_big(bytes.data + 20, 4), zone_big(bytes.data + 24, 4),
                            zone_big(bytes.data + 28, 4), zone_big(bytes.data + 32, 4),
                            zone_big(bytes.data + 36, 4), zone_big(bytes.data + 40, 4)};
        if (ret->n_times > ZONE_TIMES_MAX || !ret->n_types || ret->n_types > ZONE_TYPES_MAX ||
            ret->n_chars > ZONE_FILE_MAX || ret->n_leap > ZONE_FILE_MAX || ret->n_std > ZONE_FILE_MAX ||
            ret->n_utc > ZONE_FILE_MAX)
                return 0;
        return ret->n_times * (n_wide + 1) + ret->n_types * 6 + ret->n_chars + ret->n_leap * (n_wide + 4) +
               ret->n_std + ret->n_utc;
}

/* Times ascend, and each has a type that is there. */
static bool zone_take_times(Zone *zone, const ZoneCounts *counts, const char *at, size_t n_wide) {
        const char *types = at + counts->n_times * n_wide, *offsets = types + counts->n_times;

        for (size_t i = 0; i < counts->n_types; i++) {
                int32_t s = (int32_t)zone_big(offsets + i * 6, 4);

                if (s < -ZONE_OFFSET_MAX || s > ZONE_OFFSET_MAX)
                        return false;
                zone->offsets[i] = s;
        }
        for (size_t i = 0; i < counts->n_times; i++) {
                uint64_t raw = zone_big(at + i * n_wide, n_wide);

                zone->times[i] = n_wide == 4 ? (int32_t)raw : (int64_t)raw;
                zone->types[i] = (uint8_t)types[i];
                if (zone->types[i] >= counts->n_types || (i && zone->times[i] <= zone->times[i - 1]))
                        return false;
        }
        zone->n_times = counts->n_times;
        return true;
}

static bool zone_take(Zone *zone, Str bytes, const ZoneCounts *counts, size_t n_wide) {
        zone->times = malloc(counts->n_times * sizeof(*zone->times) + 1);
        zone->types = malloc(counts->n_times + 1);
        return zone->times && zone->types && zone_take_times(zone, counts, bytes.data + ZONE_HEAD, n_wide);
}

/* The second part of a file is the same with longer times, and a text for what comes after them. */
static bool zone_read_parts(Zone *ret, Str bytes) {
        ZoneCounts counts;
        size_t n = zone_counts(bytes, 4, &counts);
        Str rest;

        if (!n || bytes.n < ZONE_HEAD + n)
                return false;
        if (bytes.data[4] < '2')
                return zone_take(ret, bytes, &counts, 4);
        rest = (Str){bytes.data + ZONE_HEAD + n, bytes.n - ZONE_HEAD - n};
        n = zone_counts(rest, 8, &counts);
        if (!n || rest.n < ZONE_HEAD + n || !zone_take(ret, rest, &counts, 8))
                return false;
        rest = (Str){rest.data + ZONE_HEAD + n, rest.n - ZONE_HEAD - n};
        rest = str_trim(rest);
        return !rest.n || zone_tail(ret, rest);
}

bool zone_read(Zone *ret, Str bytes) {
        *ret = (Zone){0};
        if (bytes.n <= ZONE_FILE_MAX && zone_read_parts(ret, bytes))
                return true;
        zone_deinit(ret);
        return false;
}

void zone_deinit(Zone *zone) {
        free(zone->times);
        free(zone->types);
        *zone = (Zone){0};
}

bool zone_is_name(Str name) {
        if (!name.n || name.n >= ZONE_NAME_MAX || name.data[0] == '/' || name.data[name.n - 1] == '/')
                return false;
        for (size_t i = 0; i < name.n; i++) {
                char c = name.data[i];
                bool is_plain = ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (c >= '0' && c <= '9') ||
                                c == '_' || c == '+' || c == '-';

                if (!is_plain && (c != '/' || name.data[i - 1] == '/'))
                        return false;
        }
        return true;
}

bool zone_load(Zone *ret, Str name) {
        _cleanup_(buf_deinit) Buf bytes = BUF_NULL;
        const char *folder = getenv("TZDIR");
        char path[512];

        if (name.n && name.data[0] == ':')
                name = (Str){name.data + 1, name.n - 1};
        if (name.n && !zone_is_name(name))
                return zone_read_text(ret, name);
        if (name.n)
                snprintf(path, sizeof(path), "%s/" STR_FMT, folder ? folder : "/usr/share/zoneinfo",
                         STR_ARG(name));
        if (!file_read(name.n ? path : "/etc/localtime", ZONE_FILE_MAX, &bytes))
                return zone_read(ret, buf_str(&bytes));
        return name.n ? zone_read_text(ret, name) : zone_read_text(ret, STR("UTC0"));
}

/* ---- what clocks show ------------------------------------------------------------------------ */

static int64_t zone_year_s(unsigned year, unsigned month) {
        return time_of_civil(&(Civil){.year = year, .month = month, .day = 1}) / ZONE_S;
}

/* In seconds since 1970 as clocks there show them. */
static int64_t zone_rule_s(const ZoneRule *rule, unsigned year) {
        int64_t first = zone_year_s(year, rule->kind == 'M' ? rule->month : 1), next;
        unsigned weekday, day;
        bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

        if (rule->kind == '0')
                return first + (int64_t)rule->day * ZONE_DAY_S + rule->time_s;
        if (rule->kind == 'J')
                return first + (int64_t)(rule->day - 1 + (is_leap && rule->day >= 60)) * ZONE_DAY_S +
                       rule->time_s;
        next = rule->month == 12 ? zone_year_s(year + 1, 1) : zone_year_s(year, rule->month + 1);
        weekday = time_weekday(first * ZONE_S);
        day = (rule->day + 7 - weekday) % 7 + (rule->week - 1) * 7;
        while (first + (int64_t)day * ZONE_DAY_S >= next) /* the fifth is the last */
                day -= 7;
        return first + (int64_t)day * ZONE_DAY_S + rule->time_s;
}

static int32_t zone_tail_s(const Zone *zone, int64_t utc_s) {
        unsigned year;
        int64_t begin, end;

        if (!zone->has_summer)
                return zone->winter_s;
        year = time_civil((utc_s + zone->winter_s) * ZONE_S).year;
        begin = zone_rule_s(&zone->begin, year) - zone->winter_s;
        end = zone_rule_s(&zone->end, year) - zone->summer_s;
        if (begin < end)
                return utc_s >= begin && utc_s < end ? zone->summer_s : zone->winter_s;
        return utc_s >= begin || utc_s < end ? zone->summer_s : zone->winter_s; /* south of the equator */
}

int32_t zone_offset_s(const Zone *zone, int64_t utc_s) {
        size_t low = 0, high = zone->n_times;

        utc_s = MAX(MIN(utc_s, INT64_C(253402300799)), INT64_C(-62167219200)); /* of base/time.h */
        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (zone->times[middle] <= utc_s)
                        low = middle + 1;
                else
                        high = middle;
        }
        if (low == zone->n_times && zone->has_tail)
                return zone_tail_s(zone, utc_s);
        return zone->offsets[low ? zone->types[low - 1] : 0];
}

int64_t zone_utc_s(const Zone *zone, int64_t local_s) {
        int32_t before = zone_offset_s(zone, local_s - INT64_C(2) * ZONE_DAY_S),
                after = zone_offset_s(zone, local_s + INT64_C(2) * ZONE_DAY_S);
        int64_t early = local_s - MAX(before, after), late = local_s - MIN(before, after);

        if (zone_offset_s(zone, late) == local_s - late)
                return late;
        if (zone_offset_s(zone, early) == local_s - early)
                return early;
        return local_s - before; /* clocks never show it */
}
