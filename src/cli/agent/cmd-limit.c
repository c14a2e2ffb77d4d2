/* SPDX-License-Identifier: MIT */
/* muster limit: limits of agents' accounts, and who goes on when they are over. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/link/asking.h"
#include "cli/print/human.h"
#include "cli/print/report.h"
#include "cli/print/table.h"

static const TableColumn limit_columns[] = {{"ACCOUNT", 0, false}, {"WINDOW", 0, false}, {"USED", 0, true},
                                            {"RESETS", 0, false},  {"STATE", 0, false},  {"UNTIL", 0, false},
                                            {"SOURCE", 0, false},  {"SEEN", 0, false}};
static const TableColumn limit_agent_columns[] = {{"AGENT", 0, false},
                                                  {"STOPPED", 0, false},
                                                  {"STEP", 0, false},
                                                  {"ACCOUNT", 0, false},
                                                  {"WHY", 0, false}};

static void limit_add_text(Table *table, const Json *row, const char *key) {
        Str text = json_text_of(row, key);

        table_add(table, text.n ? text : STR("-"));
}

static void limit_add_ago(Table *table, const Json *row, const char *key) {
        char out[HUMAN_MAX];

        table_add(table, str_from(human_ago(json_text_of(row, key), out)));
}

static void limit_add_ahead(Table *table, const Json *row, const char *key) {
        char out[HUMAN_MAX];

        table_add(table, str_from(human_ahead(json_text_of(row, key), out)));
}

static void limit_add(Table *table, const Json *row) {
        double used = 0;

        table_add(table, json_text_of(row, "account"));
        table_add(table, json_text_of(row, "window"));
        if (json_double(json_get(row, "used_percent"), &used))
                table_addf(table, "%.0f%%", used);
        else
                table_add(table, STR("-"));
        limit_add_ahead(table, row, "resets_at");
        table_add(table, json_truth_of(row, "ignored")   ? STR("ignored")
                         : json_truth_of(row, "reached") ? STR("reached")
                                                         : STR("free"));
        limit_add_ahead(table, row, "until");
        table_add(table, json_text_of(row, "source"));
        limit_add_ago(table, row, "seen_at");
}

static int limit_print_list(const Json *answer) {
        _cleanup_(table_deinit) Table limits = TABLE(limit_columns), agents = TABLE(limit_agent_columns);

        if (!json_truth_of(answer, "watched"))
                print("limits are not followed: the setting limits.watch is off\n");
        else if (!json_count(json_get(answer, "limits")))
                print("no limit of an account was seen\n");
        json_each (row, json_get(answer, "limits"))
                limit_add(&limits, row);
        json_each (row, json_get(answer, "agents")) {
                table_add(&agents, json_text_of(row, "name"));
                limit_add_ago(&agents, row, "since");
                table_add(&agents, json_text_of(row, "step"));
                limit_add_text(&agents, row, "account");
                limit_add_text(&agents, row, "why");
        }
        if (json_count(json_get(answer, "limits")))
                table_print(&limits, stdout, 0, 0, "\n");
        if (json_count(json_get(answer, "agents"))) {
                print("\n");
                table_print(&agents, stdout, 0, 0, "\n");
        }
        return CLI_OK;
}

static int limit_print(const Json *answer) {
        Str account = json_text_of(answer, "account"), name = json_text_of(answer, "name");

        if (json_get(answer, "limits"))
                return limit_print_list(answer);
        print("%s " STR_FMT "\n", json_truth_of(answer, "ignored") ? "ignored" : "resumed",
              STR_ARG(account.n ? account : name));
        return CLI_OK;
}

/* An account has a folder in it, a name has none. */
static bool limit_is_account(const char *word) {
        const char *colon = strchr(word, ':');

        return colon && colon[1] == '/';
}

/* The operation that is asked for; NULL: it was complained of. */
static const char *limit_ask(const Options *options, Arguments *arguments, Arena *arena) {
        const char *verb = options->n_operands ? options->operands[0] : "ls";
        bool is_resume = !strcmp(verb, "resume");

        if (!strcmp(verb, "ls") && options->n_operands <= 1)
                return "limit.ls";
        if ((!is_resume && strcmp(verb, "ignore") != 0) || options->n_operands != 2) {
                (void)complain(CLI_USAGE, "ls, resume ACCOUNT|NAME, or ignore ACCOUNT");
                return NULL;
        }
        arguments_set_str(arguments, arena,
                          is_resume && !limit_is_account(options->operands[1]) ? "name" : "account",
                          str_from(options->operands[1]));
        return is_resume ? "limit.resume" : "limit.ignore";
}

int cmd_limit(const Options *options) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Arguments arguments = {0};
        const AskingShow show = {.command = "limit",
                                 .op = limit_ask(options, &arguments, &arena),
                                 .is_json = options->json,
                                 .print = limit_print};

        return show.op ? asking_show(&show, &arena, &arguments) : CLI_USAGE;
}
