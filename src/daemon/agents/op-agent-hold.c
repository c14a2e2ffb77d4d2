/* SPDX-License-Identifier: MIT */
/*
 * Hooks that ask for a permission (docs/approvals.md). The question is kept, then the hook is held: while it waits the agent program
 * shows no dialog of its own. It is released without a decision, so that the dialog appears, when somebody sits down at the terminal,
 * when nobody has answered in time, or when the turn goes on without it.
 *
 *   agent.fact   held: ID     it was kept; nothing of this if somebody was typing there just now
 *   agent.hold                answers when it is decided
 *   agent.took   approval     the hook has the decision: it is delivered, and printed only then
 *
 * A hook whose daemon was killed begins anew; its key finds the question.
 */
#define LOG_MODULE "daemon/hold"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "core/agents/agents.h"
#include "core/agents/hook.h"
#include "core/client.h"
#include "core/fleet/fleet.h"
#include "daemon/agents/agent-hold.h"
#include "daemon/agents/op-approval.h"
#include "gen/native-ops.h"

enum {
        HOLD_TYPED_US = 60 * 1000000, /* who has typed so short a time ago answers there */
        HOLD_MAX_S = 540, /* the agent program ends the hook 30 seconds later (core/agents/hook-config.h) */
};

/* ---- whether --------------------------------------------------------------------------------- */

static bool hold_is_somebody_there(Call *call, const Hosted *hosted) {
        bool is_seated = hosted->n_terminals > 0 || hosted_writer(hosted);

        return is_seated && hosted->input_us &&
               loop_wall_us(call->daemon->loop) - hosted->input_us < HOLD_TYPED_US;
}

