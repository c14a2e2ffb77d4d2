/* SPDX-License-Identifier: MIT */
/* approval.ask, ls, get, answer, withdraw: questions for a person, through the wire. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "core/approval/approval.h"
#include "core/client.h"
#include "daemon/agents/op-approval.h"
#include "gen/native-ops.h"

/* ---- who ------------------------------------------------------------------------------------- */

Str approval_caller(Call *call) {
        return arena_str(&call->arena,
                         str_from(call->client ? principal_name(principal_of(call->client)) : "user"));
}

static bool approval_may_see(Call *call, const Approval *approval) {
        return !call->client || principal_may(call->client, RIGHT_APPROVE, approval->asker) ||
               str_is(approval->asker, principal_name(principal_of(call->client)));
}

/* An agent answers neither for itself nor for one that it has started. Who could have started one is not written down
 * anywhere that an agent could not get around, so who has the right to start some answers for none. */
static int approval_may_answer(Call *call, const Approval *approval) {
        const Principal *who = call->client ? principal_of(call->client) : NULL;

        if (!who || who->kind == PRINCIPAL_USER)
                return 0;
        if (str_is(approval->asker, principal_name(who)))
                return principal_refuse(call, CALL_E_FORBIDDEN, RIGHT_APPROVE, who, approval->asker,
                                        "which does not answer for itself");
        if (right_is_in(principal_rights(call->client, who), RIGHT_START))
                return principal_refuse(call, CALL_E_FORBIDDEN, RIGHT_APPROVE, who, approval->asker,
                                        "which may start agents and so answers for none");
        return 0;
}

/* NULL: the call has failed. What the caller may not see is not there. */
static Approval *approval_require(Call *call, const Approvals *approvals, Str id) {
        size_t n;
        Approval *approval = approval_find(approvals, id, &n);

        if (approval && approval_may_see(call, approval))
                return approval;
        if (n > 1)
                (void)call_fail(call, CALL_E_AMBIGUOUS_NAME, "%zu approvals begin with " STR_FMT, n,
                                STR_ARG(utf8_first(id, APPROVAL_WORD_MAX)));
        else
                (void)call_fail(call, CALL_E_APPROVAL_NOT_FOUND, "there is no approval " STR_FMT,
                                STR_ARG(utf8_first(id, APPROVAL_WORD_MAX)));
        return NULL;
}

static int approval_show(Call *call, const Approval *approval) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_key(w, "approval");
        approval_write(approval, true, w);
        jw_end_object(w);
        return 0;
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* A call that waits for the decision; in its arena. */
typedef struct ApprovalCall {
        Call *call;
        ApprovalWait wait;
        Timer timer;
        int64_t wait_ms;
        bool is_asker;  /* what it is told is delivered by that */
        bool is_inside; /* the handler has not returned */
        bool is_done;
} ApprovalCall;

static void approval_call_release(void *object) {
        ApprovalCall *self = object;

        timer_clear(&self->timer);
        approval_leave(&self->wait);
}

static void approval_call_end(ApprovalCall *self, const Approval *approval) {
        Call *call = self->call;

        self->is_done = true;
        (void)approval_show(call, approval);
        if (!self->is_inside)
                call_finish(call, 0);
}

/* Whether or not that could be kept, it is told: a read can be repeated. */
static void approval_call_told(void *user, _unused_ bool counts) {
        ApprovalCall *self = user;

        approval_call_end(self, self->wait.approval);
}

static void approval_call_decided(ApprovalWait *wait) {
        ApprovalCall *self = container_of(wait, ApprovalCall, wait);

        timer_clear(&self->timer);
        self->call->gone = NULL; /* it ends by itself now */
        if (self->is_asker && wait->approval->way == APPROVAL_BY_READ)
                approval_deliver(wait->approvals, wait->approval, wait->approval->asker, approval_call_told,
                                 self);
        else
                approval_call_end(self, wait->approval);
}

static void approval_call_late(Timer *timer) {
        ApprovalCall *self = container_of(timer, ApprovalCall, timer);
        const Approval *approval = self->wait.approval;

        approval_leave(&self->wait);
        approval_call_end(self, approval);
}

/* The question stays when who waits for it is gone: it may come back with the key. */
static void approval_call_gone(Call *call) {
        call_finish(call, 0);
}

