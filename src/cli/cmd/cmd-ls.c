/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/link/coop.h"
#include "cli/print/human.h"
#include "cli/cmd/processes.h"
#include "cli/print/report.h"
#include "cli/term/terminal.h"

enum { WORKSPACE_MAX = 28, WORKSPACE_MIN = 12, TIMEOUT_MS = 10000 };

static int64_t ls_number(const Json *object, const char *key) {
        int64_t value = 0;

        (void)json_int64(json_get(object, key), &value);
        return value;
}

static void add_session(Table *table, const Json *session, const Json *processes, size_t n_workspace) {
        Str state =
                processes_state(processes, json_str(json_get(session, "name")), ls_number(session, "pid"));
        char age[HUMAN_MAX];

        table_add(table, json_str(json_get(session, "name")));
        table_add(table, short_path(&table->arena, json_str(json_get(session, "workspace")), n_workspace));
        table_add(table, state.n ? state : STR("waiting")); /* between two processes: it will be restarted */
        table_addf(table, "%zu", json_count(json_get(session, "ptys")));
        table_addf(table, "%lld local, %lld web", (long long)ls_number(session, "local_clients"),
                   (long long)ls_number(session, "web_clients"));
        table_add(table, str_from(human_age(time(NULL) - ls_number(session, "created"), age)));
}

/* The contract's list does not say whether an agent still runs; the native one does. NULL: not known. */
static const Json *find_processes(Coop *coop, Link *link) {
        const Request request = {.dialect = "native", .op = "ps"};
        Reply reply = {0};

        if (link_open(link, coop->socket, clock_ms() + TIMEOUT_MS) ||
            exchange(link, &request, &coop->arena, &reply))
                return NULL;
        return json_get(reply.result, "processes");
}

/* With so many characters of each workspace. The width of the longest line; printed only if it fits into
 * cols (0: always). */
static size_t print_with(const Json *sessions, const Json *processes, size_t n_workspace, unsigned cols) {
        const TableColumn columns[] = {{"SESSION", 11, false}, {"WORKSPACE", n_workspace + 1, false},
                                       {"STATE", 9, false},    {"PTYS", 5, false},
                                       {"CLIENTS", 14, false}, {"AGE", 0, false}};
        _cleanup_(table_deinit) Table table = TABLE(columns);
        size_t width;

        json_each (session, sessions)
                add_session(&table, session, processes, n_workspace);
        width = table_width(&table);
        if (!cols || width <= cols)
                table_print(&table, stdout, 0, 0, "\n");
        return width;
}

/* The widths are the contract's; on a terminal that is too narrow for them workspaces are cut first. */
static void ls_print_table(Coop *coop, const Json *sessions) {
        _cleanup_(link_deinit) Link link = LINK_NULL;
        const Json *processes = find_processes(coop, &link);
        unsigned cols = 0, rows = 0;
        size_t n = WORKSPACE_MAX;

        if (isatty(STDOUT_FILENO))
                (void)terminal_size(&cols, &rows);
        while (n > WORKSPACE_MIN && print_with(sessions, processes, n, cols) > cols && cols)
                n--;
        if (n == WORKSPACE_MIN)
                (void)print_with(sessions, processes, n, 0);
}

int cmd_ls(const Options *options) {
        _cleanup_(coop_deinit) Coop coop = COOP_NULL;
        const Json *sessions;
        int r = coop_open(&coop, "ls");

        coop.is_json = options->json;
        if (!r)
                r = coop_call(&coop, "ls");
        if (r)
                return r;
        sessions = json_get(coop.reply.result, "sessions");
        if (options->json)
                return coop_print(&coop);
        if (!json_count(sessions))
                print("No running sessions.\n");
        else
                ls_print_table(&coop, sessions);
        return CLI_OK;
}
