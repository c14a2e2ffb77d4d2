/* SPDX-License-Identifier: MIT */
/* Questions: measured, kept, then told to whoever waits. The same key of the same asker is the same question. */
#define LOG_MODULE "core/approval"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "core/approval/approval-internal.h"

/* ---- waiting --------------------------------------------------------------------------------- */

/* On its way to the ledger. */
typedef struct ApprovalAsking {
        ApprovalWait *wait; /* NULL: it has left meanwhile */
        Str asker, key;     /* in the memory behind this */
        size_t n_bytes;
} ApprovalAsking;

void approval_leave(ApprovalWait *wait) {
        if (wait->asking)
                wait->asking->wait = NULL;
        wait->asking = NULL;
        if (wait->is_waiting && wait->approval)
                LIST_REMOVE(wait, link);
        wait->is_waiting = false;
        wait->approval = NULL;
}

static void approval_enter(ApprovalWait *wait, Approval *approval) {
        wait->approval = approval;
        wait->is_waiting = true;
        LIST_INSERT_HEAD(&approval->waits, wait, link);
}

void approval_tell_waits(Approval *approval) {
        ApprovalWait *wait;

        while ((wait = LIST_FIRST(&approval->waits))) {
                LIST_REMOVE(wait, link);
                wait->is_waiting = false;
                wait->decided(wait);
        }
}

static void approval_tell_asked(ApprovalWait *wait, Approval *approval) {
        approval_enter(wait, approval);
        wait->asked(wait, 0);
        if (wait->is_waiting && wait->approval == approval && approval_is_over(approval))
                approval_tell_waits(approval);
}

void approval_join(Approvals *approvals, Approval *approval, ApprovalWait *wait) {
        wait->approvals = approvals;
        approval_tell_asked(wait, approval);
}

