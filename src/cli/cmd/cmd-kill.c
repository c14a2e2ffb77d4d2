/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/link/coop.h"
#include "cli/link/ending.h"
#include "cli/link/native.h"
#include "cli/print/report.h"
#include "gen/errors.h"

/* name NULL: all of them. */
static int kill_wait(Coop *coop, const Options *options, const char *name) {
        return options->no_wait ? CLI_OK : ending_wait(coop, name, NULL);
}

static int kill_kill_all(Coop *coop, const Options *options) {
        int r;

        coop_set_str(coop, "session", STR(""));
        coop_set_bool(coop, "all", true);
        coop_set_bool(coop, "force", options->force);
        r = coop_call(coop, "kill");
        if (!r)
                r = kill_wait(coop, options, NULL);
        if (!r && options->json)
                r = coop_print(coop);
        else if (!r)
                print("All sessions %s\n", options->no_wait ? "are ending" : "killed");
        return r;
}

static int kill_pty(Coop *coop, const Options *options, const char *name) {
        int r;

        coop_set_session(coop);
        coop_set_pty(coop, options->pty);
        r = coop_call(coop, "sessionkill");
        if (!r)
                r = kill_wait(coop, options, name);
        if (!r && options->json)
                r = coop_print(coop);
        else if (!r)
                print("Terminal %lld of session '%s' %s\n", (long long)options->pty, name,
                      options->no_wait ? "is ending" : "killed");
        return r;
}

static int kill_session(Coop *coop, const Options *options, const char *name) {
        int r;

        coop_set_session(coop);
        coop_set_bool(coop, "force", options->force);
        r = coop_call(coop, "kill");
        if (!r)
                r = kill_wait(coop, options, name);
        if (!r && options->json)
                r = coop_print(coop);
        else if (!r)
                print("Session '%s' %s\n", name, options->no_wait ? "is ending" : "killed");
        return r;
}

/* ---- what is no session ---------------------------------------------------------------------- */

/* Whatever ps shows under this name or id. *ret_is_found: something was told to end. */
static int kill_hosted(Coop *coop, const Options *options, const char *name, bool *ret_is_found) {
        const Asking what = {coop->socket, "native", "process.kill", &coop->link, &coop->arena};
        int r;

        coop_set_str(coop, "process", str_from(name));
        coop_set_bool(coop, "force", options->force);
        r = asking(&what, &coop->args, &coop->reply);
        *ret_is_found = !r && !coop->reply.is_error;
        if (!*ret_is_found)
                return r;
        r = kill_wait(coop, options, name);
        if (!r)
                print("'%s' %s\n", name, options->no_wait ? "is ending" : "killed");
        return r;
}

/* Also one whose group is gone, which the answer says as an error with those that were ended. */
static bool kill_has_ended(const Reply *reply) {
        return !reply->is_error || json_count(json_get(reply->details, "ended"));
}

/* The contract's own way first: it keeps that the actor is switched off. */
static int kill_actor(Coop *coop, const Options *options) {
        const Asking what = {coop->socket, "cccc", "actor_stop", &coop->link, &coop->arena};
        const char *slash = strchr(coop->session, '/');
        const char *by = options->as ? options->as : getenv("CCCC_ACTOR_ID");
        bool is_found = false, is_refused;
        Str why;
        int r;

        coop_set_str(coop, "group_id", (Str){coop->session, (size_t)(slash - coop->session)});
        coop_set_str(coop, "actor_id", str_from(slash + 1));
        coop_set_str(coop, "by", str_from(by && *by ? by : "user"));
        r = asking(&what, &coop->args, &coop->reply);
        if (r)
                return r;
        if (kill_has_ended(&coop->reply)) {
                print("Actor '%s' stopped\n", coop->session);
                return CLI_OK;
        }
        is_refused = str_is(json_str(coop->reply.code), cccc_error_code(CALL_E_ACTOR_STOP_FAILED));
        why = arena_str(&coop->arena, coop->reply.message);
        if (!is_refused)
                r = kill_hosted(coop, options, coop->session, &is_found);
        if (r || is_found)
                return r;
        complain(CLI_FAILED, "kill: " STR_FMT, STR_ARG(why));
        advise("see what runs with: muster ps");
        return CLI_FAILED;
}

/* A run of AgentCompany (PROJECT/RUN) looks like a path, so what was written counts. */
static int kill_other(Coop *coop, const Options *options) {
        bool is_found = false;
        int r = kill_hosted(coop, options, options->n_operands ? options->operands[0] : coop->session,
                            &is_found);

        if (r || is_found)
                return r;
        coop_set_session(coop);
        return coop_call(coop, "sessionls"); /* says once more that there is none */
}

static int kill_chosen(Coop *coop, const Options *options) {
        const char *name;
        int r;

        coop_set_session(coop);
        r = coop_ask(coop, "sessionls");
        if (r)
                return r;
        if (coop->reply.is_error)
                return coop->is_here || options->pty >= 0 ? coop_complain(coop) : kill_other(coop, options);
        name = arena_str(&coop->arena, json_str(json_get(coop->reply.result, "session"))).data;
        if (!name)
                return complain(CLI_FAILED, "out of memory");
        return options->pty >= 0 ? kill_pty(coop, options, name) : kill_session(coop, options, name);
}

int cmd_kill(const Options *options) {
        _cleanup_(coop_deinit) Coop coop = COOP_NULL;
        int r;

        if (options->all && (options->n_operands || options->pty >= 0))
                return complain(CLI_USAGE, "kill: --all means all: name no session and no terminal");
        coop.is_json = options->json;
        r = coop_open(&coop, "kill");
        if (!r && options->all)
                return kill_kill_all(&coop, options);
        if (!r)
                r = coop_choose(&coop, options->n_operands ? options->operands[0] : NULL);
        if (r)
                return r;
        return coop.is_actor ? kill_actor(&coop, options) : kill_chosen(&coop, options);
}
