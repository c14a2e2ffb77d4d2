/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/print/report.h"
#include "cli/term/show.h"

int cmd_shell(const Options *options) {
        _cleanup_(coop_deinit) Coop coop = COOP_NULL;
        Show show = {.coop = &coop};
        const char *own = getenv("SHELL");
        int r = show_choose_keys(&show, options);

        if (!r)
                r = output_check();
        if (!r)
                r = coop_open(&coop, "shell");
        if (!r)
                r = coop_choose(&coop, options->n_operands ? options->operands[0] : NULL);
        if (!r)
                r = coop_name(&coop, &show.name);
        if (r)
                return r;
        coop_set_session(&coop);
        if (options->program)
                coop_set_str(&coop, "command", str_from(options->program));
        if (own && *own == '/' && !access(own, X_OK))
                coop_set_str(&coop, "fallback", str_from(own));
        show_set_size(&coop);
        r = coop_call(&coop, "shell");
        if (r)
                return r;
        (void)json_int64(json_get(coop.reply.result, "pty"), &show.pty);
        return show_terminal(&show);
}
