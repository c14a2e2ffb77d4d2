/* SPDX-License-Identifier: MIT */
/*
 * muster env: what the daemon gives to every process that it hosts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/link/coop.h"
#include "cli/link/native.h"
#include "cli/print/report.h"

enum { TIMEOUT_MS = 10000 };

typedef struct EnvCall {
        const Options *options;
        Coop coop; /* for its daemon only */
        Link link;
        Arena arena;
        const Json *answer;
} EnvCall;

static void env_call_deinit(EnvCall *call) {
        coop_deinit(&call->coop);
        link_deinit(&call->link);
        arena_deinit(&call->arena);
}

static int env_call(EnvCall *call, const char *op, const Json *args) {
        int r;

        link_deinit(&call->link);
        r = link_open(&call->link, call->coop.socket, clock_ms() + TIMEOUT_MS);
        if (r)
                return link_complain(r, call->coop.socket);
        r = native_call_with(&call->link, call->coop.socket, op, args, &call->arena, &call->answer);
        return r || call->answer ? r : link_complain(LINK_E_CLOSED, call->coop.socket);
}

static int env_show(EnvCall *call) {
        Json *args = json_new(&call->arena, JSON_OBJECT), *truth = json_new_bool(&call->arena, true);
        int r;

        if (!args || !truth || (call->options->reveal && json_set(&call->arena, args, STR("reveal"), truth)))
                return complain(CLI_FAILED, "out of memory");
        r = env_call(call, "env.show", args);
        if (r)
                return r;
        if (call->options->json)
                return json_print(stdout, call->answer, false) ? complain(CLI_FAILED, "out of memory")
                                                               : CLI_OK;
        json_each (member, json_get(call->answer, "env")) {
                text_put(stdout, json_key(member));
                putchar('=');
                text_put(stdout, json_is(member, JSON_STRING) ? json_str(member)
                                                              : STR("… (hidden; --reveal shows it)"));
                putchar('\n');
        }
        return CLI_OK;
}

/* NAME=VALUE, or NAME: its value here. */
static int env_set(EnvCall *call, const char *word) {
        const char *equals = strchr(word, '='), *value = equals ? equals + 1 : getenv(word);
        Str name = {word, equals ? (size_t)(equals - word) : strlen(word)};
        Json *args = json_new(&call->arena, JSON_OBJECT);

        if (!name.n)
                return complain(CLI_USAGE, "env: %s has no name", word);
        if (!value)
                return complain(CLI_USAGE, "env: %s is not set here; give it a value: %s=VALUE", word, word);
        if (!args || json_set(&call->arena, args, STR("name"), json_new_str(&call->arena, name)) ||
            json_set(&call->arena, args, STR("value"), json_new_str(&call->arena, str_from(value))))
                return complain(CLI_FAILED, "out of memory");
        return env_call(call, "env.set", args);
}

static int env_unset(EnvCall *call, const char *name) {
        Json *args = json_new(&call->arena, JSON_OBJECT);

        if (!args || json_set(&call->arena, args, STR("name"), json_new_str(&call->arena, str_from(name))))
                return complain(CLI_FAILED, "out of memory");
        return env_call(call, "env.unset", args);
}

int cmd_env(const Options *options) {
        _cleanup_(env_call_deinit) EnvCall call = {.options = options, .coop = COOP_NULL, .link = LINK_NULL};
        const char *verb = options->n_operands ? options->operands[0] : "show";
        bool is_set = !strcmp(verb, "set"), is_unset = !strcmp(verb, "unset");
        int r;

        if ((!is_set && !is_unset && strcmp(verb, "show") != 0) ||
            ((is_set || is_unset) && options->n_operands < 2) ||
            (!is_set && !is_unset && options->n_operands > 1))
                return complain(CLI_USAGE, "usage: muster env [show | set NAME[=VALUE]… | unset NAME…]");
        r = is_set ? coop_begin(&call.coop, "env") : coop_open(&call.coop, "env");
        if (!r && !is_set && !is_unset)
                return env_show(&call);
        for (int i = 1; !r && i < options->n_operands; i++)
                r = is_set ? env_set(&call, options->operands[i]) : env_unset(&call, options->operands[i]);
        return r;
}