static void approval_call_asked(ApprovalWait *wait, int r) {
        ApprovalCall *self = container_of(wait, ApprovalCall, wait);
        const Approval *approval = wait->approval;

        if (r) {
                self->is_done = true;
                r = call_fail(self->call, CALL_E_NOT_KEPT, "it could not be kept, so nobody is asked: %s",
                              strerror(-r));
                if (!self->is_inside)
                        call_finish(self->call, r);
                return;
        }
        if (approval_is_over(approval) || timer_is_set(&self->timer))
                return;
        if (self->wait_ms > 0 && !timer_set(&self->timer, self->wait_ms))
                return;
        approval_leave(wait);
        approval_call_end(self, approval);
}

static ApprovalCall *approval_call_new(Call *call, double wait_s) {
        ApprovalCall *self = arena_alloc(&call->arena, sizeof(*self));

        if (!self)
                return NULL;
        *self = (ApprovalCall){.call = call,
                               .wait = {.asked = approval_call_asked, .decided = approval_call_decided},
                               .wait_ms = (int64_t)(wait_s * 1000),
                               .is_asker = true,
                               .is_inside = true};
        timer_init(&self->timer, call->daemon->loop, approval_call_late);
        if (call_hold(call, self, approval_call_release))
                return NULL;
        call->gone = approval_call_gone;
        return self;
}

static int approval_call_return(ApprovalCall *self) {
        self->is_inside = false;
        return self->is_done ? self->call->error : CALL_LATER;
}

/* ---- ask ------------------------------------------------------------------------------------- */

static int approval_read_option(Call *call, const Json *json, ApprovalOption *option) {
        Str effect = json_text_of(json, "effect"), scope = json_text_of(json, "scope");

        *option = (ApprovalOption){.id = json_is(json, JSON_STRING) ? json_str(json)
                                                                    : json_text_of(json, "id"),
                                   .label = json_text_of(json, "label"),
                                   .effect = APPROVAL_CHOOSE};
        if (str_is(option->id, "deny"))
                option->effect = APPROVAL_DENY;
        if (str_is(option->id, "allow"))
                option->effect = APPROVAL_ALLOW;
        if (!option->id.n || (effect.n && !approval_effect_read(effect, &option->effect)) ||
            (scope.n && !approval_scope_read(scope, &option->scope)))
                return call_fail(
                        call, CALL_E_INVALID_PARAMS,
                        "options: each is a text, or has id, label, effect (allow, deny, choose) and scope "
                        "(once, session, always)");
        return 0;
}

static int approval_read_options(Call *call, const Json *options, ApprovalAsk *ask) {
        int r = 0;

        if (json_count(options) > APPROVAL_OPTIONS_MAX)
                return call_fail(call, CALL_E_INVALID_PARAMS, "options: there are at most %d",
                                 APPROVAL_OPTIONS_MAX);
        json_each (json, options)
                if (!r)
                        r = approval_read_option(call, json, &ask->options[ask->n_options++]);
        return r;
}

int approval_refuse(Call *call, int r) {
        switch (r) {
        case APPROVAL_E_TOO_MANY:
                return call_fail(call, CALL_E_RESOURCE_LIMIT,
                                 "too many approvals are open: %d of one asker, %d in all",
                                 APPROVAL_ASKER_MAX, APPROVAL_OPEN_MAX);
        case APPROVAL_E_TOO_LONG:
                return call_fail(call, CALL_E_INVALID_PARAMS, "body: at most %d bytes; evidence: at most %d",
                                 APPROVAL_BODY_MAX, APPROVAL_EVIDENCE_MAX);
        case APPROVAL_E_UNFIT:
                return call_fail(call, CALL_E_INVALID_PARAMS,
                                 "kind, key, options or default: too long, twice, or not among the options");
        default:
                return r < 0 ? call_fail(call, CALL_E_NOT_KEPT,
                                         "it could not be kept, so nobody is asked: %s", strerror(-r))
                             : r;
        }
}

static int approval_op_ask(Call *call, Approvals *approvals, const Carry *carry) {
        const NativeApprovalAskArgs *args = container_of(carry, NativeApprovalAskArgs, carry);
        ApprovalAsk ask = {.key = args->key,
                           .asker = approval_caller(call),
                           .kind = args->kind,
                           .title = args->title,
                           .body = args->body,
                           .evidence = args->evidence,
                           .fallback = args->default_,
                           .expires_s = args->expires_s,
                           .tool = args->tool,
                           .subject = args->subject,
                           .way = APPROVAL_BY_READ};
        int r = approval_read_options(call, args->options, &ask);
        ApprovalCall *self = r ? NULL : approval_call_new(call, args->wait_s);

        if (r)
                return r;
        if (!self)
                return error_origin(-ENOMEM);
        r = approval_ask(approvals, &ask, &self->wait);
        return r ? approval_refuse(call, r) : approval_call_return(self);
}

