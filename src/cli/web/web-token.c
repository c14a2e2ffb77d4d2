/* SPDX-License-Identifier: MIT */
#include "cli/web/web-token.h"

#include <stdio.h>
#include <string.h>

#include "cli/link/web-link.h"
#include "cli/print/report.h"
#include "cli/print/table.h"

enum { HOURS_MAX = 8784 };

static int web_token_print_json(const Json *answer) {
        return json_print(stdout, answer, false) ? complain(CLI_FAILED, "out of memory") : CLI_OK;
}

static void web_token_add_time(Table *table, const Json *time) {
        Str text = json_str(time);

        table_add(table, text.n >= 16 ? (Str){text.data, 16} : STR("-")); /* to the minute, UTC */
}

static int web_token_ls(const Options *options, WebLink *web) {
        static const TableColumn columns[] = {{"ID", 0, false},    {"KIND", 0, false}, {"SCOPE", 0, false},
                                              {"LABEL", 0, false}, {"FOR", 0, false},  {"USED", 0, false},
                                              {"UNTIL", 0, false}, {"OPEN", 0, true}};
        _cleanup_(table_deinit) Table table = TABLE(columns);
        const Json *answer = NULL, *tokens;
        int r = web_link_ask(web, "token.ls", &answer);

        if (r || options->json)
                return r ? r : web_token_print_json(answer);
        tokens = json_get(answer, "tokens");
        if (!json_count(tokens)) {
                print("Nobody can come in over the web.\n");
                return CLI_OK;
        }
        json_each (token, tokens) {
                Str object = json_text_of(token, "object"), label = json_text_of(token, "label");
                int64_t n_clients = 0;

                table_add(&table, json_text_of(token, "id"));
                table_add(&table, json_text_of(token, "kind"));
                table_add(&table, json_text_of(token, "scope"));
                table_add(&table, label.n ? label : STR("-"));
                table_add(&table, object.n ? object : STR("all"));
                web_token_add_time(&table, json_get(token, "used"));
                web_token_add_time(&table, json_get(token, "expires"));
                (void)json_int64(json_get(token, "clients"), &n_clients);
                table_addf(&table, "%lld", (long long)n_clients);
        }
        if (table.is_out_of_memory)
                return complain(CLI_FAILED, "out of memory");
        table_print(&table, stdout, 0, 0, "\n");
        return CLI_OK;
}

static int web_token_create(const Options *options, WebLink *web) {
        const Json *answer = NULL;
        int r;

        web_link_set(web, "label", options->n_operands > 1 ? options->operands[1] : NULL);
        web_link_set(web, "scope", options->scope);
        web_link_set(web, "object", options->object);
        web_link_set_bool(web, "code", options->code);
        if (options->ttl > HOURS_MAX || !options->ttl)
                return complain(CLI_USAGE, "token create: --ttl is 1 to %d hours", HOURS_MAX);
        if (options->ttl > 0)
                web_link_set_int(web, "ttl_hours", options->ttl);
        r = web_link_ask(web, "token.create", &answer);
        if (r || options->json)
                return r ? r : web_token_print_json(answer);
        text_put(stdout, json_text_of(answer, "token"));
        putchar('\n');
        if (options->code)
                advise("It is good once, until " STR_FMT
                       ": ADDRESS/#code=… with the address of a server (muster serve).",
                       STR_ARG(json_text_of(answer, "expires")));
        else
                advise("It is shown this once. It is " STR_FMT
                       " in the list; take it back with: muster token revoke " STR_FMT,
                       STR_ARG(json_text_of(answer, "id")), STR_ARG(json_text_of(answer, "id")));
        return CLI_OK;
}

static int web_token_revoke(const Options *options, WebLink *web) {
        const Json *answer = NULL;
        int64_t n = 0;
        int r;

        web_link_set(web, "id", options->operands[1]);
        r = web_link_ask(web, "token.revoke", &answer);
        if (r || options->json)
                return r ? r : web_token_print_json(answer);
        (void)json_int64(json_get(answer, "clients"), &n);
        print(n == 1 ? "revoked, 1 connection closed\n"
              : n    ? "revoked, %lld connections closed\n"
                     : "revoked\n",
              (long long)n);
        return CLI_OK;
}

int web_token(const Options *options, const char *verb) {
        _cleanup_(web_link_deinit) WebLink web = WEB_LINK_NULL;
        int r;

        if (!strcmp(verb, "revoke") && options->n_operands < 2)
                return complain(CLI_USAGE, "usage: muster token revoke ID");
        web.is_json = options->json;
        r = asking_find(&web.socket);
        if (r)
                return r;
        if (!strcmp(verb, "ls"))
                return web_token_ls(options, &web);
        return !strcmp(verb, "create") ? web_token_create(options, &web) : web_token_revoke(options, &web);
}
