/* SPDX-License-Identifier: MIT */
/* muster usage: tokens and cost of agents. What programs report and what is priced by a table stand in columns of their own. */
#include <stdio.h>
#include <stdlib.h>

#include "base/time.h"
#include "cli/cli.h"
#include "cli/link/asking.h"
#include "cli/print/human.h"
#include "cli/print/report.h"
#include "cli/print/table.h"

static const TableColumn usage_columns[] = {
        {"OF", 0, false},      {"RESPONSES", 0, true}, {"IN", 0, true},
        {"CACHED", 0, true},   {"WRITTEN", 0, true},   {"OUT", 0, true},
        {"REPORTED", 0, true}, {"PRICED", 0, true},    {"UNPRICED", 0, true}};

static void usage_add_number(Table *table, const Json *row, const char *key) {
        int64_t n = 0;

        (void)json_int64(json_get(row, key), &n);
        table_addf(table, "%lld", (long long)n);
}

static void usage_add_usd(Table *table, const Json *row, const char *key) {
        double usd = 0;

        if (json_double(json_get(row, key), &usd))
                table_addf(table, "$%.4f", usd);
        else
                table_add(table, STR("-"));
}

static void usage_add_row(Table *table, Str key, const Json *row) {
        table_add(table, key.n ? key : STR("-"));
        usage_add_number(table, row, "responses");
        usage_add_number(table, row, "in");
        usage_add_number(table, row, "cached");
        usage_add_number(table, row, "cache_write");
        usage_add_number(table, row, "out");
        usage_add_usd(table, row, "reported_usd");
        usage_add_usd(table, row, "priced_usd");
        usage_add_number(table, row, "unpriced");
}

static int usage_print(const Json *answer) {
        _cleanup_(table_deinit) Table table = TABLE(usage_columns);

        if (!json_count(json_get(answer, "rows"))) {
                print("nothing was used since " STR_FMT "\n", STR_ARG(json_text_of(answer, "since")));
                return CLI_OK;
        }
        json_each (row, json_get(answer, "rows"))
                usage_add_row(&table, json_text_of(row, "key"), row);
        usage_add_row(&table, STR("total"), json_get(answer, "total"));
        table_print(&table, stdout, 0, 0, "\n");
        if (!json_truth_of(answer, "complete"))
                print("There are more rows; the total has them.\n");
        print("Since " STR_FMT ". Reported: as the agent's program says it.\n"
              "Priced: by a table of prices. Unpriced: tokens of which no cost is known.\n",
              STR_ARG(json_text_of(answer, "since")));
        return CLI_OK;
}

static int usage_set_since(Arguments *arguments, Arena *arena, const char *since) {
        char text[TIME_TEXT_MAX];
        int64_t us;

        if (!since)
                return CLI_OK;
        if (!human_since(since, &us))
                return complain(CLI_USAGE, "--since %s: not a time, nor 30s, 10m, 2h, 1d", since);
        time_format_ms(us, text);
        arguments_set_str(arguments, arena, "since", str_from(text));
        return CLI_OK;
}

int cmd_usage(const Options *options) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        const AskingShow show = {
                .command = "usage", .op = "usage.report", .is_json = options->json, .print = usage_print};
        Arguments arguments = {0};
        int r = usage_set_since(&arguments, &arena, options->since);

        if (r)
                return r;
        if (options->n_operands)
                arguments_set_str(&arguments, &arena, "by", str_from(options->operands[0]));
        return asking_show(&show, &arena, &arguments);
}