bool approval_rejoin(Approvals *approvals, Str asker, Str key, ApprovalWait *wait) {
        Approval *approval = approval_get_key(approvals, asker, key);

        if (approval)
                approval_join(approvals, approval, wait);
        return approval != NULL;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static size_t approval_n_of(const Approvals *self, Str asker) {
        const Approval *approval;
        size_t n = 0;

        TAILQ_FOREACH (approval, &self->open, link)
                n += str_eq(approval->asker, asker);
        return n;
}

static bool approval_has_option(const ApprovalAsk *ask, Str id) {
        if (!ask->n_options)
                return str_is(id, "allow") || str_is(id, "deny");
        for (size_t i = 0; i < ask->n_options; i++)
                if (str_eq(ask->options[i].id, id))
                        return true;
        return false;
}

static bool approval_are_options_fit(const ApprovalAsk *ask) {
        if (ask->n_options > APPROVAL_OPTIONS_MAX)
                return false;
        for (size_t i = 0; i < ask->n_options; i++) {
                Str id = ask->options[i].id;

                if (!id.n || id.n > APPROVAL_WORD_MAX ||
                    ask->options[i].label.n > (size_t)APPROVAL_WORD_MAX * 4 || str_is(id, "dismiss"))
                        return false;
                for (size_t k = 0; k < i; k++)
                        if (str_eq(ask->options[k].id, id))
                                return false;
        }
        return !ask->fallback.n || approval_has_option(ask, ask->fallback);
}

static int approval_measure(const Approvals *self, const ApprovalAsk *ask, size_t n_evidence) {
        size_t n_bytes = ask->body.n + n_evidence + ask->subject.n;

        if (!ask->asker.n || !ask->kind.n || ask->kind.n > APPROVAL_WORD_MAX || !ask->title.n ||
            ask->key.n > APPROVAL_KEY_MAX || ask->expires_s < 0 || ask->expires_s > APPROVAL_EXPIRES_MAX_S ||
            !approval_are_options_fit(ask))
                return APPROVAL_E_UNFIT;
        if (ask->body.n > APPROVAL_BODY_MAX || n_evidence > APPROVAL_EVIDENCE_MAX)
                return APPROVAL_E_TOO_LONG;
        if (self->n_open + self->n_asking >= APPROVAL_OPEN_MAX ||
            self->n_open_bytes + self->n_asking_bytes + n_bytes > APPROVAL_BYTES_MAX ||
            approval_n_of(self, ask->asker) >= APPROVAL_ASKER_MAX)
                return APPROVAL_E_TOO_MANY;
        return 0;
}

/* Of two lines with one key the first counts; who has written the second finds that one. */
static void approval_asked(DocketLine *line, int r) {
        ApprovalAsking *asking = line->user;
        Approvals *self = approvals_of_line(line);
        Approval *approval = r ? NULL : approval_get(self, str_from(line->id));
        ApprovalWait *wait = asking->wait;

        if (!r && !approval)
                approval = approval_get_key(self, asking->asker, asking->key);
        self->n_asking--;
        self->n_asking_bytes -= asking->n_bytes;
        free(asking);
        if (wait)
                wait->asking = NULL;
        if (wait && approval)
                approval_tell_asked(wait, approval);
        else if (wait)
                wait->asked(wait, r ? r : error_origin(-EIO));
}

static ApprovalAsking *approval_asking_new(const ApprovalAsk *ask, ApprovalWait *wait, size_t n_bytes) {
        ApprovalAsking *asking = malloc(sizeof(*asking) + ask->asker.n + ask->key.n);
        char *texts = (char *)(asking + 1);

        if (!asking)
                return NULL;
        memcpy(texts, ask->asker.data, ask->asker.n);
        if (ask->key.n)
                memcpy(texts + ask->asker.n, ask->key.data, ask->key.n);
        *asking = (ApprovalAsking){.wait = wait,
                                   .asker = {texts, ask->asker.n},
                                   .key = {texts + ask->asker.n, ask->key.n},
                                   .n_bytes = n_bytes};
        return asking;
}

static int approval_write_line(const Approvals *self, const ApprovalAsk *ask, const char *id, Str evidence,
                               Buf *out) {
        char digest[SHA256_HEX_MAX];
        JsonWriter w = JSON_WRITER(out);
        int r = sha256_hex(evidence, digest);

        r = r ? r : docket_line_begin(&self->docket, &w, "approval.asked");
        if (r)
                return error_trace(r);
        jw_key(&w, "approval");
        approval_write_asked(ask, id, evidence.n > 2 ? evidence : STR_NULL, digest,
                             loop_wall_us(self->daemon->loop), &w);
        return error_trace(docket_line_end(&w, out));
}

/* A policy answers in the same breath: nobody is asked. */
static void approval_write_policy(JsonWriter *w, const void *user) {
        const Policy *policy = user;
        char via[POLICY_ID_DIGITS + 8] = "policy:";

        memcpy(via + 7, policy->id, sizeof(policy->id));
        jw_field_cstr(w, "option", approval_effect_name(policy->effect));
        jw_field_str(w, "by", policy->by);
        jw_field_cstr(w, "via", via);
}

static const Policy *approval_policy(const Approvals *self, const ApprovalAsk *ask) {
        const Policy *policy = ask->tool.n ? policy_for(self, ask->asker, ask->tool, ask->subject,
                                                        loop_wall_us(self->daemon->loop))
                                           : NULL;

        return policy && approval_has_option(ask, str_from(approval_effect_name(policy->effect))) ? policy
                                                                                                  : NULL;
}

static int approval_keep_ask(Approvals *self, const ApprovalAsk *ask, Str evidence, ApprovalWait *wait) {
        _cleanup_(buf_deinit) Buf line = BUF_NULL, second = BUF_NULL;
        const Policy *policy = approval_policy(self, ask);
        size_t n_bytes = ask->body.n + evidence.n + ask->subject.n;
        ApprovalAsking *asking = approval_asking_new(ask, wait, n_bytes);
        char id[APPROVAL_ID_DIGITS + 1];
        int r = asking ? id_hex(id, APPROVAL_ID_DIGITS) : error_origin(-ENOMEM);

        r = r ? r : approval_write_line(self, ask, id, evidence, &line);
        if (!r && policy)
                r = approval_line_about(self, "approval.answered", id, approval_write_policy, policy,
                                        &second);
        r = r ? r
              : docket_append(&self->docket, buf_str(&line), buf_str(&second), id, approval_asked, asking);
        if (r) {
                free(asking);
                return error_trace(r);
        }
        wait->asking = asking;
        self->n_asking++;
        self->n_asking_bytes += n_bytes;
        return 0;
}

int approval_ask(Approvals *approvals, const ApprovalAsk *ask, ApprovalWait *wait) {
        _cleanup_(buf_deinit) Buf evidence = BUF_NULL;
        int r;

        wait->approvals = approvals;
        wait->approval = NULL;
        wait->asking = NULL;
        wait->is_waiting = false;
        if (approval_rejoin(approvals, ask->asker, ask->key, wait))
                return 0;
        r = ask->evidence ? json_write_es(&evidence, ask->evidence) : buf_append_str(&evidence, STR("{}"));
        if (r)
                return error_trace(r);
        r = approval_measure(approvals, ask, evidence.n);
        return r ? r : error_trace(approval_keep_ask(approvals, ask, buf_str(&evidence), wait));
}
