/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/link/find.h"
#include "cli/link/native.h"
#include "cli/print/report.h"
#include "cli/cmd/rules-check.h"
#include "cli/print/table.h"
#include "cli/link/task-link.h"

enum { TIMEOUT_MS = 10000 };

typedef struct Rules {
        const Options *options;
        char *socket, *project;
        Arena arena;
        Link link;
} Rules;

static void rules_deinit(Rules *rules) {
        free(rules->socket);
        free(rules->project);
        link_deinit(&rules->link);
        arena_deinit(&rules->arena);
}

/* ---- the daemon ------------------------------------------------------------------------------ */

static int rules_resolve_project(Rules *rules) {
        _cleanup_(freep) char *path = NULL;

        if (!rules->options->project) {
                rules->project = task_project_find(); /* NULL: the only one that is served */
                return CLI_OK;
        }
        path = path_expand(rules->options->project);
        rules->project = path ? realpath(path, NULL) : NULL;
        if (!rules->project || strchr(rules->project, '\n'))
                return complain(CLI_USAGE, "rules: %s: %s", rules->options->project,
                                strerror(rules->project ? EINVAL : errno));
        return CLI_OK;
}

static int complain_refused(const Rules *rules, const Reply *reply) {
        bool is_unserved = str_starts(reply->message, STR("not served by this daemon"));

        reply_complain("rules", reply, rules->options->json);
        if (is_unserved && rules->project)
                advise("serve it with: muster project add %s", rules->project);
        else if (is_unserved)
                advise("say which project: muster rules --project DIR");
        return CLI_FAILED;
}

static int rules_ask(Rules *rules, const char *op, const Json *args, const Json **ret) {
        Request request = {.dialect = "aiwg", .op = op, .args = args};
        int64_t timeout_ms = rules->options->timeout_ms < 0 ? TIMEOUT_MS : rules->options->timeout_ms;
        Reply reply;
        int r = rules_resolve_project(rules);

        if (r)
                return r;
        request.project = rules->project;
        rules->socket = find_socket();
        if (!rules->socket)
                return complain(CLI_FAILED, "cannot tell where the daemon's socket is: is HOME set?");
        r = link_open(&rules->link, rules->socket, clock_ms() + timeout_ms);
        if (r)
                return link_complain(r, rules->socket);
        r = exchange(&rules->link, &request, &rules->arena, &reply);
        if (r)
                return exchange_complain(r, rules->socket);
        if (reply.is_error)
                return complain_refused(rules, &reply);
        *ret = reply.result;
        return CLI_OK;
}

static int print_as_is(const Json *answer) {
        return json_print(stdout, answer, false) ? complain(CLI_FAILED, "out of memory") : CLI_OK;
}

/* ---- list ------------------------------------------------------------------------------------ */

static const TableColumn columns[] = {
        {"RULE", 0, false}, {"ON", 0, false},         {"TRIGGER", 0, false}, {"ACTION", 0, false},
        {"FIRED", 0, true}, {"LAST FIRED", 0, false}, {"NEXT", 0, false},    {"LAST ERROR", 0, false}};

static Str text_or_dash(const Json *object, const char *key) {
        Str text = json_str(json_get(object, key));

        return text.n ? text : STR("-");
}

/* 2026-01-02T03:04:05.678Z without its parts of a second */
static void add_time(Table *table, const Json *row, const char *key) {
        Str time = json_str(json_get(row, key));

        if (time.n > 5)
                table_addf(table, STR_FMT "Z", (int)(time.n - 5), time.data);
        else
                table_add(table, STR("-"));
}

static void rules_add_rule(Table *table, const Json *row) {
        const Json *trigger = json_get(row, "trigger");
        int64_t n_fired = 0;
        bool is_on = false;
        Str type = json_str(json_get(trigger, "type")), more = json_str(json_get(trigger, "pattern"));

        if (!type.n)
                type = json_str(json_get(trigger, "source"));
        if (!more.n)
                more = json_str(json_get(trigger, "cron"));
        (void)json_bool(json_get(row, "enabled"), &is_on);
        (void)json_int64(json_get(row, "fired"), &n_fired);
        table_add(table, json_str(json_get(row, "id")));
        table_add(table, is_on ? STR("yes") : STR("no"));
        table_addf(table, STR_FMT "%s" STR_FMT, STR_ARG(type), type.n && more.n ? " " : "", STR_ARG(more));
        table_add(table, text_or_dash(json_get(row, "action"), "type"));
        table_addf(table, "%lld", (long long)n_fired);
        add_time(table, row, "lastFired");
        add_time(table, row, "nextRun");
        table_add(table, text_or_dash(row, "lastError"));
}