bool agent_hold_wants(Call *call, const AgentFact *fact, const Json *payload, Str hook) {
        return hook.n && call->daemon->config.hold_s > 0 && call->daemon->approvals && hook_asks(fact) &&
               json_is(json_get(payload, "tool_input"), JSON_OBJECT);
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* A hook that is asked about; in its call's arena. */
typedef struct AgentHold {
        Carry carry;
        Call *call;
        ApprovalWait wait;
        const Json *payload;
        Str session, hook, name;
        Hosted *hosted;
        AgentHeldFn then;
        void *user;
        bool is_inside, is_done;
} AgentHold;

static void hold_end(AgentHold *self, const Approval *approval) {
        Call *call = self->call;

        approval_leave(&self->wait);
        self->is_done = true;
        self->then(call, approval ? str_from(approval->id) : STR_NULL, self->user);
        if (!self->is_inside)
                call_finish(call, 0);
}

/* What was told to a hook already, or is over, is not for this one. */
static void hold_asked(ApprovalWait *wait, int r) {
        AgentHold *self = container_of(wait, AgentHold, wait);
        const Approval *approval = r ? NULL : wait->approval;
        bool is_for_us =
                approval && (approval->state == APPROVAL_OPEN || approval->state == APPROVAL_ANSWERED ||
                             approval->state == APPROVAL_DELIVERED);

        hold_end(self, is_for_us ? approval : NULL);
}

static void hold_decided(_unused_ ApprovalWait *wait) {}

static void hold_release(void *object) {
        AgentHold *self = object;

        approval_leave(&self->wait);
}

/* What a policy for all uses of a tool is about: the command, the file, the address; else all that it is given. */
static Str hold_subject(Call *call, const Json *input) {
        static const char *const names[] = {"command", "file_path", "notebook_path", "path", "url"};
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        char digest[SHA256_HEX_MAX];

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (json_text_of(input, names[i]).n)
                        return json_text_of(input, names[i]);
        if (json_write_es(&text, input) || sha256_hex(buf_str(&text), digest))
                return STR_NULL;
        return arena_printf(&call->arena, "sha256:%s", digest);
}

/* What it is to be decided on, of all that the payload holds. */
static const Json *hold_evidence(Call *call, const Json *payload) {
        static const char *const names[] = {"tool_name", "tool_input", "cwd", "permission_mode",
                                            "tool_use_id"};
        Json *evidence = json_new(&call->arena, JSON_OBJECT);

        for (size_t i = 0; evidence && i < ARRAY_SIZE(names); i++) {
                const Json *value = json_get(payload, names[i]);

                if (value &&
                    json_add(&call->arena, evidence, str_from(names[i]), json_clone(&call->arena, value)))
                        return NULL;
        }
        return evidence;
}

static Str hold_key(Call *call, const AgentHold *self) {
        Str use = json_text_of(self->payload, "tool_use_id");

        return arena_printf(&call->arena, "hook:" STR_FMT ":" STR_FMT, STR_ARG(utf8_fit(self->session, 100)),
                            STR_ARG(utf8_fit(use.n ? use : self->hook, 100)));
}

static int hold_ask(AgentHold *self, Approvals *approvals) {
        Call *call = self->call;
        Str tool = json_text_of(self->payload, "tool_name");
        const Json *input = json_get(self->payload, "tool_input");
        ApprovalAsk ask = {.asker = self->name,
                           .kind = STR("permission"),
                           .body = json_text_of(input, "description"),
                           .expires_s = MIN(call->daemon->config.hold_s, (int64_t)HOLD_MAX_S),
                           .tool = tool,
                           .way = APPROVAL_BY_HOOK};

        approval_offer_always(&ask);
        ask.key = hold_key(call, self);
        ask.subject = hold_subject(call, input);
        ask.evidence = hold_evidence(call, self->payload);
        ask.title = arena_printf(&call->arena, STR_FMT ": " STR_FMT, STR_ARG(tool), STR_ARG(ask.subject));
        if (ask.body.n > APPROVAL_BODY_MAX)
                ask.body = utf8_fit(ask.body, APPROVAL_BODY_MAX);
        if (!ask.key.data || !ask.subject.data || !ask.evidence || !ask.title.data)
                return error_origin(-ENOMEM);
        if (approval_rejoin(approvals, ask.asker, ask.key, &self->wait))
                return 0;
        if (hold_is_somebody_there(call, self->hosted) &&
            !policy_for(approvals, ask.asker, ask.tool, ask.subject, loop_wall_us(call->daemon->loop))) {
                hold_end(self, NULL);
                return 0;
        }
        return approval_ask(approvals, &ask, &self->wait);
}

/* Whatever goes wrong, the hook is not held: its program asks by itself. */
static int hold_ready(Call *call, Approvals *approvals, const Carry *carry) {
        AgentHold *self = (AgentHold *)container_of(carry, AgentHold, carry);
        int r = hold_ask(self, approvals);

        if (r) {
                log_warning(&call->daemon->log, self->name.data, "a permission is not asked for here: %s",
                            r < 0                      ? strerror(-r)
                            : r == APPROVAL_E_TOO_LONG ? "too long"
                                                       : "too many are open");
                hold_end(self, NULL);
        }
        self->is_inside = false;
        return self->is_done ? 0 : CALL_LATER;
}

int agent_hold_begin(Call *call, Hosted *hosted, const AgentFact *fact, const Json *payload, Str hook,
                     AgentHeldFn then, void *user) {
        AgentHold *self = arena_alloc(&call->arena, sizeof(*self));
        FleetThing thing;
        int r;

        if (!self || fleet_describe(call->daemon, hosted, &call->arena, &thing))
                return error_origin(-ENOMEM);
        *self = (AgentHold){.call = call,
                            .wait = {.asked = hold_asked, .decided = hold_decided},
                            .payload = payload,
                            .session = str_from(fact->session),
                            .hook = hook,
                            .name = thing.name.n ? arena_str(&call->arena, thing.name)
                                                 : str_from(hosted->id),
                            .hosted = hosted,
                            .then = then,
                            .user = user,
                            .is_inside = true};
        r = call_hold(call, self, hold_release);
        return r ? r : approvals_call(call, true, hold_ready, &self->carry);
}

/* ---- waiting --------------------------------------------------------------------------------- */

typedef struct HoldWait { /* in the call's arena */
        Carry carry;
        Call *call;
        ApprovalWait wait;
        bool is_inside, is_done;
} HoldWait;

static void hold_wait_release(void *object) {
        HoldWait *self = object;

        approval_leave(&self->wait);
}

static void hold_write(Call *call, const Approval *approval) {
        const ApprovalOption *option = approval ? approval_verdict(approval) : NULL;
        bool is_given =
                option && (approval->state == APPROVAL_ANSWERED || approval->state == APPROVAL_DELIVERED);
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        if (is_given) {
                jw_key(w, "answer");
                hook_write_decision(w, option->effect == APPROVAL_ALLOW, approval->note);
        } else
                jw_field_bool(w, "released", true);
        jw_end_object(w);
}

static void hold_wait_asked(_unused_ ApprovalWait *wait, _unused_ int r) {}

static void hold_wait_decided(ApprovalWait *wait) {
        HoldWait *self = container_of(wait, HoldWait, wait);
        Call *call = self->call;

        self->is_done = true;
        hold_write(call, wait->approval);
        if (!self->is_inside)
                call_finish(call, 0);
}

/* The hook has ended while it waited: another one may wait for the same. */
static void hold_wait_gone(Call *call) {
        HoldWait *self = (HoldWait *)container_of(call->above, HoldWait, carry);
        Approvals *approvals = self->wait.approvals;
        Approval *approval = self->wait.approval;

        approval_leave(&self->wait);
        if (approval && LIST_EMPTY(&approval->waits) && !call->daemon->is_stopping)
                approval_withdraw(approvals, approval, "its hook has ended");
        call_finish(call, 0);
}

static Hosted *hold_caller(Call *call) {
        const Principal *who = principal_of(call->client);

        return *who->id && call->daemon->host ? host_find(call->daemon->host, str_from(who->id)) : NULL;
}

/* NULL: there is none, or it is somebody else's. */
static Approval *hold_own(Call *call, const Approvals *approvals, Str id) {
        const Hosted *hosted = hold_caller(call);
        size_t n;
        Approval *approval = approval_find(approvals, id, &n);
        FleetThing thing;

        if (!approval || approval->way != APPROVAL_BY_HOOK || !hosted ||
            fleet_describe(call->daemon, hosted, &call->arena, &thing))
                return NULL;
        return str_eq(approval->asker, thing.name) || str_is(approval->asker, hosted->id) ? approval : NULL;
}

static int hold_op(Call *call, Approvals *approvals, const Carry *carry) {
        const NativeAgentHoldArgs *args = container_of(carry, NativeAgentHoldArgs, carry);
        Approval *approval = hold_own(call, approvals, args->approval);
        HoldWait *self = approval ? arena_alloc(&call->arena, sizeof(*self)) : NULL;

        if (!self) {
                hold_write(call, NULL);
                return 0;
        }
        *self = (HoldWait){.call = call,
                           .wait = {.asked = hold_wait_asked, .decided = hold_wait_decided},
                           .is_inside = true};
        if (call_hold(call, self, hold_wait_release))
                return error_origin(-ENOMEM);
        call->above = &self->carry;
        call->gone = hold_wait_gone;
        approval_join(approvals, approval, &self->wait);
        self->is_inside = false;
        return self->is_done ? 0 : CALL_LATER;
}

int op_native_agent_hold(Call *call, const NativeAgentHoldArgs *args) {
        return approvals_call(call, false, hold_op, &args->carry);
}

/* ---- delivered ------------------------------------------------------------------------------- */

/* The program goes on by itself now; the next fact tells how. */
static void hold_go_on(Call *call) {
        Hosted *hosted = call->client ? hold_caller(call) : NULL;
        Agent *agent = hosted ? agent_of(hosted) : NULL;
        AgentFact fact = {
                .at_us = loop_wall_us(call->daemon->loop), .source = AGENT_HOOK, .kind = AGENT_TOOL};

        if (!agent || agent->state.kind != AGENT_IS_WAITING)
                return;
        agent_put(fact.event, STR("agent.took"));
        agent_put(fact.tool, str_from(agent->state.tool));
        agent_put(fact.runtime, str_from(agent->state.runtime));
        agent_put(fact.session, str_from(agent->state.session));
        agent_put(fact.turn, str_from(agent->state.turn));
        agent_take(agent, &fact);
}

static void hold_told(void *user, bool counts) {
        Call *call = user;
        JsonWriter *w = call_result(call);

        if (counts)
                hold_go_on(call);
        jw_begin_object(w);
        jw_field_bool(w, "took", counts);
        jw_end_object(w);
        if (call->is_later)
                call_finish(call, 0);
}

static int hold_op_took(Call *call, Approvals *approvals, const Carry *carry) {
        const NativeAgentTookArgs *args = container_of(carry, NativeAgentTookArgs, carry);
        Approval *approval = hold_own(call, approvals, args->approval);

        if (!approval)
                hold_told(call, false);
        else
                approval_deliver(approvals, approval, args->hook.n ? args->hook : STR("hook"), hold_told,
                                 call);
        return call->has_result ? 0 : CALL_LATER;
}

int agent_hold_took(Call *call, const NativeAgentTookArgs *args) {
        return approvals_call(call, false, hold_op_took, &args->carry);
}

/* ---- released -------------------------------------------------------------------------------- */

static void hold_withdraw(Daemon *daemon, const Hosted *hosted, Str key, const char *why) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Approval *approval, *before;
        FleetThing thing;

        if (!approvals_are_ready(daemon->approvals) || !approvals_n_open(daemon->approvals) ||
            fleet_describe(daemon, hosted, &arena, &thing))
                return;
        for (approval = approval_last(daemon->approvals); approval && !approval_is_over(approval);
             approval = before) {
                before = approval_before(daemon->approvals, approval);
                if (approval->way == APPROVAL_BY_HOOK && str_starts(approval->key, key) &&
                    (str_eq(approval->asker, thing.name) || str_is(approval->asker, hosted->id)))
                        approval_withdraw(daemon->approvals, approval, why);
        }
}

