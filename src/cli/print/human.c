/* SPDX-License-Identifier: MIT */
#include "cli/print/human.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/macro.h"
#include "base/time.h"

const char *human_age(int64_t seconds, char out[HUMAN_MAX]) {
        long long s = MAX(seconds, (int64_t)0); /* clocks may be set back */

        if (s < 60)
                snprintf(out, HUMAN_MAX, "%llds", s);
        else if (s < 3600)
                snprintf(out, HUMAN_MAX, "%lldm", s / 60);
        else if (s < 86400)
                snprintf(out, HUMAN_MAX, "%lldh %lldm", s / 3600, s / 60 % 60);
        else
                snprintf(out, HUMAN_MAX, "%lldd %lldh", s / 86400, s / 3600 % 24);
        return out;
}

const char *human_ago(Str time_text, char out[HUMAN_MAX]) {
        int64_t us;

        return time_parse(time_text, &us) ? human_age((int64_t)time(NULL) - us / 1000000, out) : "-";
}

const char *human_ahead(Str time_text, char out[HUMAN_MAX]) {
        int64_t us, left;
        char span[HUMAN_MAX];

        if (!time_parse(time_text, &us) || (left = us / 1000000 - (int64_t)time(NULL)) <= 0)
                return "-";
        human_age(left, span);
        snprintf(out, HUMAN_MAX, "in %.*s", HUMAN_MAX - 4, span);
        return out;
}

const char *human_clock(Str time_text, char out[HUMAN_MAX]) {
        time_t at, now = time(NULL);
        struct tm then, today;
        int64_t us;

        if (!time_parse(time_text, &us))
                return "-";
        at = (time_t)(us / 1000000);
        if (!localtime_r(&at, &then) || !localtime_r(&now, &today))
                return "-";
        return strftime(out, HUMAN_MAX, then.tm_yday == today.tm_yday ? "%H:%M" : "%m-%d %H:%M", &then)
                       ? out
                       : "-";
}

const char *human_cpu(int64_t ms, char out[HUMAN_MAX]) {
        long long s = ms / 1000;

        if (s < 60)
                snprintf(out, HUMAN_MAX, "%lld.%llds", s, (long long)(ms / 100 % 10));
        else if (s < 3600)
                snprintf(out, HUMAN_MAX, "%lldm%02llds", s / 60, s % 60);
        else
                snprintf(out, HUMAN_MAX, "%lldh%02lldm", s / 3600, s / 60 % 60);
        return out;
}

const char *human_memory(int64_t kb, char out[HUMAN_MAX]) {
        if (kb < 1000)
                snprintf(out, HUMAN_MAX, "%lldK", (long long)kb);
        else if (kb < 1000LL * 1024)
                snprintf(out, HUMAN_MAX, "%.1fM", (double)kb / 1024);
        else
                snprintf(out, HUMAN_MAX, "%.1fG", (double)kb / (1024.0 * 1024));
        return out;
}

bool human_since(const char *text, int64_t *ret_us) {
        static const struct {
                char letter;
                int64_t seconds;
        } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
        char *end;
        double n = strtod(text, &end);

        for (size_t i = 0; end > text && n >= 0 && n < 1e6 && i < ARRAY_SIZE(units); i++)
                if (end[0] == units[i].letter && !end[1]) {
                        *ret_us = (int64_t)time(NULL) * 1000000 -
                                  (int64_t)(n * (double)units[i].seconds * 1000000);
                        return true;
                }
        return time_parse(str_from(text), ret_us);
}
