/* SPDX-License-Identifier: MIT */
#include "cli/call/opdoc.h"

#include <stdio.h>

#include "cli/cli.h"
#include "cli/print/nearest.h"
#include "cli/print/report.h"
#include "gen/openrpc.h"

enum { FULL_NAME_MAX = 256 };

bool opdoc_is_dialect(Str name) {
        for (size_t i = 0; i < n_op_docs; i++)
                if (str_is(name, op_docs[i].dialect))
                        return true;
        return false;
}

const OpDoc *opdoc_find(const char *full_name) {
        const char *dot = strchr(full_name, '.');

        for (size_t i = 0; dot && i < n_op_docs; i++)
                if (str_is((Str){full_name, (size_t)(dot - full_name)}, op_docs[i].dialect) &&
                    !strcmp(dot + 1, op_docs[i].name))
                        return &op_docs[i];
        return NULL;
}

const OpDocParam *opdoc_param(const OpDoc *doc, Str name) {
        for (size_t i = 0; i < doc->n_params; i++)
                if (str_is(name, doc->params[i].name))
                        return &doc->params[i];
        return NULL;
}

/* A name without its dialect: says which dialects have it. */
static bool advise_dialects(const char *name) {
        bool is_found = false;

        for (size_t i = 0; i < n_op_docs; i++)
                if (!strcmp(name, op_docs[i].name)) {
                        advise("did you mean %s.%s?", op_docs[i].dialect, name);
                        is_found = true;
                }
        return is_found;
}

void opdoc_complain(const char *full_name) {
        Nearest nearest = NEAREST(full_name);
        char names[2][FULL_NAME_MAX]; /* the best one, and the one being tried */
        unsigned trying = 0;

        complain(CLI_USAGE, "there is no operation %s", full_name);
        if (advise_dialects(full_name))
                return;
        for (size_t i = 0; i < n_op_docs; i++) {
                snprintf(names[trying], FULL_NAME_MAX, "%s.%s", op_docs[i].dialect, op_docs[i].name);
                if (nearest_offer(&nearest, names[trying]))
                        trying ^= 1;
        }
        if (nearest.best)
                advise("did you mean %s?", nearest.best);
        advise("list them with: muster schema");
}

const Json *openrpc_document(Arena *arena) {
        Json *document = NULL;

        (void)json_parse(arena, openrpc_json, openrpc_json_n, NULL, &document, NULL);
        return document;
}

const Json *openrpc_method(const Json *document, const OpDoc *doc) {
        json_each (method, json_get(document, "methods"))
                if (str_is(json_str(json_get(method, "x-dialect")), doc->dialect) &&
                    str_is(json_str(json_get(method, "x-op")), doc->name))
                        return method;
        return NULL;
}

const Json *openrpc_param_schema(const Json *method, Str name) {
        json_each (param, json_get(method, "params"))
                if (str_eq(json_str(json_get(param, "name")), name))
                        return json_get(param, "schema");
        return NULL;
}
