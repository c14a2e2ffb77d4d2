/* SPDX-License-Identifier: MIT */
/*
 * What daemon.info says, for people.
 */
#include "cli/link/native.h"

#include <stdio.h>

#include "base/macro.h"
#include "cli/print/report.h"
#include "core/version.h"

typedef struct Column {
        const char *title, *key;
        size_t width;
} Column;

static int64_t info_number(const Json *object, const char *key) {
        int64_t value = 0;

        (void)json_int64(json_get(object, key), &value);
        return value;
}

static Str info_text_of(const Json *value) {
        return json_is(value, JSON_NUMBER) ? (Str){value->text, value->n} : json_str(value);
}

int64_t info_pid(const Json *info) {
        return info_number(info, "pid");
}

void info_tell_version(const Json *info) {
        Str version = json_str(json_get(info, "version"));

        if (info && !str_is(version, MUSTER_VERSION))
                complain(0,
                         "the daemon is version " STR_FMT
                         ", this program %s; muster upgrade-daemon changes that",
                         STR_ARG(version), MUSTER_VERSION);
}

static void info_put_cell(FILE *out, Str text, size_t width) {
        text_put(out, text);
        for (size_t n = text.n; n < width + 2; n++)
                putc(' ', out);
}

static void measure(Column *columns, size_t n, const Json *rows) {
        for (size_t i = 0; i < n; i++) {
                columns[i].width = str_from(columns[i].title).n;
                json_each (row, rows) {
                        Str text = info_text_of(json_get(row, columns[i].key));

                        columns[i].width = MAX(columns[i].width, text.n);
                }
        }
}

/* Why it is so, whose doing that is, since when: on a line of its own. */
static void info_put_note(FILE *out, const Json *row) {
        const Json *by = json_get(row, "by");
        Str program = json_str(json_get(by, "program")), since = json_str(json_get(row, "since"));

        fputs("          ", out);
        text_put(out, json_str(json_get(row, "reason")));
        fputs("\n          ", out);
        if (by) {
                text_put(out, program.n ? program : STR("by a process that has ended"));
                fprint(out, ", pid %lld, ", (long long)info_number(by, "pid"));
        }
        fputs("since ", out);
        text_put(out, since);
        putc('\n', out);
}

static void info_put_warning(FILE *out, const Json *row) {
        Str warning = json_str(json_get(row, "warning"));

        if (!warning.n)
                return;
        fputs("          WARNING: ", out);
        text_put(out, warning);
        putc('\n', out);
}

void info_print_endpoints(FILE *out, const Json *info) {
        Column columns[] = {{"ENDPOINT", "name", 0}, {"STATE", "state", 0}, {"CLIENTS", "clients", 0}};
        const Json *rows = json_get(info, "endpoints");

        measure(columns, ARRAY_SIZE(columns), rows);
        for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
                info_put_cell(out, str_from(columns[i].title), columns[i].width);
        fputs("ADDRESS\n", out);
        json_each (row, rows) {
                for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
                        info_put_cell(out, info_text_of(json_get(row, columns[i].key)), columns[i].width);
                text_put(out, json_str(json_get(row, "address")));
                putc('\n', out);
                if (json_str(json_get(row, "reason")).n)
                        info_put_note(out, row);
                info_put_warning(out, row);
        }
}
