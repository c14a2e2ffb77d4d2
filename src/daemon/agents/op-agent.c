/* SPDX-License-Identifier: MIT */
/* agent.fact, state, explain: what is told of agents, what they do, and why that is believed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collab/delivery/delivery.h"
#include "core/agents/agents.h"
#include "core/agents/hook.h"
#include "core/client.h"
#include "core/daemon.h"
#include "core/fleet/fleet.h"
#include "core/limits/limits.h"
#include "core/usage/budget.h"
#include "core/usage/usage-book.h"
#include "daemon/agents/agent-hold.h"
#include "gen/native-ops.h"

/* ---- facts ----------------------------------------------------------------------------------- */

static int agent_fact_drop(Call *call, const char *why) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_bool(w, "kept", false);
        jw_field_cstr(w, "why", why);
        jw_end_object(w);
        return 0;
}

/* A call that may wait until messages are ready; in its arena. */
typedef struct AgentTold {
        AgentFact fact;
        char id[17];
        const char *state;
} AgentTold;

static void agent_fact_answer(Call *call, const AgentTold *told, Str mail, Str held) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_bool(w, "kept", true);
        jw_field_cstr(w, "id", told->id);
        jw_field_cstr(w, "state", told->state);
        jw_field_cstr(w, "verdict", agent_verdict_name(told->fact.verdict));
        if (mail.n) {
                jw_key(w, "answer");
                hook_write_mail(w, &told->fact, mail);
        }
        if (held.n)
                jw_field_str(w, "held", held);
        jw_end_object(w);
}

static void agent_fact_offered(Call *call, Str mail, void *user) {
        agent_fact_answer(call, user, mail, STR_NULL);
        if (call->is_later)
                call_finish(call, 0);
}

static void agent_fact_held(Call *call, Str approval, void *user) {
        agent_fact_answer(call, user, STR_NULL, approval);
}

/* At the boundary of a turn an actor gets its messages with the hook: true, the call is answered by agent_fact_offered(). */
static bool agent_fact_gives_mail(Call *call, AgentTold *told, const Agent *agent) {
        const Principal *who = principal_of(call->client);
        const AgentFact *fact = &told->fact;
        MailOffer offer = {.call = call, .offered = agent_fact_offered, .user = told};

        if (!who->actor.n || fact->is_sub || !hook_takes_mail(str_from(fact->runtime)) ||
            (fact->kind != AGENT_STOPPED && fact->kind != AGENT_TURN) || fact->verdict > AGENT_CONFIRMED ||
            agent->n_prolonged >= AGENT_PROLONGED_MAX)
                return false;
        return delivery_offer(call->daemon->collab, who->group, who->actor, &offer);
}

/* A budget that is used up refuses the next tool, with the reason: true, the call is answered. */
static bool agent_fact_refuses(Call *call, const AgentTold *told, const Hosted *hosted) {
        const Budget *budget = told->fact.kind == AGENT_TOOL && hook_takes_mail(str_from(told->fact.runtime))
                                       ? budgets_hold_hosted(call->daemon, hosted, BUDGET_HARD)
                                       : NULL;
        char why[BUDGET_WORD_MAX + 256];
        JsonWriter *w;

        if (!budget)
                return false;
        budget_say(budget, why, sizeof(why));
        w = call_result(call);
        jw_begin_object(w);
        jw_field_bool(w, "kept", true);
        jw_field_cstr(w, "id", told->id);
        jw_field_cstr(w, "state", told->state);
        jw_field_cstr(w, "verdict", agent_verdict_name(told->fact.verdict));
        jw_key(w, "answer");
        hook_write_refusal(w, &told->fact, str_from(why));
        jw_end_object(w);
        agent_of((Hosted *)hosted)->is_refused = true;
        return true;
}

