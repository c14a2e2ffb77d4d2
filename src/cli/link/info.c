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

static int64_t number(const Json *object, const char *key) {
        int64_t value = 0;

        (void)json_int64(json_get(object, key), &value);
        return value;
}

static Str text_of(const Json *value) {
        return json_is(value, JSON_NUMBER) ? (Str){value->text, value->n} : json_str(value);
}

int64_t info_pid(const Json *info) {
        return number(info, "pid");
}

void info_tell_version(const Json *info) {
        Str version = json_str(json_get(info, "version"));

        if (info && !str_is(version, MUSTER_VERSION))
                complain(0,
                         "the daemon is version " STR_FMT
                         ", this program %s; muster upgrade-daemon changes that",
                         STR_ARG(version), MUSTER_VERSION);
}

static void put_cell(FILE *out, Str text, size_t width) {
        text_put(out, text);
        for (size_t n = text.n; n < width + 2; n++)
                putc(' ', out);
}

static void measure(Column *columns, size_t n, const Json *rows) {
        for (size_t i = 0; i < n; i++) {
                columns[i].width = str_from(columns[i].title).n;
                json_each (row, rows) {
                        Str text = text_of(json_get(row, columns[i].key));

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
                fprintf(out, ", pid %lld, ", (long long)number(by, "pid"));
        }
        fputs("since ", out);
        text_put(out, since);
        putc('\n', out);
}

void info_print_endpoints(FILE *out, const Json *info) {
        Column columns[] = {{"ENDPOINT", "name", 0}, {"STATE", "state", 0}, {"CLIENTS", "clients", 0}};
        const Json *rows = json_get(info, "endpoints");

        measure(columns, ARRAY_SIZE(columns), rows);
        for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
                put_cell(out, str_from(columns[i].title), columns[i].width);
        fputs("ADDRESS\n", out);
        json_each (row, rows) {
                for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
                        put_cell(out, text_of(json_get(row, columns[i].key)), columns[i].width);
                text_put(out, json_str(json_get(row, "address")));
                putc('\n', out);
                if (json_str(json_get(row, "reason")).n)
                        info_put_note(out, row);
        }
}

static void print_uptime(FILE *out, int64_t seconds) {
        long long s = seconds;

        if (s >= 86400)
                fprintf(out, "%lld d %lld h", s / 86400, s / 3600 % 24);
        else if (s >= 3600)
                fprintf(out, "%lld h %lld min", s / 3600, s / 60 % 60);
        else if (s >= 60)
                fprintf(out, "%lld min %lld s", s / 60, s % 60);
        else
                fprintf(out, "%lld s", s);
}

static void print_text(FILE *out, const char *label, Str text) {
        fprintf(out, "%-13s", label);
        text_put(out, text);
        putc('\n', out);
}

void info_print(FILE *out, const Json *info, const char *socket) {
        const Json *connections = json_get(info, "connections");
        bool is_stopped = false;

        (void)json_bool(json_get(info, "agents_stopped"), &is_stopped);

        print_text(out, "version", json_str(json_get(info, "version")));
        fprintf(out, "%-13s%lld\n", "pid", (long long)info_pid(info));
        fprintf(out, "%-13s", "uptime");
        print_uptime(out, number(info, "uptime_seconds"));
        fputs(" (since ", out);
        text_put(out, json_str(json_get(info, "started_at")));
        fputs(")\n", out);
        print_text(out, "home", json_str(json_get(info, "home")));
        print_text(out, "socket", str_from(socket));
        print_text(out, "durability", json_str(json_get(info, "durability")));
        if (is_stopped)
                print_text(out, "agents", STR("stopped; they stay down until: muster up"));
        fprintf(out, "%-13s%lld open, %lld accepted, %lld closed\n\n", "connections",
                (long long)number(connections, "open"), (long long)number(connections, "accepted"),
                (long long)number(connections, "closed"));
        info_print_endpoints(out, info);
}
