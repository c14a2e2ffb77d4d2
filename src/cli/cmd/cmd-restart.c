/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/print/report.h"
#include "cli/link/coop.h"

int cmd_restart(const Options *options) {
        _cleanup_(coop_deinit) Coop coop = COOP_NULL;
        const char *name;
        int64_t pid = 0;
        int r = coop_open(&coop, "restart");

        coop.is_json = options->json;
        if (!r)
                r = coop_choose(&coop, options->n_operands ? options->operands[0] : NULL);
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
