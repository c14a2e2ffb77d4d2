/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/link/coop.h"
#include "cli/print/report.h"

static int kill_all(Coop *coop, bool is_forced) {
        int r;

        coop_set_str(coop, "session", STR(""));
        coop_set_bool(coop, "all", true);
        coop_set_bool(coop, "force", is_forced);
        r = coop_call(coop, "kill");
        if (!r)
                printf("All sessions killed\n");
        return r;
}

static int kill_pty(Coop *coop, const char *name, int64_t pty) {
        int r;

        coop_set_session(coop);
        coop_set_pty(coop, pty);
        r = coop_call(coop, "sessionkill");
        if (!r)
                printf("Terminal %lld of session '%s' killed\n", (long long)pty, name);
        return r;
}

static int kill_session(Coop *coop, const char *name, bool is_forced) {
        int r;

        coop_set_session(coop);
        coop_set_bool(coop, "force", is_forced);
        r = coop_call(coop, "kill");
        if (!r)
                printf("Session '%s' killed\n", name);
        return r;
}

int cmd_kill(const Options *options) {
        _cleanup_(coop_deinit) Coop coop = COOP_NULL;
        const char *name;
        int r;

        if (options->all && (options->n_operands || options->pty >= 0))
                return complain(CLI_USAGE, "kill: --all means all: name no session and no terminal");
        r = coop_open(&coop, "kill");
        if (!r && options->all)
                return kill_all(&coop, options->force);
        if (!r)
                r = coop_choose(&coop, options->n_operands ? options->operands[0] : NULL);
        if (!r)
                r = coop_name(&coop, &name);
        if (r)
                return r;
        return options->pty >= 0 ? kill_pty(&coop, name, options->pty)
                                 : kill_session(&coop, name, options->force);
}
