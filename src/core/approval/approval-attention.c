/* SPDX-License-Identifier: MIT */
/*
 * Approvals among all that waits for a person. The truth is here; an item there follows it: asked when a question is kept, settled
 * when it is decided another way. Answered there, it is answered here, with the same rules.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "core/approval/approval-internal.h"
#include "core/principal/principal.h"

enum { APPROVAL_ITEM_MAX = APPROVAL_ID_DIGITS + 16 };

static void approval_item_id(const Approval *approval, char out[APPROVAL_ITEM_MAX]) {
        snprintf(out, APPROVAL_ITEM_MAX, "approval:%s", approval->id);
}

void approval_list(Approvals *self, const Approval *approval) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        char id[APPROVAL_ITEM_MAX];
        AttentionAsk ask = {.kind = attention_approval.kind,
                            .source = approval->asker,
                            .owner = approval->kind,
                            .object = str_from(approval->id),
                            .text = approval->title,
                            .since_us = approval->asked_us};

        approval_item_id(approval, id);
        ask.id = str_from(id);
        for (size_t i = 0; i < MIN(approval->n_options, (size_t)ATTENTION_CHOICES_MAX); i++) {
                ask.choices[i] = arena_str(&arena, approval->options[i].id).data;
                if (!ask.choices[i])
                        break;
        }
        attention_ask(self->daemon->attention, &ask);
}

void approval_unlist(Approvals *self, const Approval *approval) {
        char id[APPROVAL_ITEM_MAX];

        approval_item_id(approval, id);
        attention_settle(self->daemon->attention, str_from(id), approval_state_name(approval->state));
}

/* ---- the kind -------------------------------------------------------------------------------- */

typedef struct ApprovalChoice { /* in the call's arena */
        Carry carry;
        Str object;
        ApprovalReply reply;
} ApprovalChoice;

static int approval_choice_done(Call *call, _unused_ const Approval *approval) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_end_object(w);
        return 0;
}

/* A choice that an earlier daemon has kept (nobody waits for it any more) is carried out if the question was decided. */
static int approval_choose(Call *call, Approvals *approvals, const Carry *carry) {
        const ApprovalChoice *choice = container_of(carry, ApprovalChoice, carry);
        Approval *approval = approval_get(approvals, choice->object);

        if (!approval)
                return call_fail(call, CALL_E_ITEM_NOT_FOUND, "there is no such approval");
        if (!principal_is_person(choice->reply.by)) /* whose rules approval.answer knows */
                return call_fail(call, CALL_E_FORBIDDEN, "agents answer approvals by approval.answer");
        return approval_answer(call, approvals, approval, &choice->reply, approval_choice_done);
}

static int approval_on_choice(Call *call, const AttentionItem *item, const AttentionReply *reply) {
        ApprovalChoice *choice = arena_alloc(&call->arena, sizeof(*choice));

        if (!choice)
                return error_origin(-ENOMEM);
        *choice = (ApprovalChoice){.object = arena_str(&call->arena, str_from(item->object)),
                                   .reply = {.option = reply->choice,
                                             .digest = reply->digest,
                                             .note = reply->text,
                                             .by = reply->by,
                                             .via = STR("attention"),
                                             .client_id = reply->client_id}};
        return choice->object.data ? approvals_call(call, false, approval_choose, &choice->carry)
                                   : error_origin(-ENOMEM);
}

static bool approval_is_item_over(Daemon *daemon, const AttentionItem *item) {
        const Approvals *self = daemon->approvals;
        const Approval *approval;

        if (!approvals_are_ready(self))
                return self &&
                       self->docket.life == DOCKET_NEW; /* nothing was ever asked, or it was removed */
        approval = approval_get(self, str_from(item->object));
        return !approval || approval_is_over(approval);
}

const AttentionKind attention_approval = {
        .kind = "approval", .answer = approval_on_choice, .is_over = approval_is_item_over};
