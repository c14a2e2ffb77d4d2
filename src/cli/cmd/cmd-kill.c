/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/link/coop.h"
#include "cli/link/ending.h"
#include "cli/print/report.h"

/* name NULL: all of them. */
static int kill_wait(Coop *coop, const Options *options, const char *name) {
        return options->no_wait ? CLI_OK : ending_wait(coop, name, NULL);
}

static int kill_all(Coop *coop, const Options *options) {
        int r;

        coop_set_str(coop, "session", STR(""));
        coop_set_bool(coop, "all", true);
        coop_set_bool(coop, "force", options->force);
        r = coop_call(coop, "kill");
        if (!r)
                r = kill_wait(coop, options, NULL);
        if (!r && options->json)
                r = coop_print(coop);
        else if (!r)
                print("All sessions %s\n", options->no_wait ? "are ending" : "killed");
        return r;
}

static int kill_pty(Coop *coop, const Options *options, const char *name) {
        int r;

        coop_set_session(coop);
        coop_set_pty(coop, options->pty);
        r = coop_call(coop, "sessionkill");
        if (!r)
                r = kill_wait(coop, options, name);
        if (!r && options->json)
                r = coop_print(coop);
        else if (!r)
                print("Terminal %lld of session '%s' %s\n", (long long)options->pty, name,
                      options->no_wait ? "is ending" : "killed");
        return r;
}

static int kill_session(Coop *coop, const Options *options, const char *name) {
        int r;

        coop_set_session(coop);
        coop_set_bool(coop, "force", options->force);
        r = coop_call(coop, "kill");
        if (!r)
                r = kill_wait(coop, options, name);
        if (!r && options->json)
                r = coop_print(coop);
        else if (!r)
                print("Session '%s' %s\n", name, options->no_wait ? "is ending" : "killed");
        return r;
}

int cmd_kill(const Options *options) {
        _cleanup_(coop_deinit) Coop coop = COOP_NULL;
        const char *name;
        int r;

        if (options->all && (options->n_operands || options->pty >= 0))
                return complain(CLI_USAGE, "kill: --all means all: name no session and no terminal");
        coop.is_json = options->json;
        r = coop_open(&coop, "kill");
        if (!r && options->all)
                return kill_all(&coop, options);
        if (!r)
                r = coop_choose(&coop, options->n_operands ? options->operands[0] : NULL);
        if (!r)
                r = coop_name(&coop, &name);
        if (r)
                return r;
        return options->pty >= 0 ? kill_pty(&coop, options, name) : kill_session(&coop, options, name);
}