/* It is about the process in whose tree the caller is, whatever the payload says. */
int op_native_agent_fact(Call *call, const NativeAgentFactArgs *args) {
        const Principal *who = principal_of(call->client);
        Hosted *hosted =
                *who->id && call->daemon->host ? host_find(call->daemon->host, str_from(who->id)) : NULL;
        AgentTold *told;

        if (args->payload && !json_is(args->payload, JSON_OBJECT))
                return call_fail(call, CALL_E_INVALID_PARAMS, "payload: must be an object");
        if (!hosted || !agent_of(hosted))
                return agent_fact_drop(call, "the caller is in the tree of nothing that is hosted here");
        told = arena_alloc(&call->arena, sizeof(*told));
        if (!told)
                return error_origin(-ENOMEM);
        if (!hook_read(args->runtime, args->event, args->payload, loop_wall_us(call->daemon->loop),
                       &told->fact))
                return call_fail(call, CALL_E_INVALID_PARAMS, "event: none is named, nor in the payload");
        agent_take(agent_of(hosted), &told->fact);
        usage_heard(call->daemon->usage, hosted, args->runtime,
                    json_text_of(args->payload, "transcript_path"));
        usage_heard(call->daemon->usage, hosted, args->runtime,
                    json_text_of(args->payload, "agent_transcript_path"));
        memcpy(told->id, hosted->id, sizeof(told->id));
        told->state = agent_state_name(agent_of(hosted)->state.kind);
        if (who->actor.n && told->fact.kind == AGENT_TURN && told->fact.verdict <= AGENT_CONFIRMED)
                delivery_heard(call->daemon->collab, who->group, who->actor,
                               json_text_of(args->payload, "prompt"));
        agent_count_turn(agent_of(hosted), &told->fact);
        agent_hold_fact(call, hosted, &told->fact, args->payload);
        if (agent_fact_refuses(call, told, hosted))
                return 0;
        if (agent_hold_wants(call, &told->fact, args->payload, args->hook))
                return agent_hold_begin(call, hosted, &told->fact, args->payload, args->hook,
                                        agent_fact_held, told);
        if (agent_fact_gives_mail(call, told, agent_of(hosted)))
                return call->has_result ? 0 : CALL_LATER;
        agent_fact_answer(call, told, STR_NULL, STR_NULL);
        return 0;
}

/* The agent goes on with what it was given. */
static void agent_took_turn(const Call *call, Agent *agent) {
        AgentFact fact = {
                .at_us = loop_wall_us(call->daemon->loop), .source = AGENT_HOOK, .kind = AGENT_TURN};
        unsigned n = agent->n_prolonged;

        if (agent->state.kind == AGENT_IS_WORKING)
                return; /* it was given at the beginning of a turn */
        agent_put(fact.event, STR("agent.took"));
        agent_put(fact.detail, STR("messages"));
        agent_put(fact.runtime, str_from(agent->state.runtime));
        agent_put(fact.session, str_from(agent->state.session));
        agent_take(agent, &fact);
        agent->n_prolonged = n + 1;
}

static int agent_took_mail(Call *call) {
        const Principal *who = principal_of(call->client);
        Hosted *hosted =
                *who->id && call->daemon->host ? host_find(call->daemon->host, str_from(who->id)) : NULL;
        bool is_taken =
                hosted && who->actor.n && delivery_took(call->daemon->collab, who->group, who->actor);
        JsonWriter *w = call_result(call);

        if (is_taken && agent_of(hosted))
                agent_took_turn(call, agent_of(hosted));
        if (hosted && agent_of(hosted) && agent_of(hosted)->is_refused) {
                agent_of(hosted)->is_refused = false;
                is_taken = true;
        }
        jw_begin_object(w);
        jw_field_bool(w, "took", is_taken);
        jw_end_object(w);
        return 0;
}

int op_native_agent_took(Call *call, const NativeAgentTookArgs *args) {
        return args->approval.n ? agent_hold_took(call, args) : agent_took_mail(call);
}

/* ---- states ---------------------------------------------------------------------------------- */

static int agent_state_row(Call *call, Hosted *hosted, JsonWriter *w) {
        FleetThing thing;

        if (fleet_describe(call->daemon, hosted, &call->arena, &thing))
                return error_origin(-ENOMEM);
        jw_begin_object(w);
        jw_field_cstr(w, "id", hosted->id);
        if (thing.name.n)
                jw_field_str(w, "name", thing.name);
        jw_key(w, "agent");
        agent_write(w, agent_of(hosted));
        jw_end_object(w);
        return 0;
}

/* NULL: the call has failed. */
static Hosted *agent_require(Call *call, const FleetThing *thing) {
        Hosted *hosted =
                *thing->id && call->daemon->host ? host_find(call->daemon->host, str_from(thing->id)) : NULL;

        if (hosted && agent_of(hosted))
                return hosted;
        (void)call_fail(call, CALL_E_DOES_NOT_FIT, STR_FMT " has no process now", STR_ARG(thing->name));
        return NULL;
}

static int agent_state_found(Call *call, const FleetThing *thing, _unused_ const Carry *carry) {
        Hosted *hosted = agent_require(call, thing);
        JsonWriter *w;
        int r;

        if (!hosted)
                return CALL_E_DOES_NOT_FIT;
        w = call_result(call);
        jw_begin_object(w);
        jw_key(w, "agents");
        jw_begin_array(w);
        r = agent_state_row(call, hosted, w);
        jw_end_array(w);
        jw_end_object(w);
        return error_trace(r);
}

