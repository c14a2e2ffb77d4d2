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
#include "base/file.h"
#include "base/id.h"
#include "base/time.h"
#include "core/approval/approval-internal.h"

enum { APPROVAL_LINE_DIGITS = 24 };

/* ---- writing --------------------------------------------------------------------------------- */

int approval_line_begin(const Approvals *self, JsonWriter *w, const char *kind) {
        char id[APPROVAL_LINE_DIGITS + 1], ts[TIME_TEXT_MAX];
        int r = id_hex(id, APPROVAL_LINE_DIGITS);

        if (r)
                return error_trace(r);
        time_format_us(loop_wall_us(self->daemon->loop), ts);
        jw_begin_object(w);
        jw_field_int(w, "v", 1);
        jw_field_cstr(w, "id", id);
        jw_field_cstr(w, "ts", ts);
        jw_field_cstr(w, "kind", kind);
        return 0;
}

int approval_line_end(JsonWriter *w, Buf *out) {
        jw_end_object(w);
        return w->failed || !buf_cstr(out) ? error_origin(-ENOMEM) : 0;
}

int approval_line_about(const Approvals *self, const char *kind, const char *id, ApprovalMembersFn members,
                        const void *user, Buf *out) {
        JsonWriter w = JSON_WRITER(out);
        int r = approval_line_begin(self, &w, kind);

        if (r)
                return error_trace(r);
        jw_field_cstr(&w, "approval_id", id);
        if (members)
                members(&w, user);
        return error_trace(approval_line_end(&w, out));
}

static void approval_on_kept(LedgerChange *change, int r) {
        ApprovalLine *line = container_of(change, ApprovalLine, change);
        Approvals *self = line->self;

        if (r)
                log_warning(&self->daemon->log, self->path, "a line was not kept: %s", strerror(-r));
        if (line->done)
                line->done(line, r);
        free(line);
        approvals_bound(self);
}

int approval_append(Approvals *self, Str first, Str second, const char *id,
                    void (*done)(ApprovalLine *line, int r), void *user) {
        ApprovalLine *line = self->ledger ? calloc(1, sizeof(*line)) : NULL;
        int r;

        if (!line)
                return error_origin(self->ledger ? -ENOMEM : -ESHUTDOWN);
        line->self = self;
        line->done = done;
        line->user = user;
        memcpy(line->id, id, strnlen(id, sizeof(line->id) - 1));
        ledger_change_init(&line->change, self->ledger, approval_on_kept);
        r = ledger_change_line(&line->change, first);
        if (!r && second.n)
                r = ledger_change_line(&line->change, second);
        if (!r)
                r = ledger_change_commit(&line->change);
        if (!r)
                return 0;
        ledger_change_deinit(&line->change);
        free(line);
        return error_trace(r);
}

/* ---- what they mean -------------------------------------------------------------------------- */

static bool approval_classify(Arena *arena, const Json *line, LedgerFacts *facts) {
        const Json *asked = json_get(line, "approval");

        *facts = (LedgerFacts){.id = json_text_of(line, "id"), .kind = json_text_of(line, "kind")};
        if (!time_parse(json_text_of(line, "ts"), &facts->ts_us))
                facts->ts_us = 0;
        ledger_facts_tag(facts, arena, STR("approval:"),
                         asked ? json_text_of(asked, "id") : json_text_of(line, "approval_id"));
        if (str_starts(facts->kind, STR("policy.")))
                ledger_facts_tag(facts, arena, STR(""), STR("policy"));
        return facts->id.n && facts->kind.n;
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
        if (self->listen && self->life == APPROVALS_READY)
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

static void approval_take(LedgerFollower *lines, LedgerLine *line) {
        Approvals *self = container_of(lines, Approvals, lines);
        const Json *json = ledger_line_json(line);
        Str kind = json_text_of(json, "kind");
        Approval *approval = approval_get(self, json_text_of(json, "approval_id"));

        if (str_is(kind, "approval.asked"))
                approval_take_asked(self, json);
        else if (str_is(kind, "policy.added"))
                policy_take_added(self, json, line->entry.ts_us);
        else if (str_is(kind, "policy.removed"))
                policy_take_removed(self, json);
        else if (approval)
                approval_take_about(self, approval, kind, json, line->entry.ts_us);
}

static bool approval_lines_failed(LedgerFollower *lines, int r) {
        Approvals *self = container_of(lines, Approvals, lines);

        log_warning(&self->daemon->log, self->path, "cannot be read: %s", strerror(-r));
        return true; /* what cannot be read is passed over */
}

static void approval_caught_up(LedgerFollower *lines) {
        Approvals *self = container_of(lines, Approvals, lines);

        if (self->life == APPROVALS_OPENING)
                approvals_ready(self, 0);
}

static const LedgerFollowerType approval_lines = {
        .n_lines = FOLLOWER_LINES_MAX,
        .n_bytes = FOLLOWER_BYTES,
        .is_early = true, /* who has kept a line finds it in the table */
        .take = approval_take,
        .caught_up = approval_caught_up,
        .failed = approval_lines_failed,
};

/* ---- opening --------------------------------------------------------------------------------- */

static void approval_on_opened(void *user, int r) {
        Approvals *self = user;

        self->is_open = !r;
        if (r || self->life == APPROVALS_CLOSING) {
                approvals_ready(self, r);
                return;
        }
        follower_start(&self->lines, &approval_lines, self->ledger, 0);
        follower_go_on(&self->lines);
}

static void approval_on_committed(_unused_ void *user, _unused_ uint64_t first, _unused_ uint64_t n) {}

/* A question is a promise, whatever is configured for other ledgers: synced, with a chain. */
static void approval_open_ledger(void *user) {
        Approvals *self = user;
        LedgerOptions options = {.loop = self->daemon->loop,
                                 .path = self->path,
                                 .state_path = self->state_path,
                                 .policy = LEDGER_COMMIT,
                                 .has_chain = true,
                                 .is_lines_only = true,
                                 .classify = approval_classify,
                                 .committed = approval_on_committed,
                                 .user = self};
        int r = self->life == APPROVALS_CLOSING ? -ECANCELED : self->r;

        if (!r)
                r = ledger_open(&self->ledger, &options, approval_on_opened);
        if (r)
                approvals_ready(self, r);
}

static void approval_make_folder(void *user) {
        Approvals *self = user;
        _cleanup_(freep) char *state = path_join(self->folder, "state");

        self->r = state ? dir_make(self->folder, 0700) : -ENOMEM;
        if (!self->r)
                self->r = dir_make(state, 0700);
}

int approvals_open(Approvals *self) {
        int r = loop_work(self->daemon->loop, approval_make_folder, approval_open_ledger, self);

        if (!r)
                self->life = APPROVALS_OPENING;
        return error_trace(r);
}
