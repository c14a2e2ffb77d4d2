/* SPDX-License-Identifier: MIT */
#include "core/approval/policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"
#include "core/approval/approval-internal.h"

/* ---- what it decides ------------------------------------------------------------------------- */

/* At a `*` that did not fit it goes back to the last one and takes one character more there. */
bool policy_glob(Str pattern, Str text) {
        size_t p = 0, t = 0, star = SIZE_MAX, begun = 0;

        while (t < text.n) {
                if (p < pattern.n && pattern.data[p] == '*') {
                        star = p++;
                        begun = t;
                } else if (p < pattern.n && pattern.data[p] == text.data[t]) {
                        p++;
                        t++;
                } else if (star != SIZE_MAX) {
                        p = star + 1;
                        t = ++begun;
                } else
                        return false;
        }
        while (p < pattern.n && pattern.data[p] == '*')
                p++;
        return p == pattern.n;
}

static bool policy_fits(const Policy *policy, Str asker, Str tool, Str subject, int64_t now_us) {
        if ((policy->until_us && policy->until_us <= now_us) ||
            (!str_is(policy->principal, "*") && !str_eq(policy->principal, asker)) ||
            (!str_is(policy->tool, "*") && !str_eq(policy->tool, tool)))
                return false;
        if (policy->subject.n)
                return str_eq(policy->subject, subject);
        return !policy->pattern.n || policy_glob(policy->pattern, subject);
}

const Policy *policy_for(const Approvals *approvals, Str asker, Str tool, Str subject, int64_t now_us) {
        const Policy *policy, *found = NULL;

        TAILQ_FOREACH (policy, &approvals->policies, link)
                if (policy_fits(policy, asker, tool, subject, now_us) &&
                    (!found || policy->effect == APPROVAL_DENY))
                        found = policy;
        return found;
}

/* ---- the table ------------------------------------------------------------------------------- */

const Policy *policy_find(const Approvals *approvals, Str id) {
        const Policy *policy;

        TAILQ_FOREACH (policy, &approvals->policies, link)
                if (str_is(id, policy->id))
                        return policy;
        return NULL;
}

const Policy *policy_next(const Approvals *approvals, const Policy *policy) {
        return policy ? TAILQ_NEXT(policy, link) : TAILQ_FIRST(&approvals->policies);
}

static Policy *policy_free(Policy *policy) {
        if (policy)
                arena_deinit(&policy->arena);
        free(policy);
        return NULL;
}

void policies_free(Approvals *self) {
        Policy *policy;

        while ((policy = TAILQ_FIRST(&self->policies))) {
                TAILQ_REMOVE(&self->policies, policy, link);
                policy_free(policy);
        }
}

static bool policy_copy(Policy *policy, const Json *json, const char *name, Str *ret) {
        Str text = json_text_of(json, name);

        *ret = text.n ? arena_str(&policy->arena, text) : STR_NULL;
        return !text.n || ret->data;
}

static Policy *policy_new(const Json *json, int64_t ts_us) {
        Policy *policy = calloc(1, sizeof(*policy));
        Str id = json_text_of(json, "id"), until = json_text_of(json, "until");

        if (!policy || id.n != POLICY_ID_DIGITS ||
            !approval_effect_read(json_text_of(json, "effect"), &policy->effect) ||
            !policy_copy(policy, json, "principal", &policy->principal) ||
            !policy_copy(policy, json, "tool", &policy->tool) ||
            !policy_copy(policy, json, "subject", &policy->subject) ||
            !policy_copy(policy, json, "pattern", &policy->pattern) ||
            !policy_copy(policy, json, "by", &policy->by) ||
            (until.n && !time_parse(until, &policy->until_us)))
                return policy_free(policy);
        memcpy(policy->id, id.data, id.n);
        policy->made_us = ts_us;
        return policy;
}

static void policy_feed(Approvals *self, const Policy *policy, const char *kind) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        FeedPlace place;

        if (self->docket.life != DOCKET_READY)
                return;
        policy_write(policy, &w);
        feed_place(&place, "approval", policy->principal, str_from(kind), FEED_NOWHERE);
        (void)feed_push(self->daemon->feed, &place, w.failed ? NULL : chunk_new(buf_str(&text)));
}

