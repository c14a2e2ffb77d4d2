/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/link/caller-env.h"
#include "cli/print/report.h"
#include "cli/link/coop.h"

/* By the rules of its contract; a task is another one then. */
static int restart_thing(Coop *coop, const Options *options) {
        const char *by = options->as ? options->as : getenv("CCCC_ACTOR_ID");
        Str task;
        int r;

        if (options->pty >= 0)
                return complain(CLI_USAGE, "restart: " STR_FMT " has no terminals, so --pty is for sessions",
                                STR_ARG(coop->thing.name));
        coop_set_str(coop, "by", str_from(by && *by ? by : "user"));
        arguments_set(&coop->args, &coop->arena, "env", caller_env(&coop->arena));
        r = coop_call_fleet(coop, "fleet.restart");
        if (r || options->json)
                return r ? r : coop_print(coop);
        task = json_str(json_get(coop->reply.result, "task"));
        if (task.n)
                print("Task '%s' submitted again: " STR_FMT "\n", coop->session, STR_ARG(task));
        else
                print("Actor '%s' restarted\n", coop->session);
        return CLI_OK;
}

int cmd_restart(const Options *options) {
        _cleanup_(coop_deinit) Coop coop = COOP_NULL;
        const char *name;
        int64_t pid = 0;
        int r = coop_open(&coop, "restart");

        coop.is_json = options->json;
        if (!r)
                r = coop_choose(&coop, options->n_operands ? options->operands[0] : NULL);
        if (!r && coop.thing.name.n && coop.is_other)
                return restart_thing(&coop, options);
        if (!r)
                r = coop_name(&coop, &name);
        if (r)
                return r;
        coop_set_session(&coop);
        coop_set_pty(&coop, options->pty);
        r = coop_call(&coop, "restart");
        if (r || options->json)
                return r ? r : coop_print(&coop);
        (void)json_int64(json_get(coop.reply.result, "pid"), &pid);
        print("Session '%s' restarted, pid %lld\n", name, (long long)pid);
        coop_tell_notes(&coop);
        return CLI_OK;
}
