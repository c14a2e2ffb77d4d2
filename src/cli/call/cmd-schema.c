/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "cli/cli.h"
#include "cli/print/nearest.h"
#include "cli/call/opdoc.h"
#include "cli/call/schema-tools.h"
#include "cli/print/report.h"
#include "cli/print/wrap.h"
#include "cli/term/terminal.h"
#include "core/op.h"
#include "gen/openrpc.h"

/* ---- lists ----------------------------------------------------------------------------------- */

static bool schema_is_listed(const OpDoc *doc, const char *dialect) {
        return !dialect || !strcmp(doc->dialect, dialect);
}

static void schema_print_list(const char *dialect) {
        unsigned cols = 0, rows;
        int width = 0;

        if (isatty(STDOUT_FILENO))
                (void)terminal_size(&cols, &rows);
        for (size_t i = 0; i < n_op_docs; i++)
                if (schema_is_listed(&op_docs[i], dialect))
                        width = MAX(width, (int)(strlen(op_docs[i].dialect) + 1 + strlen(op_docs[i].name)));
        for (size_t i = 0; i < n_op_docs; i++) {
                const OpDoc *doc = &op_docs[i];

                if (!schema_is_listed(doc, dialect))
                        continue;
                print("%s.%-*s  ", doc->dialect, width - (int)strlen(doc->dialect) - 1, doc->name);
                text_wrap(stdout, str_from(doc->summary), (size_t)width + 2, cols);
        }
}

/* The entries of one dialect; pretty for people, as the whole document is. */
static int print_dialect_json(const Json *document, const char *dialect, Arena *arena, bool is_pretty) {
        Json *entries = json_new(arena, JSON_ARRAY);

        json_each (method, json_get(document, "methods"))
                if (str_is(json_str(json_get(method, "x-dialect")), dialect) &&
                    (!entries || json_push(entries, json_clone(arena, method))))
                        entries = NULL;
        return entries ? json_print(stdout, entries, is_pretty) : -1;
}

/* ---- one operation --------------------------------------------------------------------------- */

static void print_words(const OpDocParam *param) {
        print("%24sone of:", "");
        for (const char *const *word = param->words; *word; word++)
                print("%s %s", word == param->words ? "" : ",", *word);
        putchar('\n');
}

static void print_bounds(const Json *schema) {
        const Json *min = json_get(schema, "minimum"), *max = json_get(schema, "maximum");

        if (min)
                print(", at least %.*s", (int)min->n, min->text);
        if (max)
                print(", at most %.*s", (int)max->n, max->text);
}

static void print_params(const OpDoc *doc, const Json *method) {
        print("\nParameters:%s\n", doc->n_params ? "" : " none");
        for (size_t i = 0; i < doc->n_params; i++) {
                const OpDocParam *param = &doc->params[i];

                print("  %-20s  %s%s", param->name, param->type, param->required ? ", required" : "");
                print_bounds(openrpc_param_schema(method, str_from(param->name)));
                if (param->default_text)
                        print(", default %s", param->default_text);
                if (param->summary && *param->summary)
                        print("\n%24s%s", "", param->summary);
                putchar('\n');
                if (param->words)
                        print_words(param);
        }
}

/* Contracts that spell their errors as words have them in data.code. */
static void print_errors(const Json *method) {
        const Json *errors = json_get(method, "errors");

        if (!json_count(errors))
                return;
        print("\nErrors (besides the generic ones):\n");
        json_each (error, errors) {
                const Json *word = json_get(json_get(error, "data"), "code"),
                           *code = json_get(error, "code");
                Str text = json_is(word, JSON_STRING) ? json_str(word)
                           : code                     ? (Str){code->text, code->n}
                                                      : STR_NULL;

                print("  %-28.*s  ", STR_ARG(text));
                text_put(stdout, json_str(json_get(error, "message")));
                putchar('\n');
        }
}

static void print_flags(const OpDoc *doc) {
        uint32_t flags = doc->flags;

        print("Right: %s.\n", right_name((Right)doc->right));
        if (flags & OP_WRITES)
                print("Changes kept state; its answer comes when the change is stored.\n");
        if (flags & OP_STREAMS)
                print("Turns the connection into a stream.\n");
}

static int print_op(const OpDoc *doc, const Json *method) {
        print("%s.%s\n\n%s\n", doc->dialect, doc->name, doc->summary);
        print_flags(doc);
        print_params(doc, method);
        print_errors(method);
        print("\nResult:\n");
        return json_print(stdout, json_get(json_get(method, "result"), "schema"), true);
}

/* ---- which of them --------------------------------------------------------------------------- */

static int schema_refuse(const char *name) {
        Nearest nearest = NEAREST(name);

        if (strchr(name, '.')) {
                opdoc_complain(name);
                return CLI_USAGE;
        }
        for (size_t i = 0; i < n_op_docs; i++)
                nearest_offer(&nearest, op_docs[i].dialect);
        complain(CLI_USAGE, "there is no dialect %s", name);
        if (nearest.best)
                advise("did you mean %s?", nearest.best);
        return CLI_USAGE;
}

static int print_named(const Options *options, const char *name) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        const Json *document = openrpc_document(&arena);
        const OpDoc *doc = opdoc_find(name);
        bool is_pretty = is_for_people(false);
        int r = 0;

        if (!document)
                return complain(CLI_FAILED, "out of memory");
        if (doc && options->json)
                r = json_print(stdout, openrpc_method(document, doc), is_pretty);
        else if (doc)
                r = print_op(doc, openrpc_method(document, doc));
        else if (!opdoc_is_dialect(str_from(name)))
                return schema_refuse(name);
        else if (options->json)
                r = print_dialect_json(document, name, &arena, is_pretty);
        else
                schema_print_list(name);
        return r ? complain(CLI_FAILED, "out of memory") : CLI_OK;
}

int cmd_schema(const Options *options) {
        if (options->n_operands && schema_tools_is_meant(options->operands[0]))
                return schema_tools_print(options->operands[0], options->json);
        if (options->n_operands)
                return print_named(options, options->operands[0]);
        if (options->json)
                json_put_text(stdout, str_from(openrpc_json));
        else
                schema_print_list(NULL);
        return CLI_OK;
}
