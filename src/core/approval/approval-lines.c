/* SPDX-License-Identifier: MIT */
/*
 * The ledger of approvals. A line is one of
 *
 *   approval.asked           approval {id, key, digest, asker, kind, title, body, evidence, options, default, tool, subject, …}
 *   approval.answered        approval_id, option, by, via, note, client_id
 *   approval.expired         approval_id, option: what counts then
 *   approval.withdrawn       approval_id, why
 *   approval.delivered       approval_id, to
 *   approval.undeliverable   approval_id, why
 *   approval.told            approval_id, group, event: of the message that tells people of it
 *   policy.added             policy {id, principal, tool, subject, pattern, effect, by, until}
 *   policy.removed           policy_id
 *
 * besides v, id, ts and kind. The table is what these say in their order, at the start and afterwards: nothing enters it another
 * way, and what does not follow from the state before changes nothing.
 */
#define LOG_MODULE "core/approval"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/approval/approval-internal.h"

/* ---- writing --------------------------------------------------------------------------------- */

int approval_line_about(const Approvals *self, const char *kind, const char *id, ApprovalMembersFn members,
                        const void *user, Buf *out) {
        JsonWriter w = JSON_WRITER(out);
        int r = docket_line_begin(&self->docket, &w, kind);

        if (r)
                return error_trace(r);
        jw_field_cstr(&w, "approval_id", id);
        if (members)
                members(&w, user);
        return error_trace(docket_line_end(&w, out));
}

/* ---- what they mean -------------------------------------------------------------------------- */

static bool approval_classify(Arena *arena, const Json *line, LedgerFacts *facts) {
        const Json *asked = json_get(line, "approval");
        bool is_line = docket_classify(line, facts);

        ledger_facts_tag(facts, arena, STR("approval:"),
                         asked ? json_text_of(asked, "id") : json_text_of(line, "approval_id"));
        if (str_starts(facts->kind, STR("policy.")))
                ledger_facts_tag(facts, arena, STR(""), STR("policy"));
        return is_line;
}

static void approval_take_asked(Approvals *self, const Json *line) {
        const Json *json = json_get(line, "approval");
        Approval *approval = approval_get(self, json_text_of(json, "id")) ||
                                             approval_get_key(self, json_text_of(json, "asker"),
                                                              json_text_of(json, "key"))
                                     ? NULL
                                     : approval_new(json);

        if (!approval)
                return; /* it is known, or cannot be one */
        approvals_add(self, approval);
        approvals_feed(self, approval, "asked");
        if (self->listen && self->docket.life == DOCKET_READY)
                self->listen(self->listener);
}

static Str approval_keep_text(Approval *approval, const Json *line, const char *name) {
        Str text = json_text_of(line, name);

        return text.n ? arena_str(&approval->arena, text) : STR_NULL;
}

static void approval_take_decided(Approvals *self, Approval *approval, const Json *line, ApprovalState state,
                                  int64_t at_us) {
        if (approval->state != APPROVAL_OPEN)
                return; /* the first one has won */
        approval->option = approval_keep_text(approval, line, "option");
        approval->by = approval_keep_text(approval, line, "by");
        approval->via = approval_keep_text(approval, line, "via");
        approval->note = approval_keep_text(approval, line, "note");
        approval->client_id = approval_keep_text(approval, line, "client_id");
        approval->why = approval_keep_text(approval, line, "why");
        approval->decided_us = at_us;
        approvals_move(self, approval, state);
        approvals_feed(self, approval, approval_state_name(state));
        approval_tell_waits(approval);
}

/* An expired one stays what it is: that its asker was told is all that changes. */
static void approval_take_delivered(Approvals *self, Approval *approval, const Json *line, int64_t at_us) {
        if (approval->delivered_us ||
            (approval->state != APPROVAL_ANSWERED && approval->state != APPROVAL_EXPIRED))
                return;
        approval->delivered_to = approval_keep_text(approval, line, "to");
        approval->delivered_us = at_us;
        if (approval->state == APPROVAL_ANSWERED)
                approval->state = APPROVAL_DELIVERED;
        approvals_feed(self, approval, "delivered");
}

static void approval_take_undeliverable(Approvals *self, Approval *approval, const Json *line) {
        if (approval->state != APPROVAL_ANSWERED)
                return;
        approval->why = approval_keep_text(approval, line, "why");
        approval->state = APPROVAL_UNDELIVERABLE;
        approvals_feed(self, approval, "undeliverable");
}

static void approval_take_told(Approval *approval, const Json *line) {
        if (approval->told_event.n)
                return;
        approval->told_group = approval_keep_text(approval, line, "group");
        approval->told_event = approval_keep_text(approval, line, "event");
}

static void approval_take_about(Approvals *self, Approval *approval, Str kind, const Json *line,
                                int64_t at_us) {
        if (str_is(kind, "approval.answered"))
                approval_take_decided(self, approval, line, APPROVAL_ANSWERED, at_us);
        else if (str_is(kind, "approval.expired"))
                approval_take_decided(self, approval, line, APPROVAL_EXPIRED, at_us);
        else if (str_is(kind, "approval.withdrawn"))
                approval_take_decided(self, approval, line, APPROVAL_WITHDRAWN, at_us);
        else if (str_is(kind, "approval.delivered"))
                approval_take_delivered(self, approval, line, at_us);
        else if (str_is(kind, "approval.undeliverable"))
                approval_take_undeliverable(self, approval, line);
        else if (str_is(kind, "approval.told"))
                approval_take_told(approval, line);
}

static void approval_take(Docket *docket, const Json *json, int64_t at_us) {
        Approvals *self = container_of(docket, Approvals, docket);
        Str kind = json_text_of(json, "kind");
        Approval *approval = approval_get(self, json_text_of(json, "approval_id"));

        if (str_is(kind, "approval.asked"))
                approval_take_asked(self, json);
        else if (str_is(kind, "policy.added"))
                policy_take_added(self, json, at_us);
        else if (str_is(kind, "policy.removed"))
                policy_take_removed(self, json);
        else if (approval)
                approval_take_about(self, approval, kind, json, at_us);
}

const DocketType approvals_docket = {
        .name = "approvals",
        .unreadable = "approvals cannot be read now",
        .n_calls_max = APPROVAL_WAITING_MAX,
        .n_lines_max = APPROVAL_LINES_MAX,
        .is_promise = true, /* a question is one */
        .classify = approval_classify,
        .take = approval_take,
        .ready = approvals_ready,
        .remember = approvals_remember,
};
