/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "core/approval"

#include "core/approval/approval.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "core/approval/approval-internal.h"

/* ---- the table ------------------------------------------------------------------------------- */

Approval *approval_get(const Approvals *self, Str id) {
        Approval *approval;

        TAILQ_FOREACH (approval, &self->open, link)
                if (str_is(id, approval->id))
                        return approval;
        TAILQ_FOREACH (approval, &self->over, link)
                if (str_is(id, approval->id))
                        return approval;
        return NULL;
}

static bool approval_is_key(const Approval *approval, uint64_t hash, Str asker, Str key) {
        return approval->key_hash == hash && str_eq(approval->key, key) && str_eq(approval->asker, asker);
}

Approval *approval_get_key(const Approvals *self, Str asker, Str key) {
        uint64_t hash = hash_str(key);
        Approval *approval;

        if (!key.n)
                return NULL;
        TAILQ_FOREACH (approval, &self->open, link)
                if (approval_is_key(approval, hash, asker, key))
                        return approval;
        TAILQ_FOREACH_REVERSE (approval, &self->over, ApprovalList, link)
                if (approval_is_key(approval, hash, asker, key))
                        return approval;
        return NULL;
}

static Approval *approval_count(const ApprovalList *list, Str id, Approval *found, size_t *n) {
        Approval *approval;

        TAILQ_FOREACH (approval, list, link)
                if (str_starts(str_from(approval->id), id)) {
                        found = approval;
                        ++*n;
                }
        return found;
}

Approval *approval_find(const Approvals *approvals, Str id, size_t *ret_n) {
        Approval *found = approval_get(approvals, id);

        *ret_n = found != NULL;
        if (found || id.n < APPROVAL_PREFIX_MIN)
                return found;
        found = approval_count(&approvals->open, id, NULL, ret_n);
        if (!found) /* what waits is meant before what is over */
                found = approval_count(&approvals->over, id, NULL, ret_n);
        return *ret_n == 1 ? found : NULL;
}

void approvals_add(Approvals *self, Approval *approval) {
        TAILQ_INSERT_TAIL(&self->open, approval, link);
        self->n_open++;
        self->n_open_bytes += approval->n_bytes;
        if (self->docket.life != DOCKET_READY)
                return;
        approval_expire_due(self);
        if (!timer_is_set(&self->sweep))
                approvals_sweep(self);
}

static bool approvals_are_too_many(const Approvals *self) {
        return self->n_over > APPROVAL_OVER_MAX || self->n_over_bytes > APPROVAL_OVER_BYTES;
}

/* What somebody still has in its hands stays. */
static bool approval_is_held(const Approval *approval) {
        return approval->is_locked || approval->is_delivering || approval->state == APPROVAL_ANSWERED ||
               !LIST_EMPTY(&approval->waits) || !LIST_EMPTY(&approval->answers);
}

static void approvals_forget(Approvals *self) {
        Approval *approval = TAILQ_FIRST(&self->over), *next;

        for (; approval && approvals_are_too_many(self); approval = next) {
                next = TAILQ_NEXT(approval, link);
                if (approval_is_held(approval) || !next)
                        continue;
                TAILQ_REMOVE(&self->over, approval, link);
                self->n_over--;
                self->n_over_bytes -= approval->n_bytes;
                approval_free(approval);
        }
}

void approvals_move(Approvals *self, Approval *approval, ApprovalState state) {
        approval->state = state;
        TAILQ_REMOVE(&self->open, approval, link);
        TAILQ_INSERT_TAIL(&self->over, approval, link);
        self->n_open--;
        self->n_open_bytes -= approval->n_bytes;
        self->n_over++;
        self->n_over_bytes += approval->n_bytes;
        approvals_forget(self);
}

Approval *approval_last(const Approvals *approvals) {
        Approval *approval = TAILQ_LAST(&approvals->open, ApprovalList);

        return approval ? approval : TAILQ_LAST(&approvals->over, ApprovalList);
}

Approval *approval_before(const Approvals *approvals, const Approval *approval) {
        Approval *before = TAILQ_PREV(approval, ApprovalList, link);

        return before || approval_is_over(approval) ? before : TAILQ_LAST(&approvals->over, ApprovalList);
}

size_t approvals_n_open(const Approvals *approvals) {
        return approvals->n_open;
}

/* ---- told ------------------------------------------------------------------------------------ */

void approvals_feed(Approvals *self, const Approval *approval, const char *kind) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        FeedPlace place;

        if (self->docket.life != DOCKET_READY)
                return;
        approval_write(approval, false, &w);
        feed_place(&place, "approval", approval->asker, str_from(kind), FEED_NOWHERE);
        (void)feed_push(self->daemon->feed, &place, w.failed ? NULL : chunk_new(buf_str(&text)));
        if (!approval_is_over(approval))
                approval_list(self, approval);
        else
                approval_unlist(self, approval);
}

