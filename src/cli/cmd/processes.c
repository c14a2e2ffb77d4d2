/* SPDX-License-Identifier: MIT */
#include "cli/cmd/processes.h"

#include <stdlib.h>

#include "base/macro.h"
#include "base/utf8.h"
#include "cli/print/human.h"

Table processes_table(size_t n_id) {
        static const TableColumn columns[] = {
                {"ID", 0, false},     {"SESSION", 0, false}, {"STATE", 0, false},   {"AGE", 0, true},
                {"PID", 0, true},     {"SANDBOX", 0, false}, {"COMMAND", 0, false}, {"WORKSPACE", 0, false},
                {"CLIENTS", 0, true}, {"CPU", 0, true},      {"MEM", 0, true}};
        size_t n_left_out = n_id ? 0 : 1;

        return (Table){.columns = columns + n_left_out, .n_columns = ARRAY_SIZE(columns) - n_left_out};
}

static bool number(const Json *row, const char *key, int64_t *ret) {
        *ret = 0;
        return json_int64(json_get(row, key), ret);
}

static Str text(const Json *row, const char *key) {
        return json_str(json_get(row, key));
}

/* ---- paths ----------------------------------------------------------------------------------- */

static bool is_below(Str path, Str folder) {
        return folder.n > 1 && str_starts(path, folder) &&
               (path.n == folder.n || path.data[folder.n] == '/');
}

/* The last n bytes or a few less, beginning with a whole character. */
static Str last_bytes(Str s, size_t n) {
        size_t at = s.n - n;

        while (at < s.n && utf8_is_tail(s.data[at]))
                at++;
        return (Str){s.data + at, s.n - at};
}

Str short_path(Arena *arena, Str path, size_t n_max) {
        Str home = str_from(getenv("HOME"));
        Str s = is_below(path, home)
                        ? arena_printf(arena, "~" STR_FMT, (int)(path.n - home.n), path.data + home.n)
                        : path;

        if (s.n <= n_max)
                return s;
        s = last_bytes(s, n_max - 1);
        return arena_printf(arena, "…" STR_FMT, STR_ARG(s));
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void add_state(Table *table, const Json *row) {
        Str state = text(row, "state");
        int64_t code;

        if (number(row, "exit_code", &code))
                table_addf(table, STR_FMT " (%lld)", STR_ARG(state), (long long)code);
        else
                table_add(table, state);
}

static void add_usage(Table *table, const Json *row) {
        char out[HUMAN_MAX];
        int64_t value;

        table_add(table, number(row, "cpu_ms", &value) ? str_from(human_cpu(value, out)) : STR("-"));
        table_add(table, number(row, "rss_kb", &value) ? str_from(human_memory(value, out)) : STR("-"));
}

static void add_row(Table *table, const Json *row, size_t n_workspace, size_t n_id) {
        char age[HUMAN_MAX];
        Str id = text(row, "id");
        int64_t value;

        if (n_id)
                table_add(table, (Str){id.data, MIN(id.n, n_id)});
        table_add(table, text(row, "object"));
        add_state(table, row);
        table_add(table, number(row, "age_seconds", &value) ? str_from(human_age(value, age)) : STR("-"));
        if (number(row, "pid", &value) && value && !str_is(text(row, "state"), "ended"))
                table_addf(table, "%lld", (long long)value);
        else
                table_add(table, STR("-")); /* the number may be somebody else's by now */
        table_add(table, text(row, "sandbox"));
        table_add(table, text(row, "command"));
        table_add(table, short_path(&table->arena, text(row, "workspace"), n_workspace));
        table_addf(table, "%lld", (long long)(number(row, "viewers", &value) ? value : 0));
        add_usage(table, row);
}

void processes_add(Table *table, const Json *processes, size_t n_workspace, size_t n_id) {
        json_each (row, processes)
                add_row(table, row, n_workspace, n_id);
}

static bool processes_is_live(const Json *row) {
        return str_is(text(row, "state"), "running") || str_is(text(row, "state"), "starting");
}

Str processes_state(const Json *processes, Str session, int64_t pid) {
        int64_t value;

        json_each (row, processes)
                if (pid ? (number(row, "pid", &value) && value == pid) ||
                                    (number(row, "sandbox_pid", &value) && value == pid)
                        : str_is(text(row, "owner"), "sessions") && str_eq(text(row, "object"), session) &&
                                    !processes_is_live(row))
                        return text(row, "state");
        return STR_NULL;
}
