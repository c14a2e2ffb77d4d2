/* SPDX-License-Identifier: MIT */
/*
 * A terminal that is shown on itself shows what it shows, without end. Whoever works inside of a session is
 * kept from that; all other terminals of the session may be shown there.
 */
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/link/coop.h"
#include "cli/print/report.h"

enum { TIMEOUT_MS = 10000 };

/* A hosted process leads the session, in the sense of the kernel, of its terminal. */
static bool coop_self_is_ours(const Json *row) {
        int64_t pid = 0;

        return json_int64(json_get(row, "pid"), &pid) && pid == getsid(0);
}

static bool shows_session(Coop *coop, int64_t pty) {
        int64_t id = -1;

        coop_set_session(coop);
        if (coop_ask(coop, "sessionls") || coop->reply.is_error)
                return false; /* whatever it is, what follows will say it */
        json_each (row, json_get(coop->reply.result, "ptys"))
                if (json_int64(json_get(row, "id"), &id) && id == MAX(pty, (int64_t)0) &&
                    coop_self_is_ours(row))
                        return true;
        return false;
}

static bool shows_actor(Coop *coop) {
        _cleanup_(link_deinit) Link link = LINK_NULL;
        const Request request = {.dialect = "native", .op = "ps"};
        Reply reply = {0};

        if (link_open(&link, coop->socket, clock_ms() + TIMEOUT_MS) ||
            exchange(&link, &request, &coop->arena, &reply))
                return false;
        json_each (row, json_get(reply.result, "processes"))
                if (str_is(json_str(json_get(row, "object")), coop->session) && coop_self_is_ours(row))
                        return true;
        return false;
}

int coop_refuse_itself(Coop *coop, int64_t pty) {
        if (!getenv(coop->is_actor ? "CCCC_ACTOR_ID" : "COOP_SESSION") || !isatty(STDOUT_FILENO) ||
            !(coop->is_actor ? shows_actor(coop) : shows_session(coop, pty)))
                return CLI_OK;
        complain(CLI_FAILED, "%s: this is the very terminal of %s: it would show itself without end",
                 coop->command, coop->session);
        advise("from another terminal it can be shown");
        return CLI_FAILED;
}
