/* SPDX-License-Identifier: MIT */
/* muster budget: what agents may use. Words are checked by the daemon, which knows them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/link/asking.h"
#include "cli/print/report.h"
#include "cli/print/table.h"

static const TableColumn budget_columns[] = {
        {"ID", 0, false},      {"SCOPE", 0, false},   {"METRIC", 0, false}, {"PER", 0, false},
        {"USED", 0, true},     {"WARN", 0, true},     {"SOFT", 0, true},    {"HARD", 0, true},
        {"ON HARD", 0, false}, {"REACHED", 0, false}, {"", 0, false}};

static void budget_add_number(Table *table, const Json *row, const char *key) {
        double value = 0;

        if (json_double(json_get(row, key), &value))
                table_addf(table, "%.6g", value);
        else
                table_add(table, STR("-"));
}

static void budget_add(Table *table, const Json *row) {
        static const char *const numbers[] = {"used", "warn", "soft", "hard"};

        table_add(table, json_text_of(row, "id"));
        table_add(table, json_text_of(row, "scope"));
        table_add(table, json_text_of(row, "metric"));
        table_add(table, json_text_of(row, "per"));
        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
                budget_add_number(table, row, numbers[i]);
        table_add(table, json_text_of(row, "on_hard"));
        table_add(table, json_text_of(row, "reached"));
        table_add(table, json_text_of(row, "why"));
}

static int budget_print(const Json *answer) {
        _cleanup_(table_deinit) Table table = TABLE(budget_columns);
        const Json *list = json_get(answer, "budgets");

        if (json_truth_of(answer, "removed")) {
                print("removed " STR_FMT "\n", STR_ARG(json_text_of(answer, "id")));
                return CLI_OK;
        }
        if (list && !json_count(list)) {
                print("there is no budget; to be told at 5 dollars a day: muster budget set all usd day "
                      "warn=5\n");
                return CLI_OK;
        }
        if (!list)
                budget_add(&table, answer);
        json_each (row, list)
                budget_add(&table, row);
        table_print(&table, stdout, 0, 0, "\n");
        return CLI_OK;
}

/* BOUND=N, or on_hard=pause|stop. */
static int budget_set_bound(Arguments *arguments, Arena *arena, const char *text) {
        const char *equal = strchr(text, '=');
        Str name = {text, equal ? (size_t)(equal - text) : 0};
        char *end = NULL;
        double value = equal ? strtod(equal + 1, &end) : 0;
        Str key = arena_str(arena, name);

        if (str_is(name, "on_hard")) {
                arguments_set_str(arguments, arena, "on_hard", str_from(equal + 1));
                return CLI_OK;
        }
        if ((!str_is(name, "warn") && !str_is(name, "soft") && !str_is(name, "hard")) || !end ||
            end == equal + 1 || *end || !key.data)
                return complain(CLI_USAGE, "%s: warn=N, soft=N, hard=N or on_hard=pause|stop", text);
        arguments_set(arguments, arena, key.data, json_new_double(arena, value));
        return CLI_OK;
}

/* The operation that is asked for; NULL: it was complained of. */
static const char *budget_ask(const Options *options, Arguments *arguments, Arena *arena) {
        static const char *const names[] = {"scope", "metric", "per"};
        const char *verb = options->n_operands ? options->operands[0] : "ls";

        if (!strcmp(verb, "ls") && options->n_operands <= 1)
                return "budget.ls";
        if (!strcmp(verb, "rm") && options->n_operands == 2) {
                arguments_set_str(arguments, arena, "id", str_from(options->operands[1]));
                return "budget.rm";
        }
        if (strcmp(verb, "set") != 0 || options->n_operands < 5) {
                (void)complain(CLI_USAGE, "ls, set SCOPE METRIC PER BOUND=N…, or rm ID");
                return NULL;
        }
        for (int i = 0; i < 3; i++)
                arguments_set_str(arguments, arena, names[i], str_from(options->operands[i + 1]));
        for (int i = 4; i < (int)options->n_operands; i++)
                if (budget_set_bound(arguments, arena, options->operands[i]))
                        return NULL;
        return "budget.set";
}

int cmd_budget(const Options *options) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Arguments arguments = {0};
        const AskingShow show = {.command = "budget",
                                 .op = budget_ask(options, &arguments, &arena),
                                 .is_json = options->json,
                                 .print = budget_print};

        return show.op ? asking_show(&show, &arena, &arguments) : CLI_USAGE;
}
