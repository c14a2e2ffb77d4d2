/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "core/approval"

#include "core/approval/approval.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
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
        if (self->life != APPROVALS_READY)
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

        if (self->life != APPROVALS_READY)
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
        if (fn && approvals->life == APPROVALS_READY)
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

static void approvals_on_shortened(void *user, int r) {
        Approvals *self = user;

        self->is_shortening = false;
        free(self->positions);
        self->positions = NULL;
        if (r)
                log_warning(&self->daemon->log, self->path, "cannot be shortened: %s", strerror(-r));
}

static void approvals_mark_tag(const Approvals *self, Str word, bool *keep, uint64_t n) {
        LedgerTag tag = word.data ? ledger_tag(self->ledger, word) : (LedgerTag){0};
        LedgerCursor cursor;
        uint64_t position;

        if (ledger_tag_is_none(tag) || ledger_cursor_init(&cursor, self->ledger, &tag, 1, 0, false))
                return;
        while (ledger_cursor_next(&cursor, &position))
                if (position < n)
                        keep[position] = true;
}

static void approvals_mark(const Approvals *self, const ApprovalList *list, bool *keep, uint64_t n) {
        const Approval *approval;

        TAILQ_FOREACH (approval, list, link) {
                _cleanup_(arena_deinit) Arena arena = ARENA_NULL;

                approvals_mark_tag(self, arena_printf(&arena, "approval:%s", approval->id), keep, n);
        }
}

static size_t approvals_collect_gone(const bool *keep, uint64_t n, uint64_t *positions) {
        size_t n_gone = 0;

        for (uint64_t i = 0; i < n; i++)
                if (!keep[i])
                        positions[n_gone++] = i;
        return n_gone;
}

/* Lines of what is remembered and of policies stay; the last archive has been removed. */
static void approvals_shorten(void *user) {
        Approvals *self = user;
        uint64_t n = self->life == APPROVALS_READY ? ledger_n_committed(self->ledger) : 0;
        bool *keep = n ? calloc(n, sizeof(*keep)) : NULL;
        int r = 0;

        self->positions = keep ? calloc(n, sizeof(*self->positions)) : NULL;
        if (self->positions) {
                approvals_mark(self, &self->open, keep, n);
                approvals_mark(self, &self->over, keep, n);
                approvals_mark_tag(self, STR("policy"), keep, n);
                r = ledger_rewrite(self->ledger, self->positions,
                                   approvals_collect_gone(keep, n, self->positions), self->archive,
                                   approvals_on_shortened, self);
        }
        free(keep);
        if (r || !self->positions)
                approvals_on_shortened(self, r);
}

static void approvals_drop_archive(void *user) {
        const Approvals *self = user;

        (void)unlink(self->archive);
}

void approvals_bound(Approvals *self) {
        if (self->is_shortening || self->life != APPROVALS_READY ||
            ledger_n_committed(self->ledger) < APPROVAL_LINES_MAX)
                return;
        self->is_shortening =
                !loop_work(self->daemon->loop, approvals_drop_archive, approvals_shorten, self);
}

/* ---- calls that wait ------------------------------------------------------------------------- */

bool approvals_are_ready(const Approvals *approvals) {
        return approvals && approvals->life == APPROVALS_READY;
}

static int approvals_refuse(Call *call) {
        return call_fail(call, CALL_E_UNAVAILABLE, "approvals cannot be read now");
}

int approvals_call(Call *call, bool is_to_ask, ApprovalsFn fn, const Carry *carry) {
        Approvals *self = call->daemon->approvals;
        ApprovalsCall *wait;

        if (!self || self->life == APPROVALS_CLOSING)
                return approvals_refuse(call);
        if (self->life == APPROVALS_FAILED ||
            (self->life == APPROVALS_NEW && is_to_ask && approvals_open(self)))
                return approvals_refuse(call);
        if (self->life != APPROVALS_OPENING)
                return fn(call, self, carry);
        wait = self->n_calls < APPROVAL_WAITING_MAX ? arena_alloc(&call->arena, sizeof(*wait)) : NULL;
        if (!wait)
                return approvals_refuse(call);
        *wait = (ApprovalsCall){.call = call, .fn = fn, .carry = carry};
        LIST_INSERT_HEAD(&self->calls, wait, link);
        self->n_calls++;
        return CALL_LATER;
}

