/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/link/coop.h"
#include "cli/link/ending.h"
#include "cli/link/native.h"
#include "cli/print/report.h"

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
                print("Terminal %lld of session '%s' %s\n",
                      (long long)(options->pty >= 0 ? options->pty : coop->thing.number), name,
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

/* By the rules of its contract: it keeps that an actor is switched off, and that a task is cancelled. */
static int kill_thing(Coop *coop, const Options *options) {
        const char *by = options->as ? options->as : getenv("CCCC_ACTOR_ID");
        Str id = coop->thing.id;
        int r;

        if (options->pty >= 0)
                return complain(CLI_USAGE, "kill: " STR_FMT " has no terminals, so --pty is for sessions",
                                STR_ARG(coop->thing.name));
        coop_set_str(coop, "by", str_from(by && *by ? by : "user"));
        coop_set_bool(coop, "force", options->force);
        r = coop_call_fleet(coop, "fleet.kill");
        if (!r && id.n)
                r = kill_wait(coop, options, id.data);
        if (r || options->json)
                return r ? r : coop_print(coop);
        if (str_is(coop->thing.kind, "actor"))
                print("Actor '%s' stopped\n", coop->session);
        else if (str_is(coop->thing.kind, "task"))
                print("Task '%s' %s\n", coop->session, options->no_wait ? "is ending" : "cancelled");
        else
                print("'%s' %s\n", coop->session, options->no_wait ? "is ending" : "killed");
        return CLI_OK;
}

/* GROUP/ACTOR that the daemon has not found. */
static int kill_nobody(const Coop *coop) {
        complain(CLI_FAILED, "kill: there is no actor %s that runs", coop->session);
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
        bool is_pty = options->pty >= 0 || coop->thing.number > 0;
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
        return is_pty ? kill_pty(coop, options, name) : kill_session(coop, options, name);
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
        if (coop.is_other)
                return coop.thing.name.n ? kill_thing(&coop, options) : kill_nobody(&coop);
        return kill_chosen(&coop, options);
}
