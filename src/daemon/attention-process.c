/* SPDX-License-Identifier: MIT */
/*
 * Processes that wait for a person: those that ended with a failure nobody asked for, did not start, or were lost, until
 * they run again or are dismissed. Those of tasks are left out: their task has failed, and is listed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/error.h"
#include "core/fleet/fleet.h"
#include "daemon/attention-kinds.h"

enum { ATTENTION_COMMAND_SHOWN = 80 }; /* bytes of a command */

static bool process_is_live(const Hosted *hosted) {
        return hosted->state == HOSTED_STARTING || hosted->state == HOSTED_RUNNING;
}

static bool process_is_trouble(const Hosted *hosted) {
        if (!strcmp(hosted->owner, "tasks") || hosted->is_killed || hosted->is_stopped)
                return false;
        return hosted->state == HOSTED_FAILED || hosted->state == HOSTED_LOST ||
               (hosted->state == HOSTED_ENDED && hosted_exit_code(hosted) != 0);
}

static void process_say(const Hosted *hosted, char *out, size_t n) {
        const char *command = hosted->command ? hosted->command : "";
        int shown = ATTENTION_COMMAND_SHOWN;

        if (hosted->state == HOSTED_FAILED)
                snprintf(out, n, "%.*s did not start", shown, command);
        else if (hosted->state == HOSTED_LOST)
                snprintf(out, n, "%.*s was lost: nobody knows how it ended", shown, command);
        else if (WIFSIGNALED(hosted->wait_status))
                snprintf(out, n, "%.*s was ended by signal %d", shown, command,
                         WTERMSIG(hosted->wait_status));
        else
                snprintf(out, n, "%.*s ended with status %d", shown, command, hosted_exit_code(hosted));
}

static void process_ask(Daemon *daemon, const Hosted *hosted, const FleetThing *thing) {
        char id[32], text[ATTENTION_COMMAND_SHOWN + 64];
        AttentionAsk ask = {.kind = attention_process.kind,
                            .source = thing->name.n ? thing->name : str_from(hosted->id),
                            .owner = str_from(hosted->id),
                            .object = str_from(hosted->object)};

        snprintf(id, sizeof(id), "process:%s", hosted->id);
        process_say(hosted, text, sizeof(text));
        ask.id = str_from(id);
        ask.text = str_from(text);
        ask.since_us = hosted->ended_us ? hosted->ended_us : hosted->state_since_us;
        if (thing->name.n && thing->owner && thing->owner->start)
                ask.choices[0] = "restart";
        attention_ask(daemon->attention, &ask);
}

void attention_process_changed(Hosted *hosted, void *user) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Daemon *daemon = user;
        FleetThing thing;

        if ((hosted->state != HOSTED_RUNNING && !process_is_trouble(hosted)) || !daemon->attention ||
            fleet_describe(daemon, hosted, &arena, &thing))
                return;
        if (hosted->state != HOSTED_RUNNING)
                process_ask(daemon, hosted, &thing);
        else if (thing.name.n)
                attention_settle_source(daemon->attention, attention_process.kind, thing.name,
                                        "it runs again");
}

/* ---- the kind -------------------------------------------------------------------------------- */

static int process_start(Call *call, const FleetThing *thing, _unused_ const Carry *carry) {
        const Hosted *hosted =
                *thing->id && call->daemon->host ? host_find(call->daemon->host, str_from(thing->id)) : NULL;

        if (hosted && process_is_live(hosted))
                return 0; /* somebody has started it already */
        if (!thing->owner || !thing->owner->start)
                return call_fail(call, CALL_E_DOES_NOT_FIT, STR_FMT " cannot be started again",
                                 STR_ARG(thing->name));
        return thing->owner->start(call, thing, STR("user"), NULL);
}

static int process_answer(Call *call, const AttentionItem *item, _unused_ const AttentionReply *reply) {
        Str name = arena_str(&call->arena, str_from(item->source));

        return name.data ? fleet_call(call, name, STR_NULL, process_start, NULL) : error_origin(-ENOMEM);
}

static bool process_is_over(Daemon *daemon, const AttentionItem *item) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        FleetThing thing;

        for (const Hosted *h = daemon->host ? host_first(daemon->host) : NULL; h; h = h->next)
                if (process_is_live(h) && !fleet_describe(daemon, h, &arena, &thing) &&
                    str_is(thing.name, item->source))
                        return true;
        return false;
}

const AttentionKind attention_process = {
        .kind = "process", .answer = process_answer, .is_over = process_is_over, .is_repeatable = true};
