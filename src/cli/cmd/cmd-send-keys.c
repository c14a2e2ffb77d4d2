/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"
#include "cli/link/coop.h"
#include "core/term/keys.h"
#include "cli/link/native.h"
#include "cli/print/report.h"
#include "cli/term/stream.h"

static int append_word(Buf *out, const char *word, bool is_literal) {
        int r = is_literal ? KEYS_E_UNKNOWN : keys_append(out, word);

        return r == KEYS_E_UNKNOWN ? buf_append_str(out, str_from(word)) : r;
}

static int send_keys_collect(const Options *options, Buf *out) {
        int r = 0;

        for (int i = 1; !r && i < options->n_operands; i++)
                r = append_word(out, options->operands[i], options->literal);
        if (!r && options->enter)
                r = buf_append_str(out, STR("\r"));
        return r ? complain(CLI_FAILED, "out of memory") : CLI_OK;
}

/* Its answer to our detach: what came before it has been taken. Output goes nowhere. */
static int await_detached(Coop *coop) {
        Str frame;
        int r;

        while ((r = link_receive(&coop->link, FRAMING_LENGTH, &frame)) == 0) {
                StreamEvent event;

                if (frame.n < 2 || frame.data[0] != STREAM_CONTROL)
                        continue;
                event = stream_event(&coop->arena, (Str){frame.data + 1, frame.n - 1});
                if (event.kind == STREAM_DETACHED)
                        return CLI_OK;
                if (event.kind == STREAM_EXITED)
                        return complain(CLI_FAILED, "send-keys: the process has ended (code %lld)",
                                        (long long)event.value);
        }
        if (r == LINK_E_TIMEOUT)
                return complain(CLI_TIMEOUT, "send-keys: the process does not read what is typed");
        return link_complain(r, coop->socket);
}

static int send_keys(Coop *coop, Str keys) {
        _cleanup_(buf_deinit) Buf frames = BUF_NULL;
        int r = stream_put_data(&frames, keys);

        if (!r)
                r = stream_put_detach(&frames);
        if (r)
                return complain(CLI_FAILED, "out of memory");
        r = link_send(&coop->link, buf_str(&frames));
        if (r && r != LINK_E_CLOSED)
                return link_complain(r, coop->socket);
        return await_detached(coop);
}

int cmd_send_keys(const Options *options) {
        _cleanup_(coop_deinit) Coop coop = COOP_NULL;
        _cleanup_(buf_deinit) Buf keys = BUF_NULL;
        int r;

        if (options->n_operands < 2 && !options->enter)
                return complain(CLI_USAGE, "send-keys: what is to be typed?");
        r = send_keys_collect(options, &keys);
        if (!r)
                r = coop_open(&coop, "send-keys");
        if (!r)
                r = coop_choose(&coop, options->operands[0]);
        if (!r && coop.is_other && coop.thing.name.n && !coop.thing.has_terminal &&
            !str_is(coop.thing.kind, "actor"))
                r = complain(CLI_FAILED,
                             "send-keys: " STR_FMT " has no terminal, so nothing can be typed there",
                             STR_ARG(coop.thing.name));
        if (r)
                return r;
        coop_set_session(&coop);
        coop_set_pty(&coop, options->pty);
        coop_set_int(&coop, "cols", 0); /* the size stays */
        coop_set_int(&coop, "rows", 0);
        r = coop_call(&coop, "attach");
        if (!r && coop_is_out_of_turn(&coop))
                return complain(CLI_FAILED, "send-keys: somebody else types at %s", coop.session);
        return r ? r : send_keys(&coop, buf_str(&keys));
}