int op_native_agent_state(Call *call, const NativeAgentStateArgs *args) {
        JsonWriter *w;
        int r = 0;

        if (args->name.n)
                return fleet_call(call, args->name, STR_NULL, agent_state_found, &args->carry);
        w = call_result(call);
        jw_begin_object(w);
        jw_key(w, "agents");
        jw_begin_array(w);
        for (Hosted *h = call->daemon->host ? host_first(call->daemon->host) : NULL; h && !r; h = h->next)
                if (agent_of(h))
                        r = agent_state_row(call, h, w);
        jw_end_array(w);
        jw_end_object(w);
        return error_trace(r);
}

/* ---- why ------------------------------------------------------------------------------------- */

/* The youngest that the state rests on; NULL: none has told anything. */
static const AgentFact *agent_explain_decided(const Agent *agent) {
        for (size_t i = agent_n_facts(agent); i > 0; i--) {
                const AgentFact *fact = agent_fact_at(agent, i - 1);

                if (fact->verdict == AGENT_DECIDED || fact->verdict == AGENT_CONFIRMED)
                        return fact;
        }
        return NULL;
}

static const char *agent_explain_hint(const Agent *agent) {
        const char *runtime = agent->hosted->command
                                      ? runtime_of_command(str_from(agent->hosted->command))->name
                                      : "custom";

        if (agent_hooks(agent) == AGENT_HOOKS_SILENT && !strcmp(runtime, "codex"))
                return "its hooks were never heard: Codex runs none before its first prompt, and only those "
                       "that a person has trusted (it asks at its start; later: /hooks)";
        if (agent_hooks(agent) == AGENT_HOOKS_SILENT && !strcmp(runtime, "opencode"))
                return "its hooks were never heard: OpenCode tells nothing before its first prompt";
        if (agent_hooks(agent) == AGENT_HOOKS_SILENT)
                return !strcmp(runtime, "gemini")
                               ? "its hooks were never heard: they may be switched off in its settings, or "
                                 "a folder above the state folder can be written by others"
                               : "its hooks were never heard: they may be switched off in its settings";
        if (agent_hooks(agent) == AGENT_HOOKS_NONE && !hosted_is_sandboxed(agent->hosted) &&
            hook_events(str_from(runtime)))
                return "it was started without hooks; muster hooks install tells how agents get them that "
                       "are "
                       "started by hand";
        return NULL;
}

static int agent_explain_found(Call *call, const FleetThing *thing, _unused_ const Carry *carry) {
        JsonWriter *w;
        int64_t now_us = loop_wall_us(call->daemon->loop);
        char other[PROCESS_NAME_MAX];
        const AgentFact *decided;
        const LimitAgent *limited;
        const char *hint;
        Hosted *hosted = agent_require(call, thing);

        if (!hosted)
                return CALL_E_DOES_NOT_FIT;
        w = call_result(call);
        jw_begin_object(w);
        jw_field_str(w, "name", thing->name);
        jw_field_cstr(w, "id", hosted->id);
        jw_key(w, "agent");
        agent_write(w, agent_of(hosted));
        decided = agent_explain_decided(agent_of(hosted));
        if (decided) {
                jw_key(w, "decided_by");
                agent_fact_write(w, decided, now_us);
        }
        if (hosted->state == HOSTED_RUNNING && !hosted_is_in_front(hosted, other))
                jw_field_cstr(w, "front", other);
        limited = limits_agent(call->daemon->limits, hosted->id);
        if (limited && limited->step != LIMIT_NONE) {
                jw_key(w, "limit");
                jw_begin_object(w);
                limit_agent_write(limited, w);
                jw_end_object(w);
        }
        hint = agent_explain_hint(agent_of(hosted));
        if (hint)
                jw_field_cstr(w, "hint", hint);
        jw_key(w, "facts");
        jw_begin_array(w);
        for (size_t i = 0; i < agent_n_facts(agent_of(hosted)); i++)
                agent_fact_write(w, agent_fact_at(agent_of(hosted), i), now_us);
        jw_end_array(w);
        jw_end_object(w);
        return 0;
}

int op_native_agent_explain(Call *call, const NativeAgentExplainArgs *args) {
        return fleet_call(call, args->name, STR_NULL, agent_explain_found, &args->carry);
}