void approvals_listen(Approvals *approvals, void (*fn)(void *user), void *user) {
        if (!approvals)
                return;
        approvals->listen = fn;
        approvals->listener = user;
        if (fn && approvals->docket.life == DOCKET_READY)
                fn(user);
}

Approval *approval_find_message(const Approvals *approvals, Str group, Str event) {
        Approval *approval = approval_last(approvals);

        while (approval &&
               !(event.n && str_eq(approval->told_event, event) && str_eq(approval->told_group, group)))
                approval = approval_before(approvals, approval);
        return approval;
}

/* ---- its bound ------------------------------------------------------------------------------- */

static void approvals_remember_list(Approvals *self, const ApprovalList *list) {
        const Approval *approval;

        TAILQ_FOREACH (approval, list, link) {
                _cleanup_(arena_deinit) Arena arena = ARENA_NULL;

                docket_remember(&self->docket, arena_printf(&arena, "approval:%s", approval->id));
        }
}

void approvals_remember(Docket *docket) {
        Approvals *self = container_of(docket, Approvals, docket);

        approvals_remember_list(self, &self->open);
        approvals_remember_list(self, &self->over);
        docket_remember(docket, STR("policy"));
}

/* ---- calls that wait ------------------------------------------------------------------------- */

bool approvals_are_ready(const Approvals *approvals) {
        return approvals && approvals->docket.life == DOCKET_READY;
}

typedef struct ApprovalsCall { /* in the call's arena */
        Carry carry;
        ApprovalsFn fn;
        const Carry *of;
} ApprovalsCall;

static int approvals_called(Call *call, const Carry *carry) {
        const ApprovalsCall *wait = container_of(carry, ApprovalsCall, carry);

        return wait->fn(call, call->daemon->approvals, wait->of);
}

int approvals_call(Call *call, bool is_to_ask, ApprovalsFn fn, const Carry *carry) {
        Approvals *self = call->daemon->approvals;
        ApprovalsCall *wait = self ? arena_alloc(&call->arena, sizeof(*wait)) : NULL;

        if (!wait || (self->docket.life == DOCKET_NEW && is_to_ask && docket_open(&self->docket)))
                return call_fail(call, CALL_E_UNAVAILABLE, "%s", approvals_docket.unreadable);
        *wait = (ApprovalsCall){.fn = fn, .of = carry};
        return docket_call(&self->docket, call, approvals_called, &wait->carry);
}

/* ---- life ------------------------------------------------------------------------------------ */

/* The other list may have missed something when a daemon ended between the two. */
static void approvals_mend_list(Approvals *self) {
        const Approval *approval;

        TAILQ_FOREACH (approval, &self->open, link)
                approval_list(self, approval);
        TAILQ_FOREACH (approval, &self->over, link)
                approval_unlist(self, approval);
}

void approvals_ready(Docket *docket) {
        Approvals *self = container_of(docket, Approvals, docket);

        self->ready_us = loop_wall_us(self->daemon->loop);
        approvals_mend_list(self);
        approvals_sweep(self);
        approval_expire_due(self);
        if (self->listen)
                self->listen(self->listener);
}

static void approvals_on_expiry(Timer *timer) {
        approval_expire_due(container_of(timer, Approvals, expiry));
}

static void approvals_on_sweep(Timer *timer) {
        approvals_sweep(container_of(timer, Approvals, sweep));
}

int approvals_new(Approvals **ret, Daemon *daemon) {
        Approvals *self = calloc(1, sizeof(*self));

        if (!self)
                return error_origin(-ENOMEM);
        self->daemon = daemon;
        TAILQ_INIT(&self->open);
        TAILQ_INIT(&self->over);
        TAILQ_INIT(&self->policies);
        timer_init(&self->expiry, daemon->loop, approvals_on_expiry);
        timer_init(&self->sweep, daemon->loop, approvals_on_sweep);
        if (docket_init(&self->docket, &approvals_docket, daemon)) {
                approvals_free(self);
                return error_origin(-ENOMEM);
        }
        *ret = self;
        return 0;
}

void approvals_stop(Approvals *approvals) {
        if (!approvals)
                return;
        timer_clear(&approvals->expiry);
        timer_clear(&approvals->sweep);
        docket_stop(&approvals->docket);
}

static void approvals_free_list(ApprovalList *list) {
        Approval *approval;

        while ((approval = TAILQ_FIRST(list))) {
                TAILQ_REMOVE(list, approval, link);
                approval_free(approval);
        }
}

Approvals *approvals_free(Approvals *approvals) {
        if (!approvals)
                return NULL;
        timer_clear(&approvals->expiry);
        timer_clear(&approvals->sweep);
        approvals_free_list(&approvals->open);
        approvals_free_list(&approvals->over);
        policies_free(approvals);
        docket_deinit(&approvals->docket);
        free(approvals);
        return NULL;
}
