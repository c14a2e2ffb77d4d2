/* SPDX-License-Identifier: MIT */
#include "cli/cmd/processes.h"

#include <stdlib.h>

#include "base/macro.h"
#include "base/utf8.h"
#include "cli/print/human.h"

enum {
        COLUMN_ID,
        COLUMN_NAME,
        COLUMN_STATE,
        COLUMN_AGENT,
        COLUMN_AGE,
        COLUMN_OUTPUT,
        COLUMN_PID,
        COLUMN_SANDBOX,
        COLUMN_COMMAND,
        COLUMN_WORKSPACE,
        COLUMN_CLIENTS,
        COLUMN_CPU,
        COLUMN_MEM,
};

static const TableColumn all_columns[PROCESS_COLUMNS] = {
        {"ID", 0, false},      {"NAME", 0, false},      {"STATE", 0, false},  {"AGENT", 0, false},
        {"AGE", 0, true},      {"OUTPUT", 0, true},     {"PID", 0, true},     {"SANDBOX", 0, false},
        {"COMMAND", 0, false}, {"WORKSPACE", 0, false}, {"CLIENTS", 0, true}, {"CPU", 0, true},
        {"MEM", 0, true}};

/* What is given up first where there is little room. */
static const int given_up[] = {COLUMN_ID,  COLUMN_CLIENTS, COLUMN_SANDBOX,   COLUMN_CPU,
                               COLUMN_MEM, COLUMN_PID,     COLUMN_WORKSPACE, COLUMN_AGENT};

static bool processes_number(const Json *row, const char *key, int64_t *ret) {
        *ret = 0;
        return json_int64(json_get(row, key), ret);
}

static Str text(const Json *row, const char *key) {
        return json_str(json_get(row, key));
}

/* ---- paths ----------------------------------------------------------------------------------- */

static bool processes_is_below(Str path, Str folder) {
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
        Str s = processes_is_below(path, home)
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

        if (processes_number(row, "exit_code", &code))
                table_addf(table, STR_FMT " (%lld)", STR_ARG(state), (long long)code);
        else
                table_add(table, state);
}

/* What it does, and what for; a question mark: it may be wrong. */
static void processes_add_agent(Table *table, const Json *row) {
        const Json *agent = json_get(row, "agent");
        Str state = text(agent, "state"), detail = utf8_first(text(agent, "detail"), PROCESS_DETAIL_MAX);
        const char *doubt = json_truth_of(agent, "doubt") ? "?" : "";
        Str until = text(agent, "until");
        char out[HUMAN_MAX];

        if (!state.n || str_is(state, "ended") || str_is(state, "lost"))
                table_add(table, STR("-"));
        else if (until.n)
                table_addf(table, STR_FMT "%s until %s", STR_ARG(state), doubt, human_clock(until, out));
        else if (detail.n)
                table_addf(table, STR_FMT "%s: " STR_FMT, STR_ARG(state), doubt, STR_ARG(detail));
        else
                table_addf(table, STR_FMT "%s", STR_ARG(state), doubt);
}

static void processes_add_age(Table *table, const Json *row, const char *key) {
        char out[HUMAN_MAX];
        int64_t value;

        table_add(table, processes_number(row, key, &value) ? str_from(human_age(value, out)) : STR("-"));
}

static void processes_add_command(Table *table, Str command, size_t n_max) {
        if (utf8_count(command) <= n_max)
                table_add(table, command);
        else
                table_addf(table, STR_FMT "…", STR_ARG(utf8_first(command, n_max - 1)));
}

