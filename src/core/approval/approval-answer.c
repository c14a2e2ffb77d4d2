/* SPDX-License-Identifier: MIT */
/*
 * Answers: compared with what was shown, kept, then told. While one is on its way the others wait, and find out who was first;
 * if it could not be kept, the next one is.
 */
#define LOG_MODULE "core/approval"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "core/approval/approval-internal.h"

/* One who answers; in its call's arena. The approval stays while it is locked. */
typedef struct ApprovalAnswer {
        LIST_ENTRY(ApprovalAnswer) link;
        Approvals *self;
        Approval *approval;
        Call *call;
        ApprovalReply reply;
        ApprovalTellFn tell;
} ApprovalAnswer;

static int approval_begin_answer(ApprovalAnswer *answer);

void approval_unlock(Approvals *self, Approval *approval) {
        ApprovalAnswer *answer;

        approval->is_locked = false;
        approval_look_again(self, approval);
        while (!approval->is_locked && (answer = LIST_FIRST(&approval->answers))) {
                Call *call = answer->call;
                int r;

                LIST_REMOVE(answer, link);
                r = approval_begin_answer(answer);
                if (r != CALL_LATER)
                        call_finish(call, r);
        }
}

/* ---- kept ------------------------------------------------------------------------------------ */

static void approval_write_reply(JsonWriter *w, const void *user) {
        const ApprovalReply *reply = user;

        jw_field_str(w, "option", reply->option);
        jw_field_str(w, "by", reply->by);
        jw_field_str(w, "via", reply->via);
        if (reply->note.n)
                jw_field_str(w, "note", reply->note);
        if (reply->client_id.n)
                jw_field_str(w, "client_id", reply->client_id);
}

/* What was allowed or denied for good is a policy from now on; that it could not be kept is no reason to take the answer back. */
static void approval_make_policy(Approvals *self, const Approval *approval) {
        const ApprovalOption *option = approval_verdict(approval);
        PolicyAdd add = {.principal = approval->asker,
                         .tool = approval->tool,
                         .subject = approval->subject,
                         .by = approval->by};
        int r;

        if (!option || option->scope != APPROVAL_ALWAYS || option->effect == APPROVAL_CHOOSE ||
            !approval->tool.n)
                return;
        add.effect = option->effect;
        r = policy_add(self, &add, NULL, NULL);
        if (r)
                log_warning(&self->daemon->log, approval->id, "no policy was made of it: %s", strerror(-r));
}

static void approval_answered(DocketLine *line, int r) {
        ApprovalAnswer *answer = line->user;
        Approval *approval = answer->approval;
        Call *call = answer->call;

        if (r)
                r = call_fail(call, CALL_E_NOT_KEPT, "the answer could not be kept");
        else {
                approval_make_policy(approvals_of_line(line), approval);
                r = answer->tell(call, approval);
        }
        approval_unlock(approvals_of_line(line), approval);
        call_finish(call, r);
}

static int approval_keep_answer(ApprovalAnswer *answer) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int r = approval_line_about(answer->self, "approval.answered", answer->approval->id,
                                    approval_write_reply, &answer->reply, &text);

        r = r ? r
              : docket_append(&answer->self->docket, buf_str(&text), STR_NULL, answer->approval->id,
                              approval_answered, answer);
        if (r)
                return call_fail(answer->call, CALL_E_NOT_KEPT, "the answer could not be kept: %s",
                                 strerror(-r));
        answer->approval->is_locked = true;
        return CALL_LATER;
}

/* ---- asked ----------------------------------------------------------------------------------- */

static int approval_tell_late(const ApprovalAnswer *answer) {
        const Approval *approval = answer->approval;
        JsonWriter *w;

        if (approval->client_id.n && str_eq(approval->client_id, answer->reply.client_id))
                return answer->tell(answer->call, approval); /* it was this one */
        w = call_details(answer->call);
        jw_begin_object(w);
        jw_field_cstr(w, "code", mcp_error_code(CALL_E_ALREADY_ANSWERED));
        jw_key(w, "approval");
        approval_write(approval, false, w);
        jw_end_object(w);
        if (!approval->option.n || approval->state == APPROVAL_EXPIRED)
                return call_fail(answer->call, CALL_E_ALREADY_ANSWERED,
                                 "already_answered: %s was %s%s" STR_FMT, approval->id,
                                 approval_state_name(approval->state), approval->why.n ? ": " : "",
                                 STR_ARG(approval->why));
        return call_fail(answer->call, CALL_E_ALREADY_ANSWERED,
                         "already_answered: %s was answered " STR_FMT " by " STR_FMT, approval->id,
                         STR_ARG(approval->option), STR_ARG(approval->by));
}

/* Denying what was not shown does no harm, and without evidence there is nothing else to be shown: both need no digest. */
static int approval_check_digest(const ApprovalAnswer *answer, const ApprovalOption *option) {
        const Approval *approval = answer->approval;
        Str digest = answer->reply.digest;

        if (!digest.n && (option->effect == APPROVAL_DENY || !approval->evidence.n))
                return 0;
        if (str_is(digest, approval->digest))
                return 0;
        return call_fail(answer->call, CALL_E_DIGEST_MISMATCH,
                         digest.n ? "digest_mismatch: that is not what %s asks; look at it again"
                                  : "digest_mismatch: an answer names the digest of what was shown for %s",
                         approval->id);
}

static int approval_begin_answer(ApprovalAnswer *answer) {
        Approval *approval = answer->approval;
        const ApprovalOption *option;
        int r;

        if (approval->is_locked) {
                LIST_INSERT_HEAD(&approval->answers, answer, link);
                return CALL_LATER;
        }
        if (approval_is_over(approval))
                return approval_tell_late(answer);
        option = approval_option(approval, answer->reply.option);
        if (!option)
                return call_fail(answer->call, CALL_E_INVALID_PARAMS,
                                 "option: " STR_FMT " is none of this approval",
                                 STR_ARG(utf8_first(answer->reply.option, APPROVAL_WORD_MAX)));
        r = approval_check_digest(answer, option);
        return r ? r : approval_keep_answer(answer);
}

int approval_answer(Call *call, Approvals *approvals, Approval *approval, const ApprovalReply *reply,
                    ApprovalTellFn tell) {
        ApprovalAnswer *answer = arena_alloc(&call->arena, sizeof(*answer));

        if (!answer)
                return error_origin(-ENOMEM);
        *answer = (ApprovalAnswer){
                .self = approvals, .approval = approval, .call = call, .reply = *reply, .tell = tell};
        answer->reply.note = utf8_first(reply->note, APPROVAL_NOTE_MAX);
        return approval_begin_answer(answer);
}
