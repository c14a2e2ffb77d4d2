/* SPDX-License-Identifier: MIT */
/* policy.ls, add, rm: answers that were given once and for all. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/time.h"
#include "core/approval/policy.h"
#include "core/client.h"
#include "daemon/agents/op-approval.h"
#include "gen/native-ops.h"

static int policy_op_ls(Call *call, Approvals *approvals, _unused_ const Carry *carry) {
        const Policy *policy = NULL;
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_key(w, "policies");
        jw_begin_array(w);
        while ((policy = policy_next(approvals, policy)))
                policy_write(policy, w);
        jw_end_array(w);
        jw_end_object(w);
        return 0;
}

int op_native_policy_ls(Call *call, const NativePolicyLsArgs *args) {
        return approvals_call(call, false, policy_op_ls, &args->carry);
}

static void policy_op_added(void *user, const Policy *policy, int r) {
        Call *call = user;
        JsonWriter *w;

        if (r || !policy) {
                call_finish(call, call_fail(call, CALL_E_NOT_KEPT, "the policy could not be kept"));
                return;
        }
        w = call_result(call);
        jw_begin_object(w);
        jw_key(w, "policy");
        policy_write(policy, w);
        jw_end_object(w);
        call_finish(call, 0);
}

/* A policy is an answer for all that come: an agent does not make one for itself, nor for anybody. */
static int policy_may_change(Call *call) {
        const Principal *who = call->client ? principal_of(call->client) : NULL;

        if (!who || who->kind == PRINCIPAL_USER)
                return 0;
        return principal_refuse(call, CALL_E_FORBIDDEN, RIGHT_APPROVE, who, STR_NULL,
                                "and only people make and remove policies");
}

static int policy_op_add(Call *call, Approvals *approvals, const Carry *carry) {
        const NativePolicyAddArgs *args = container_of(carry, NativePolicyAddArgs, carry);
        PolicyAdd add = {.principal = args->principal,
                         .tool = args->tool,
                         .subject = args->subject,
                         .pattern = args->pattern,
                         .by = approval_caller(call),
                         .effect = str_is(args->effect, "deny") ? APPROVAL_DENY : APPROVAL_ALLOW};
        int r = policy_may_change(call);

        if (r)
                return r;
        if (args->until.n && !time_parse(args->until, &add.until_us))
                return call_fail(call, CALL_E_INVALID_PARAMS,
                                 "until: must be a time, as 2026-11-18T08:00:00Z");
        if (args->subject.n && args->pattern.n)
                return call_fail(call, CALL_E_INVALID_PARAMS, "subject or pattern, not both");
        if (add.subject.n > POLICY_TEXT_MAX || add.pattern.n > POLICY_TEXT_MAX ||
            add.principal.n > APPROVAL_KEY_MAX || add.tool.n > APPROVAL_KEY_MAX)
                return call_fail(call, CALL_E_INVALID_PARAMS, "subject, pattern: at most %d bytes",
                                 POLICY_TEXT_MAX);
        r = policy_add(approvals, &add, policy_op_added, call);
        if (r == -ENOBUFS)
                return call_fail(call, CALL_E_RESOURCE_LIMIT, "there are %d policies",
                                 APPROVAL_POLICIES_MAX);
        return r ? call_fail(call, CALL_E_NOT_KEPT, "the policy could not be kept: %s", strerror(-r))
                 : CALL_LATER;
}

int op_native_policy_add(Call *call, const NativePolicyAddArgs *args) {
        return approvals_call(call, true, policy_op_add, &args->carry);
}

static void policy_op_removed(void *user, _unused_ const Policy *policy, int r) {
        Call *call = user;
        JsonWriter *w;

        if (r) {
                call_finish(call, call_fail(call, CALL_E_NOT_KEPT, "that could not be kept"));
                return;
        }
        w = call_result(call);
        jw_begin_object(w);
        jw_field_bool(w, "removed", true);
        jw_end_object(w);
        call_finish(call, 0);
}

static int policy_op_rm(Call *call, Approvals *approvals, const Carry *carry) {
        const NativePolicyRmArgs *args = container_of(carry, NativePolicyRmArgs, carry);
        const Policy *policy = policy_find(approvals, args->id);
        int r = policy_may_change(call);

        if (r)
                return r;
        if (!policy)
                return call_fail(call, CALL_E_APPROVAL_NOT_FOUND, "there is no such policy");
        r = policy_remove(approvals, policy, policy_op_removed, call);
        return r ? call_fail(call, CALL_E_NOT_KEPT, "that could not be kept: %s", strerror(-r)) : CALL_LATER;
}

int op_native_policy_rm(Call *call, const NativePolicyRmArgs *args) {
        return approvals_call(call, false, policy_op_rm, &args->carry);
}
