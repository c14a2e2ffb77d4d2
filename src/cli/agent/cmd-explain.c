/* SPDX-License-Identifier: MIT */
/* muster explain: what an agent does, who says so, and what was heard of it. Texts of agents are escaped by print() and tables. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/link/coop.h"
#include "cli/print/human.h"
#include "cli/print/report.h"
#include "cli/print/table.h"

static const TableColumn explain_columns[] = {
        {"AGE", 0, true},     {"SOURCE", 0, false},  {"EVENT", 0, false},  {"SAYS", 0, false},
        {"DETAIL", 0, false}, {"SESSION", 0, false}, {"VERDICT", 0, false}};

enum { EXPLAIN_SESSION_SHOWN = 8 };

static Str explain_text(const Json *object, const char *key) {
        return json_text_of(object, key);
}

static int64_t explain_number(const Json *object, const char *key) {
        int64_t value = 0;

        (void)json_int64(json_get(object, key), &value);
        return value;
}

static void explain_add_fact(Table *table, const Json *fact) {
        Str detail = explain_text(fact, "detail"), tool = explain_text(fact, "tool"),
            session = explain_text(fact, "session");
        char age[HUMAN_MAX];

        table_add(table, str_from(human_age(explain_number(fact, "age_s"), age)));
        table_add(table, explain_text(fact, "source"));
        table_add(table, explain_text(fact, "event").n ? explain_text(fact, "event") : STR("-"));
        table_add(table, explain_text(fact, "kind"));
        if (detail.n && tool.n)
                table_addf(table, STR_FMT " " STR_FMT, STR_ARG(detail), STR_ARG(tool));
        else
                table_add(table, detail.n ? detail : tool.n ? tool : STR("-"));
        table_add(table, session.n ? (Str){session.data, MIN(session.n, EXPLAIN_SESSION_SHOWN)} : STR("-"));
        table_add(table, explain_text(fact, "verdict"));
}

/* One sentence: what it does, since when, who says so. */
static void explain_head(const Json *answer) {
        const Json *agent = json_get(answer, "agent"), *decided = json_get(answer, "decided_by");
        Str detail = explain_text(agent, "detail"), event = explain_text(decided, "event");
        char age[HUMAN_MAX];

        print(STR_FMT ": " STR_FMT "%s" STR_FMT "\n", STR_ARG(explain_text(answer, "name")),
              STR_ARG(explain_text(agent, "state")), detail.n ? ": " : "", STR_ARG(detail));
        print("  since " STR_FMT ", said by " STR_FMT "%s" STR_FMT " %s ago; hooks: " STR_FMT "\n",
              STR_ARG(explain_text(agent, "since")), STR_ARG(explain_text(agent, "source")),
              event.n ? " " : "", STR_ARG(event), human_age(explain_number(agent, "age_s"), age),
              STR_ARG(explain_text(agent, "hooks")));
        if (json_truth_of(agent, "doubt"))
                print("  it may be otherwise: " STR_FMT "\n", STR_ARG(explain_text(agent, "why")));
        if (explain_text(answer, "front").n)
                print("  in front of its terminal: " STR_FMT "\n", STR_ARG(explain_text(answer, "front")));
        if (explain_text(answer, "hint").n)
                print("  " STR_FMT "\n", STR_ARG(explain_text(answer, "hint")));
}

static int explain_print(const Json *answer) {
        _cleanup_(table_deinit) Table table = TABLE(explain_columns);

        explain_head(answer);
        fputs("\n", stdout);
        json_each (fact, json_get(answer, "facts"))
                explain_add_fact(&table, fact);
        table_print(&table, stdout, 0, 0, "\n");
        return CLI_OK;
}

int cmd_explain(const Options *options) {
        _cleanup_(coop_deinit) Coop coop = COOP_NULL;
        int r = coop_open(&coop, "explain");

        coop.is_json = options->json;
        if (!r)
                r = coop_choose(&coop, options->n_operands ? options->operands[0] : NULL);
        if (r)
                return r;
        if (!coop.thing.name.n) /* the daemon says that there is none */
                coop.thing.name = str_from(coop.session);
        r = coop_call_fleet(&coop, "agent.explain");
        if (r || options->json)
                return r ? r : coop_print(&coop);
        return explain_print(coop.reply.result);
}