static void processes_add_cell(Table *table, const Json *row, const ProcessShape *shape, int column) {
        char out[HUMAN_MAX];
        Str id = text(row, "id");
        int64_t value;

        switch (column) {
        case COLUMN_ID: table_add(table, (Str){id.data, MIN(id.n, shape->n_id)}); break;
        case COLUMN_NAME:
                table_add(table, text(row, "name").n ? text(row, "name") : text(row, "object"));
                break;
        case COLUMN_STATE: add_state(table, row); break;
        case COLUMN_AGENT: processes_add_agent(table, row); break;
        case COLUMN_AGE: processes_add_age(table, row, "age_seconds"); break;
        case COLUMN_OUTPUT: processes_add_age(table, row, "output_age_seconds"); break;
        case COLUMN_PID:
                if (processes_number(row, "pid", &value) && value && !str_is(text(row, "state"), "ended"))
                        table_addf(table, "%lld", (long long)value);
                else
                        table_add(table, STR("-")); /* the number may be somebody else's by now */
                break;
        case COLUMN_SANDBOX: table_add(table, text(row, "sandbox")); break;
        case COLUMN_COMMAND: processes_add_command(table, text(row, "command"), shape->n_command); break;
        case COLUMN_WORKSPACE:
                table_add(table, short_path(&table->arena, text(row, "workspace"), shape->n_workspace));
                break;
        case COLUMN_CLIENTS:
                table_addf(table, "%lld", (long long)(processes_number(row, "viewers", &value) ? value : 0));
                break;
        case COLUMN_CPU:
                table_add(table, processes_number(row, "cpu_ms", &value) ? str_from(human_cpu(value, out))
                                                                         : STR("-"));
                break;
        case COLUMN_MEM:
                table_add(table, processes_number(row, "rss_kb", &value) ? str_from(human_memory(value, out))
                                                                         : STR("-"));
                break;
        }
}

Table processes_table(const Json *processes, const ProcessShape *shape,
                      TableColumn columns[PROCESS_COLUMNS]) {
        Table table = {.columns = columns};

        for (int i = 0; i < PROCESS_COLUMNS; i++)
                if (shape->mask & 1U << i)
                        columns[table.n_columns++] = all_columns[i];
        json_each (row, processes)
                for (int i = 0; i < PROCESS_COLUMNS; i++)
                        if (shape->mask & 1U << i)
                                processes_add_cell(&table, row, shape, i);
        return table;
}

static size_t processes_width(const Json *processes, const ProcessShape *shape) {
        TableColumn columns[PROCESS_COLUMNS];
        _cleanup_(table_deinit) Table table = processes_table(processes, shape, columns);

        return table_width(&table);
}

ProcessShape processes_fit(const Json *processes, unsigned cols) {
        ProcessShape shape = {(1U << PROCESS_COLUMNS) - 1, SIZE_MAX, PROCESS_WORKSPACE_MAX, SIZE_MAX};

        if (!cols || processes_width(processes, &shape) <= cols)
                return shape;
        shape.n_command = PROCESS_COMMAND_MAX;
        shape.n_workspace = PROCESS_WORKSPACE_MIN;
        shape.n_id = PROCESS_ID_SHORT;
        for (size_t i = 0; i < ARRAY_SIZE(given_up) && processes_width(processes, &shape) > cols; i++)
                shape.mask &= ~(1U << given_up[i]);
        while (shape.n_workspace < PROCESS_WORKSPACE_MAX) {
                shape.n_workspace++;
                if (processes_width(processes, &shape) > cols) {
                        shape.n_workspace--;
                        break;
                }
        }
        return shape;
}

static bool processes_is_live(const Json *row) {
        return str_is(text(row, "state"), "running") || str_is(text(row, "state"), "starting");
}

Str processes_state(const Json *processes, Str session, int64_t pid) {
        int64_t value;

        json_each (row, processes)
                if (pid ? (processes_number(row, "pid", &value) && value == pid) ||
                                    (processes_number(row, "sandbox_pid", &value) && value == pid)
                        : str_is(text(row, "owner"), "sessions") && str_eq(text(row, "object"), session) &&
                                    !processes_is_live(row))
                        return text(row, "state");
        return STR_NULL;
}