void policy_take_added(Approvals *self, const Json *line, int64_t ts_us) {
        Policy *policy = policy_new(json_get(line, "policy"), ts_us);

        if (!policy)
                return;
        TAILQ_INSERT_TAIL(&self->policies, policy, link);
        self->n_policies++;
        policy_feed(self, policy, "policy_added");
}

void policy_take_removed(Approvals *self, const Json *line) {
        Policy *policy = (Policy *)policy_find(self, json_text_of(line, "policy_id"));

        if (!policy)
                return;
        policy_feed(self, policy, "policy_removed");
        TAILQ_REMOVE(&self->policies, policy, link);
        self->n_policies--;
        policy_free(policy);
}

/* ---- written --------------------------------------------------------------------------------- */

static void policy_field(JsonWriter *w, const char *key, Str text) {
        if (text.n)
                jw_field_str(w, key, text);
}

static void policy_write_members(JsonWriter *w, const PolicyAdd *add) {
        jw_field_str(w, "principal", add->principal);
        jw_field_str(w, "tool", add->tool);
        policy_field(w, "subject", add->subject);
        policy_field(w, "pattern", add->pattern);
        jw_field_cstr(w, "effect", approval_effect_name(add->effect));
        jw_field_str(w, "by", add->by);
        if (add->until_us)
                jw_field_time_ms(w, "until", add->until_us);
}

void policy_write(const Policy *policy, JsonWriter *w) {
        PolicyAdd add = {.principal = policy->principal,
                         .tool = policy->tool,
                         .subject = policy->subject,
                         .pattern = policy->pattern,
                         .by = policy->by,
                         .effect = policy->effect,
                         .until_us = policy->until_us};

        jw_begin_object(w);
        jw_field_cstr(w, "id", policy->id);
        policy_write_members(w, &add);
        jw_field_time_ms(w, "made_at", policy->made_us);
        jw_end_object(w);
}

/* ---- added and removed ----------------------------------------------------------------------- */

typedef struct PolicyWait {
        PolicyFn done;
        void *user;
} PolicyWait;

static void policy_kept(DocketLine *line, int r) {
        PolicyWait *wait = line->user;

        if (wait->done)
                wait->done(wait->user, policy_find(approvals_of_line(line), str_from(line->id)), r);
        free(wait);
}

static int policy_append(Approvals *self, const char *id, Buf *text, PolicyFn done, void *user) {
        PolicyWait *wait = malloc(sizeof(*wait));
        int r;

        if (!wait)
                return error_origin(-ENOMEM);
        *wait = (PolicyWait){.done = done, .user = user};
        r = docket_append(&self->docket, buf_str(text), STR_NULL, id, policy_kept, wait);
        if (r)
                free(wait);
        return error_trace(r);
}

int policy_add(Approvals *approvals, const PolicyAdd *add, PolicyFn done, void *user) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        char id[POLICY_ID_DIGITS + 1];
        int r = approvals->n_policies < APPROVAL_POLICIES_MAX ? id_hex(id, POLICY_ID_DIGITS) : -ENOBUFS;

        r = r ? r : docket_line_begin(&approvals->docket, &w, "policy.added");
        if (r)
                return error_trace(r);
        jw_key(&w, "policy");
        jw_begin_object(&w);
        jw_field_cstr(&w, "id", id);
        policy_write_members(&w, add);
        jw_end_object(&w);
        r = docket_line_end(&w, &text);
        return error_trace(r ? r : policy_append(approvals, id, &text, done, user));
}

int policy_remove(Approvals *approvals, const Policy *policy, PolicyFn done, void *user) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        int r = docket_line_begin(&approvals->docket, &w, "policy.removed");

        if (r)
                return error_trace(r);
        jw_field_cstr(&w, "policy_id", policy->id);
        r = docket_line_end(&w, &text);
        return error_trace(r ? r : policy_append(approvals, policy->id, &text, done, user));
}
