/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "cli/link/cccc.h"
#include "cli/print/report.h"

/* The answer is the event; a person wants its id, to reply to or to look for. */
static int send_tell(Cccc *cccc, const Options *options) {
        Str id = json_str(json_get(json_get(cccc->reply.result, "event"), "id"));

        if (options->json)
                return cccc_print(cccc);
        text_put(stdout, id);
        putchar('\n');
        return CLI_OK;
}

static int send_text(Cccc *cccc, const char *op, Str reply_to, const Options *options, char **words, int n) {
        Str text = STR_NULL;
        int r = cccc_text(cccc, words, n, &text);

        if (r)
                return r;
        if (!str_trim(text).n) {
                complain(CLI_USAGE, "%s: the message is empty", op);
                advise("its words stand behind the command; a - takes them from stdin");
                return CLI_USAGE;
        }
        cccc_set_target(cccc);
        cccc_set_str(cccc, "text", text);
        if (reply_to.n)
                cccc_set_str(cccc, "reply_to", reply_to);
        cccc_set_strings(cccc, "to", options->to.items, options->to.n);
        if (options->attention)
                cccc_set_str(cccc, "priority", STR("attention"));
        if (options->key)
                cccc_set_str(cccc, "client_id", str_from(options->key));
        r = cccc_call(cccc, op);
        return r ? r : send_tell(cccc, options);
}

int cmd_send(const Options *options) {
        _cleanup_(cccc_deinit) Cccc cccc = CCCC_NULL;
        int r = cccc_begin(&cccc, "send", options);

        if (!r)
                r = cccc_choose_group(&cccc, options);
        return r ? r : send_text(&cccc, "send", STR_NULL, options, options->operands, options->n_operands);
}

int cmd_reply(const Options *options) {
        _cleanup_(cccc_deinit) Cccc cccc = CCCC_NULL;
        Str reply_to = STR_NULL;
        int r = cccc_begin(&cccc, "reply", options);

        if (!r)
                r = cccc_choose_group(&cccc, options);
        if (!r)
                r = cccc_event_id(&cccc, options->operands[0], &reply_to);
        if (r)
                return r;
        return send_text(&cccc, "reply", reply_to, options, options->operands + 1, options->n_operands - 1);
}

int cmd_ack(const Options *options) {
        _cleanup_(cccc_deinit) Cccc cccc = CCCC_NULL;
        Str event = STR_NULL;
        int r = cccc_open(&cccc, "ack", options);

        if (!r)
                r = cccc_choose_group(&cccc, options);
        if (!r)
                r = cccc_event_id(&cccc, options->operands[0], &event);
        if (r)
                return r;
        cccc_set_target(&cccc);
        cccc_set_str(&cccc, "actor_id", cccc.by);
        cccc_set_str(&cccc, "event_id", event);
        r = cccc_call(&cccc, "chat_ack");
        return r || !options->json ? r : cccc_print(&cccc);
}