int op_native_approval_ask(Call *call, const NativeApprovalAskArgs *args) {
        return approvals_call(call, true, approval_op_ask, &args->carry);
}

/* ---- get ------------------------------------------------------------------------------------- */

static int approval_op_get(Call *call, Approvals *approvals, const Carry *carry) {
        const NativeApprovalGetArgs *args = container_of(carry, NativeApprovalGetArgs, carry);
        Approval *approval = approval_require(call, approvals, args->id);
        ApprovalCall *self = approval ? approval_call_new(call, args->wait_s) : NULL;

        if (!approval)
                return call->error;
        if (!self)
                return error_origin(-ENOMEM);
        self->is_asker = call->client && str_is(approval->asker, principal_name(principal_of(call->client)));
        approval_join(approvals, approval, &self->wait);
        return approval_call_return(self);
}

int op_native_approval_get(Call *call, const NativeApprovalGetArgs *args) {
        return approvals_call(call, false, approval_op_get, &args->carry);
}

/* ---- ls -------------------------------------------------------------------------------------- */

static bool approval_is_listed(const NativeApprovalLsArgs *args, const Approval *approval) {
        return (str_is(args->state, "all") || !approval_is_over(approval)) &&
               (!args->asker.n || str_eq(args->asker, approval->asker));
}

static int approval_op_ls(Call *call, Approvals *approvals, const Carry *carry) {
        const NativeApprovalLsArgs *args = container_of(carry, NativeApprovalLsArgs, carry);
        const Approval **picked = arena_alloc(&call->arena, (size_t)args->limit * sizeof(*picked)),
                       *at = args->before.n ? approval_require(call, approvals, args->before)
                                            : approval_last(approvals);
        bool has_more = false;
        size_t n = 0;
        JsonWriter *w;

        if (!picked)
                return error_origin(-ENOMEM);
        if (args->before.n && !at)
                return call->error;
        for (at = args->before.n ? approval_before(approvals, at) : at; at && !has_more;
             at = approval_before(approvals, at)) {
                if (!approval_is_listed(args, at) || !approval_may_see(call, at))
                        continue;
                has_more = n == (size_t)args->limit;
                if (!has_more)
                        picked[n++] = at;
        }
        w = call_result(call);
        jw_begin_object(w);
        jw_key(w, "approvals");
        jw_begin_array(w);
        while (n)
                approval_write(picked[--n], false, w);
        jw_end_array(w);
        jw_field_uint(w, "open", approvals_n_open(approvals));
        jw_field_bool(w, "more", has_more);
        jw_end_object(w);
        return 0;
}

int op_native_approval_ls(Call *call, const NativeApprovalLsArgs *args) {
        return approvals_call(call, false, approval_op_ls, &args->carry);
}

/* ---- answer, withdraw ------------------------------------------------------------------------ */

static int approval_op_answer(Call *call, Approvals *approvals, const Carry *carry) {
        const NativeApprovalAnswerArgs *args = container_of(carry, NativeApprovalAnswerArgs, carry);
        Approval *approval = approval_require(call, approvals, args->id);
        ApprovalReply reply = {.option = args->option,
                               .digest = args->digest,
                               .note = args->note,
                               .by = approval_caller(call),
                               .via = STR("approval.answer"),
                               .client_id = args->client_id};
        int r = approval ? approval_may_answer(call, approval) : call->error;

        if (r)
                return r;
        return reply.by.data ? approval_answer(call, approvals, approval, &reply, approval_show)
                             : error_origin(-ENOMEM);
}

int op_native_approval_answer(Call *call, const NativeApprovalAnswerArgs *args) {
        return approvals_call(call, false, approval_op_answer, &args->carry);
}

static int approval_op_withdraw(Call *call, Approvals *approvals, const Carry *carry) {
        const NativeApprovalWithdrawArgs *args = container_of(carry, NativeApprovalWithdrawArgs, carry);
        Approval *approval = approval_require(call, approvals, args->id);
        ApprovalCall *self;

        if (!approval)
                return call->error;
        if (approval_is_over(approval))
                return call_fail(call, CALL_E_ALREADY_ANSWERED, "already_answered: %s is %s", approval->id,
                                 approval_state_name(approval->state));
        self = approval_call_new(call, APPROVAL_EXPIRES_MAX_S);
        if (!self)
                return error_origin(-ENOMEM);
        self->is_asker = false;
        approval_join(approvals, approval, &self->wait);
        approval_withdraw(approvals, approval, "its asker has taken it back");
        return approval_call_return(self);
}

int op_native_approval_withdraw(Call *call, const NativeApprovalWithdrawArgs *args) {
        return approvals_call(call, false, approval_op_withdraw, &args->carry);
}
