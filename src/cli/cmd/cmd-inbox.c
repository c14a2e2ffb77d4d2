/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "cli/print/report.h"
#include "cli/link/cccc.h"
#include "cli/print/event-text.h"

/* Whose inbox: an operand, else one's own. */
static Str owner(const Cccc *cccc, const Options *options) {
        return options->n_operands ? str_from(options->operands[0]) : cccc->by;
}

static void set_filter(Cccc *cccc, const Options *options) {
        cccc_set_target(cccc);
        cccc_set_str(cccc, "actor_id", owner(cccc, options));
        if (options->kind)
                cccc_set_str(cccc, "kind_filter", str_from(options->kind));
}

static int inbox_show_unread(Cccc *cccc, const Options *options) {
        const Json *messages;
        int r;

        set_filter(cccc, options);
        if (options->tail >= 0)
                cccc_set_int(cccc, "limit", options->tail);
        r = cccc_call(cccc, "inbox_list");
        if (r || options->json)
                return r ? r : cccc_print(cccc);
        messages = json_get(cccc->reply.result, "messages");
        json_each (event, messages)
                event_print(stdout, event, cccc->folder);
        if (!json_count(messages))
                print("Nothing unread.\n");
        return CLI_OK;
}

/* Up to the newest one shown, not further: what came meanwhile stays unread. */
static int mark_read(Cccc *cccc, const Options *options) {
        const Json *newest = NULL;

        json_each (event, json_get(cccc->reply.result, "messages"))
                newest = event;
        if (!newest)
                return CLI_OK;
        cccc_set_target(cccc);
        cccc_set_str(cccc, "actor_id", owner(cccc, options));
        cccc_set_str(cccc, "event_id", json_str(json_get(newest, "id")));
        return cccc_call(cccc, "inbox_mark_read");
}

int cmd_inbox(const Options *options) {
        _cleanup_(cccc_deinit) Cccc cccc = CCCC_NULL;
        int r = cccc_open(&cccc, "inbox", options);

        if (!r)
                r = cccc_choose_group(&cccc, options);
        if (!r && options->n_operands)
                r = cccc_check_name(&cccc, owner(&cccc, options));
        if (!r)
                r = inbox_show_unread(&cccc, options);
        return r || !options->read ? r : mark_read(&cccc, options);
}
