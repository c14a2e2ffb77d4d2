/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"
#include "cli/print/report.h"
#include "cli/term/show.h"

static int find_name(Coop *coop, const char **ret) {
        *ret = coop->session;
        return coop->is_other ? CLI_OK : coop_name(coop, ret);
}

/* What has no terminal is shown as it comes, and nothing can be typed. */
static int attach_follow(const Coop *coop, const Options *options) {
        Options follow = *options;
        char *operands[] = {coop->session};

        follow.follow = true;
        follow.operands = operands;
        follow.n_operands = 1;
        return cmd_logs(&follow);
}

int cmd_attach(const Options *options) {
        _cleanup_(coop_deinit) Coop coop = COOP_NULL;
        Show show = {
                .coop = &coop, .is_read_only = options->read_only, .is_raw = options->raw, .has_past = true};
        int r = show_choose_keys(&show, options);

        if (!r)
                r = output_check();
        if (!r)
                r = coop_open(&coop, "attach");
        if (!r)
                r = coop_choose(&coop, options->n_operands ? options->operands[0] : NULL);
        if (!r && (str_is(coop.thing.kind, "task") || str_is(coop.thing.kind, "run")))
                return attach_follow(&coop, options);
        if (!r)
                r = coop_refuse_itself(&coop, options->pty);
        if (!r)
                r = find_name(&coop, &show.name);
        if (r)
                return r;
        show.pty = options->pty < 0 ? coop.thing.number : options->pty;
        r = show_ask(&show);
        return r ? r : show_terminal(&show);
}