static void print_rules(const Json *answer) {
        _cleanup_(table_deinit) Table table = TABLE(columns);
        Str wrong = json_str(json_get(answer, "configError"));
        bool is_on = true;

        json_each (row, json_get(answer, "rules"))
                rules_add_rule(&table, row);
        if (json_count(json_get(answer, "rules")))
                table_print(&table, stdout, 0, 0, "\n");
        else
                print("No rules. They are in .aiwg/daemon.json of the project.\n");
        if (json_bool(json_get(answer, "enabled"), &is_on) && !is_on)
                print("\nThe engine is switched off: muster rules enable\n");
        if (wrong.n) {
                fputs("\nThe file on the disk is not in use: ", stdout);
                text_put(stdout, wrong);
                putchar('\n');
        }
}

static int rules_list(Rules *rules) {
        const Json *answer = NULL;
        int r = rules_ask(rules, "automation.status", NULL, &answer);

        if (r)
                return r;
        if (rules->options->json)
                return print_as_is(answer);
        print_rules(answer);
        return CLI_OK;
}

/* ---- switches and events --------------------------------------------------------------------- */

static int throw_switch(Rules *rules, const char *word, const char *id) {
        const char *op = !strcmp(word, "enable") ? "automation.enable" : "automation.disable";
        Json *args = json_new(&rules->arena, JSON_OBJECT);
        const Json *answer = NULL;
        bool is_known = true;
        int r;

        if (!args ||
            (id && json_set(&rules->arena, args, STR("ruleId"), json_new_str(&rules->arena, str_from(id)))))
                return complain(CLI_FAILED, "out of memory");
        r = rules_ask(rules, op, args, &answer);
        if (r)
                return r;
        if (rules->options->json)
                r = print_as_is(answer);
        if (json_bool(json_get(answer, "success"), &is_known) && !is_known)
                return complain(CLI_FAILED, "there is no rule %s", id);
        return r;
}

static int show_events(Rules *rules) {
        const Json *answer = NULL;
        int r = rules_ask(rules, "automation.events", NULL, &answer);

        if (r)
                return r;
        if (rules->options->json)
                return print_as_is(answer);
        json_each (row, json_get(answer, "events"))
                if (json_print(stdout, row, false))
                        return complain(CLI_FAILED, "out of memory");
        return CLI_OK;
}

static int rules_check_words(Rules *rules, const char *file) {
        static const char name[] = ".aiwg/daemon.json";
        _cleanup_(freep) char *path = NULL;
        int r = file ? CLI_OK : rules_resolve_project(rules);

        if (r)
                return r;
        path = file || !rules->project ? strdup(file ? file : name) : path_join(rules->project, name);
        return path ? rules_check(path, rules->options->json) : complain(CLI_FAILED, "out of memory");
}

int cmd_rules(const Options *options) {
        _cleanup_(rules_deinit) Rules rules = {.options = options, .link = LINK_NULL};
        const char *word = options->n_operands ? options->operands[0] : "ls";
        const char *operand = options->n_operands > 1 ? options->operands[1] : NULL;

        if (!strcmp(word, "check"))
                return rules_check_words(&rules, operand);
        if (!strcmp(word, "enable") || !strcmp(word, "disable"))
                return throw_switch(&rules, word, operand);
        if (!strcmp(word, "ls") && !operand)
                return rules_list(&rules);
        if (!strcmp(word, "events") && !operand)
                return show_events(&rules);
        complain(CLI_USAGE, "rules: want ls, check, enable, disable or events");
        advise("try: muster rules --help");
        return CLI_USAGE;
}