void agent_hold_seated(Hosted *hosted, Daemon *daemon) {
        hold_withdraw(daemon, hosted, STR("hook:"), "somebody is at its terminal, which asks now");
}

void agent_hold_fact(Call *call, const Hosted *hosted, const AgentFact *fact, const Json *payload) {
        Str use = json_text_of(payload, "tool_use_id"), key = STR_NULL;
        bool is_turn = fact->kind == AGENT_TURN || fact->kind == AGENT_STOPPED || fact->kind == AGENT_LEFT ||
                       fact->kind == AGENT_FAILED || fact->kind == AGENT_LIMITED;

        if (fact->is_sub || !*fact->session)
                return;
        if (is_turn)
                key = arena_printf(&call->arena, "hook:%s:", fact->session);
        else if (fact->kind == AGENT_TOOL_DONE && use.n)
                key = arena_printf(&call->arena, "hook:%s:" STR_FMT, fact->session, STR_ARG(use));
        if (key.n)
                hold_withdraw(call->daemon, hosted, key, "the turn went on");
}

void agent_hold_ended(const Hosted *hosted, Daemon *daemon) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        FleetThing thing;

        if (approvals_are_ready(daemon->approvals) && !fleet_describe(daemon, hosted, &arena, &thing))
                approvals_asker_gone(daemon->approvals, thing.name.n ? thing.name : str_from(hosted->id),
                                     "its asker has ended");
}
