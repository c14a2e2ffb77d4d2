/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/coop.h"
#include "cli/human.h"
#include "cli/processes.h"
#include "cli/report.h"

enum { WORKSPACE_MAX = 28, TIMEOUT_MS = 10000 };

static const TableColumn columns[] = {{"SESSION", 11, false}, {"WORKSPACE", 29, false}, {"STATE", 9, false},
                                      {"PTYS", 5, false},     {"CLIENTS", 14, false},   {"AGE", 0, false}};

static int64_t number(const Json *object, const char *key) {
        int64_t value = 0;

        (void)json_int64(json_get(object, key), &value);
        return value;
}

static void add_session(Table *table, const Json *session, const Json *processes) {
        Str state = processes_state(processes, number(session, "pid"));
        char age[HUMAN_MAX];

        table_add(table, json_str(json_get(session, "name")));
        table_add(table, short_path(&table->arena, json_str(json_get(session, "workspace")), WORKSPACE_MAX));
        table_add(table, state.n ? state : STR("waiting")); /* between two processes: it will be restarted */
        table_addf(table, "%zu", json_count(json_get(session, "ptys")));
        table_addf(table, "%lld local, %lld web", (long long)number(session, "local_clients"),
                   (long long)number(session, "web_clients"));
        table_add(table, str_from(human_age(time(NULL) - number(session, "created"), age)));
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

static void print_table(Coop *coop, const Json *sessions) {
        _cleanup_(table_deinit) Table table = TABLE(columns);
        _cleanup_(link_deinit) Link link = LINK_NULL;
        const Json *processes = find_processes(coop, &link);

        json_each (session, sessions)
                add_session(&table, session, processes);
        table_print(&table, stdout, 0, 0, "\n");
}

int cmd_ls(const Options *options) {
        _cleanup_(coop_deinit) Coop coop = COOP_NULL;
        const Json *sessions;
        int r = coop_open(&coop, "ls");

        if (!r)
                r = coop_call(&coop, "ls");
        if (r)
                return r;
        sessions = json_get(coop.reply.result, "sessions");
        if (options->json)
                return json_print(stdout, coop.reply.result, false) ? complain(CLI_FAILED, "out of memory")
                                                                    : CLI_OK;
        if (!json_count(sessions))
                printf("No running sessions.\n");
        else
                print_table(&coop, sessions);
        return CLI_OK;
}