static void approvals_run_calls(Approvals *self) {
        ApprovalsCall *wait;

        while ((wait = LIST_FIRST(&self->calls))) {
                Call *call = wait->call;
                int r;

                LIST_REMOVE(wait, link);
                self->n_calls--;
                r = self->life == APPROVALS_READY ? wait->fn(call, self, wait->carry)
                                                  : approvals_refuse(call);
                if (r != CALL_LATER)
                        call_finish(call, r);
        }
}

/* ---- life ------------------------------------------------------------------------------------ */

static void approvals_on_closed(void *user) {
        Approvals *self = user;

        self->holds = false;
        daemon_release_stop(self->daemon);
}

static void approvals_hold(Approvals *self) {
        if (!self->holds)
                daemon_hold_stop(self->daemon);
        self->holds = true;
}

static void approvals_close(Approvals *self) {
        follower_stop(&self->lines);
        if (self->ledger) {
                approvals_hold(self);
                ledger_close(steal(&self->ledger), approvals_on_closed, self);
        }
}

/* The other list may have missed something when a daemon ended between the two. */
static void approvals_mend_list(Approvals *self) {
        const Approval *approval;

        TAILQ_FOREACH (approval, &self->open, link)
                approval_list(self, approval);
        TAILQ_FOREACH (approval, &self->over, link)
                approval_unlist(self, approval);
}

void approvals_ready(Approvals *self, int r) {
        if (r && r != -ECANCELED)
                log_warning(&self->daemon->log, self->path, "cannot be opened: %s", strerror(-r));
        if (self->life == APPROVALS_CLOSING || r) {
                if (self->life !=
                    APPROVALS_CLOSING) /* without a folder nothing was read: the next one tries again */
                        self->life = self->ledger ? APPROVALS_FAILED : APPROVALS_NEW;
                approvals_close(self);
                approvals_run_calls(self);
                return;
        }
        self->life = APPROVALS_READY;
        self->ready_us = loop_wall_us(self->daemon->loop);
        approvals_mend_list(self);
        approvals_sweep(self);
        approval_expire_due(self);
        approvals_run_calls(self);
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
        self->folder = path_join(daemon->home, "approvals");
        self->path = self->folder ? path_join(self->folder, "ledger.jsonl") : NULL;
        self->state_path = self->folder ? path_join(self->folder, "state/ledger") : NULL;
        self->archive = self->folder ? path_join(self->folder, "archive.jsonl") : NULL;
        if (!self->path || !self->state_path || !self->archive ||
            (!access(self->path, F_OK) && approvals_open(self))) {
                approvals_free(self);
                return error_origin(-ENOMEM);
        }
        *ret = self;
        return 0;
}

/* One that is being opened is closed when it is open; whether its lines were read does not matter then. */
void approvals_stop(Approvals *approvals) {
        bool is_opening = approvals && approvals->life == APPROVALS_OPENING && !approvals->is_open;

        if (!approvals || approvals->life == APPROVALS_CLOSING)
                return;
        approvals->life = APPROVALS_CLOSING;
        timer_clear(&approvals->expiry);
        timer_clear(&approvals->sweep);
        if (!is_opening)
                approvals_close(approvals);
        else if (approvals->ledger)
                approvals_hold(approvals);
        approvals_run_calls(approvals);
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
        free(approvals->positions);
        free(approvals->folder);
        free(approvals->path);
        free(approvals->state_path);
        free(approvals->archive);
        free(approvals);
        return NULL;
}
