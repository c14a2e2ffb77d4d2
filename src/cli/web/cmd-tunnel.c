/* SPDX-License-Identifier: MIT */
/*
 * muster tunnel: a tunnel to the daemon for as long as this command runs. The daemon closes it with the connection that asked for it, so Ctrl+C, a
 * closed terminal and kill -9 all end it. What happens to it is asked for on the same connection, one question after the other.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json/json-writer.h"
#include "cli/cli.h"
#include "cli/link/native.h"
#include "cli/link/web-link.h"
#include "cli/print/qr.h"
#include "cli/print/report.h"

typedef struct Tunnelling {
        const Options *options;
        WebLink web; /* its link stays open: the tunnel ends with it */
        const Json *answer;
        int64_t number, seen;
        bool was_there; /* somebody was */
} Tunnelling;

static void tunnelling_deinit(Tunnelling *self) {
        web_link_deinit(&self->web);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* A name as it is; a path, and the folder where we are, as the daemon knows it. */
static char *tunnelling_session(const Options *options) {
        const char *said = options->n_operands ? options->operands[0] : ".";
        bool is_path = strchr(said, '/') || !strcmp(said, ".") || !strcmp(said, "..");
        char *resolved = is_path ? realpath(said, NULL) : NULL;

        if (resolved)
                return resolved;
        return strdup(str_starts(str_from(said), STR("session:")) ? said + strlen("session:") : said);
}

static int tunnelling_open(Tunnelling *self) {
        const Options *options = self->options;
        char *session = tunnelling_session(options);

        if (!session)
                return complain(CLI_FAILED, "out of memory");
        web_link_set(&self->web, "session", session);
        web_link_set(&self->web, "scope", options->view ? "view" : "control");
        web_link_set(&self->web, "page", options->page);
        web_link_set(&self->web, "stun", options->no_stun ? "" : options->stun);
        web_link_set_bool(&self->web, "held", true);
        free(session);
        if (web_link_ask(&self->web, "tunnel.open", &self->answer))
                return CLI_TUNNEL;
        (void)json_int64(json_get(self->answer, "tunnel"), &self->number);
        return CLI_OK;
}

/* ---- what is said ---------------------------------------------------------------------------- */

static int tunnelling_print(const Tunnelling *self) {
        const Json *answer = self->answer;
        const char *address = arena_str((Arena *)&self->web.arena, json_text_of(answer, "qr_data")).data;
        Str page = json_text_of(answer, "page"), code = json_text_of(answer, "short_code");

        if (self->options->json) {
                if (json_print(stdout, answer, false))
                        return complain(CLI_FAILED, "out of memory");
        } else if (address) {
                print("\n  %s\n\n", address);
                if (!self->options->no_qr)
                        qr_show(address, self->options->ascii ? QR_ASCII : QR_BLOCKS);
                print("  Or typed at /connect of a web server of this daemon:  " STR_FMT "\n",
                      STR_ARG(code));
        }
        if (!json_truth_of(answer, "has_page"))
                advise("There is no page at " STR_FMT
                       " yet: serve one with muster serve -H 0.0.0.0, or name one with --page.",
                       STR_ARG(page));
        advise("The code is good once, for 5 minutes. Ctrl+C closes the tunnel.");
        return fflush(stdout) ? complain(CLI_FAILED, "cannot print: %s", strerror(errno)) : CLI_OK;
}

static void tunnelling_tell(Tunnelling *self, const Json *news) {
        Str state = json_text_of(news, "state"), from = json_text_of(news, "address"),
            why = json_text_of(news, "reason");

        if (str_is(state, "connected")) {
                advise("%s " STR_FMT, self->was_there ? "back, from" : "connected from", STR_ARG(from));
                self->was_there = true;
        } else if (str_is(state, "away"))
                advise("lost (" STR_FMT "); it may come back for 10 minutes", STR_ARG(why));
        else if (str_is(state, "waiting"))
                advise("somebody at " STR_FMT " did not get in (" STR_FMT "); still waiting", STR_ARG(from),
                       STR_ARG(why));
}

/* ---- until it ends --------------------------------------------------------------------------- */

static const Json *tunnelling_args(const Tunnelling *self, Arena *arena) {
        Json *args = json_new(arena, JSON_OBJECT);

        if (!args || json_set(arena, args, STR("tunnel"), json_new_int(arena, self->number)) ||
            json_set(arena, args, STR("seen"), json_new_int(arena, self->seen)))
                return NULL;
        return args;
}

static int tunnelling_next(Tunnelling *self, bool *ret_is_over) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        const Request request = {
                .dialect = "native", .op = "tunnel.wait", .args = tunnelling_args(self, &arena)};
        Reply reply;
        int r;

        if (!request.args)
                return complain(CLI_FAILED, "out of memory");
        self->web.link.deadline_ms = DEADLINE_NEVER;
        r = exchange(&self->web.link, &request, &arena, &reply);
        if (r)
                return r == LINK_E_CLOSED ? complain(CLI_TUNNEL, "tunnel: the daemon has ended")
                                          : exchange_complain(r, self->web.socket);
        if (reply.is_error)
                return complain(CLI_TUNNEL, "tunnel: " STR_FMT, STR_ARG(reply.message));
        (void)json_int64(json_get(reply.result, "changes"), &self->seen);
        *ret_is_over = str_is(json_text_of(reply.result, "state"), "over");
        if (*ret_is_over)
                return complain(CLI_TUNNEL, "tunnel: " STR_FMT,
                                STR_ARG(json_text_of(reply.result, "reason")));
        tunnelling_tell(self, reply.result);
        return CLI_OK;
}

static int tunnelling_hash(Tunnelling *self) {
        const Json *answer = NULL;

        if (web_link_ask(&self->web, "tunnel.page", &answer))
                return CLI_TUNNEL;
        print(STR_FMT "\n", STR_ARG(json_text_of(answer, "sha256")));
        return CLI_OK;
}

int cmd_tunnel(const Options *options) {
        _cleanup_(tunnelling_deinit) Tunnelling self = {.options = options, .web = WEB_LINK_NULL};
        bool is_over = false;
        int r;

        self.web.is_json = options->json;
        if (options->stun && options->no_stun)
                return complain(CLI_USAGE, "tunnel: --stun or --no-stun, not both");
        r = asking_start(&self.web.socket);
        if (r)
                return r;
        if (options->page_hash)
                return tunnelling_hash(&self);
        r = tunnelling_open(&self);
        if (!r)
                r = tunnelling_print(&self);
        while (!r && !is_over)
                r = tunnelling_next(&self, &is_over);
        return r;
}
