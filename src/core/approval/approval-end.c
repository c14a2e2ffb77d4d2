/* SPDX-License-Identifier: MIT */
/* What ends otherwise: time that is over, askers that do not need it any more, and answers that have arrived or cannot. */
#define LOG_MODULE "core/approval"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/approval/approval-internal.h"
#include "core/fleet/fleet.h"

enum {
        APPROVAL_AGAIN_MS = 10000, /* until the end of one that could not be kept is tried again */
        APPROVAL_SWEEP_MS = 10000,
};

typedef struct ApprovalEnd {
        Str option, to;
        const char *why;
} ApprovalEnd;

static void approval_write_end(JsonWriter *w, const void *user) {
        const ApprovalEnd *end = user;

        if (end->option.n) {
                jw_field_str(w, "option", end->option);
                jw_field_cstr(w, "by", "muster");
                jw_field_cstr(w, "via", "expiry");
        }
        if (end->to.n)
                jw_field_str(w, "to", end->to);
        if (end->why)
                jw_field_cstr(w, "why", end->why);
}

static int approval_keep_end(Approvals *self, Approval *approval, const char *kind, const ApprovalEnd *end,
                             void (*done)(DocketLine *line, int r), void *user) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int r = approval_line_about(self, kind, approval->id, approval_write_end, end, &text);

        return r ? r : docket_append(&self->docket, buf_str(&text), STR_NULL, approval->id, done, user);
}

/* A decision of ours that was on its way. */
static void approval_ended(DocketLine *line, int r) {
        Approval *approval = line->user;

        if (r)
                (void)timer_set(&approvals_of_line(line)->expiry, APPROVAL_AGAIN_MS);
        approval_unlock(approvals_of_line(line), approval);
}

/* ---- time ------------------------------------------------------------------------------------ */

static Str approval_expired_option(const Approval *approval) {
        if (approval->way == APPROVAL_BY_HOOK)
                return STR_NULL; /* its program asks by itself */
        if (approval->fallback.n)
                return approval->fallback;
        for (size_t i = 0; i < approval->n_options; i++)
                if (approval->options[i].effect == APPROVAL_DENY)
                        return approval->options[i].id;
        return STR_NULL;
}

static void approval_expire(Approvals *self, Approval *approval) {
        ApprovalEnd end = {.option = approval_expired_option(approval),
                           .why = "nobody has answered in time"};

        if (approval->is_locked || self->docket.life != DOCKET_READY)
                return;
        approval->is_locked = true;
        if (approval_keep_end(self, approval, "approval.expired", &end, approval_ended, approval)) {
                approval->is_locked = false;
                (void)timer_set(&self->expiry, APPROVAL_AGAIN_MS);
        }
}

void approval_expire_due(Approvals *self) {
        int64_t now_us = loop_wall_us(self->daemon->loop), next_us = INT64_MAX;
        Approval *approval, *next;

        for (approval = TAILQ_FIRST(&self->open); approval; approval = next) {
                next = TAILQ_NEXT(approval, link);
                if (approval->expires_us <= now_us)
                        approval_expire(self, approval);
                else
                        next_us = MIN(next_us, approval->expires_us);
        }
        if (next_us != INT64_MAX)
                (void)timer_set(&self->expiry, (next_us - now_us) / 1000 + 1);
}

/* ---- not needed any more --------------------------------------------------------------------- */

static void approval_lost(DocketLine *line, _unused_ int r) {
        Approval *approval = line->user;

        approval->is_delivering = false;
}

static void approval_lose(Approvals *self, Approval *approval, const char *why) {
        ApprovalEnd end = {.why = why};

        if (approval->is_delivering)
                return; /* it has arrived, as we are about to know */
        approval->is_delivering = true;
        if (approval_keep_end(self, approval, "approval.undeliverable", &end, approval_lost, approval))
                approval->is_delivering = false;
}

void approval_withdraw(Approvals *approvals, Approval *approval, const char *why) {
        ApprovalEnd end = {.why = why};

        if (approvals->docket.life != DOCKET_READY)
                return;
        if (approval->state == APPROVAL_ANSWERED) {
                approval_lose(approvals, approval, why);
                return;
        }
        if (approval->state != APPROVAL_OPEN)
                return;
        approval->is_unwanted = true;
        if (approval->is_locked)
                return; /* see approval_look_again() */
        approval->is_locked = true;
        if (approval_keep_end(approvals, approval, "approval.withdrawn", &end, approval_ended, approval))
                approval->is_locked = false;
}

static bool approval_is_asker_live(Daemon *daemon, Str asker) {
        for (const Hosted *h = daemon->host ? host_first(daemon->host) : NULL; h; h = h->next) {
                _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
                FleetThing thing;

                if ((h->state == HOSTED_STARTING || h->state == HOSTED_RUNNING) &&
                    (fleet_describe(daemon, h, &arena, &thing) || str_eq(thing.name, asker)))
                        return true;
        }
        return false;
}

/* Whether its asker can still be told. A part of the daemon always can. */
static bool approval_is_left(const Approvals *self, const Approval *approval, int64_t now_us) {
        int64_t since_us = MAX(MAX(approval->asked_us, approval->decided_us), self->ready_us);

        if (approval->way == APPROVAL_BY_CORE || !LIST_EMPTY(&approval->waits) ||
            now_us - since_us < APPROVAL_RETURN_MS * 1000LL)
                return false;
        return approval->way == APPROVAL_BY_HOOK ||
               (!str_is(approval->asker, "user") && !approval_is_asker_live(self->daemon, approval->asker));
}

static bool approvals_sweep_list(Approvals *self, ApprovalList *list, ApprovalState state) {
        int64_t now_us = loop_wall_us(self->daemon->loop);
        Approval *approval, *next;
        bool is_more = false;

        for (approval = TAILQ_FIRST(list); approval; approval = next) {
                next = TAILQ_NEXT(approval, link);
                if (approval->state != state || approval->way == APPROVAL_BY_CORE)
                        continue;
                is_more = true;
                if (approval_is_left(self, approval, now_us))
                        approval_withdraw(self, approval, "nobody waits for it any more");
        }
        return is_more;
}

void approvals_sweep(Approvals *self) {
        bool is_more = approvals_sweep_list(self, &self->open, APPROVAL_OPEN);

        if (approvals_sweep_list(self, &self->over, APPROVAL_ANSWERED) || is_more)
                (void)timer_set(&self->sweep, APPROVAL_SWEEP_MS);
}

static void approvals_drop_asker(Approvals *self, ApprovalList *list, Str asker, const char *why) {
        Approval *approval, *next;

        for (approval = TAILQ_FIRST(list); approval; approval = next) {
                next = TAILQ_NEXT(approval, link);
                if (approval->way != APPROVAL_BY_CORE && str_eq(approval->asker, asker))
                        approval_withdraw(self, approval, why);
        }
}

void approvals_asker_gone(Approvals *approvals, Str asker, const char *why) {
        if (!approvals_are_ready(approvals) || !asker.n)
                return;
        approvals_drop_asker(approvals, &approvals->open, asker, why);
        approvals_drop_asker(approvals, &approvals->over, asker, why);
}

void approval_look_again(Approvals *self, Approval *approval) {
        if (approval->is_unwanted && !approval->is_locked &&
            (approval->state == APPROVAL_OPEN || approval->state == APPROVAL_ANSWERED))
                approval_withdraw(self, approval, "who asked has left");
}

/* ---- told -------------------------------------------------------------------------------------- */

typedef struct ApprovalMessage {
        Str group, event;
} ApprovalMessage;

static void approval_write_message(JsonWriter *w, const void *user) {
        const ApprovalMessage *message = user;

        jw_field_str(w, "group", message->group);
        jw_field_str(w, "event", message->event);
}

/* Whoever has seen the message may answer it: that it is known does not wait for the line, and one that is not kept is found again by
 * its own key. */
void approval_message(Approvals *approvals, Approval *approval, Str group, Str event) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        ApprovalMessage message = {group, event};

        if (approval->told_event.n)
                return;
        approval->told_group = arena_str(&approval->arena, group);
        approval->told_event = arena_str(&approval->arena, event);
        if (!approval_line_about(approvals, "approval.told", approval->id, approval_write_message, &message,
                                 &text))
                (void)docket_append(&approvals->docket, buf_str(&text), STR_NULL, approval->id, NULL, NULL);
}

/* ---- arrived --------------------------------------------------------------------------------- */

typedef struct ApprovalTold {
        Approval *approval;
        ApprovalToldFn done;
        void *user;
} ApprovalTold;

static void approval_told(DocketLine *line, int r) {
        ApprovalTold *told = line->user;
        Approval *approval = told->approval;

        approval->is_delivering = false;
        if (told->done)
                told->done(told->user, !r);
        free(told);
}

static bool approval_can_be_told(const Approval *approval) {
        return !approval->is_delivering && !approval->delivered_us && approval->option.n &&
               (approval->state == APPROVAL_ANSWERED || approval->state == APPROVAL_EXPIRED);
}

void approval_deliver(Approvals *approvals, Approval *approval, Str to, ApprovalToldFn done, void *user) {
        ApprovalEnd end = {.to = to};
        ApprovalTold *told = approval_can_be_told(approval) ? malloc(sizeof(*told)) : NULL;

        if (!told) {
                if (done)
                        done(user, approval->delivered_us && to.n && str_eq(approval->delivered_to, to));
                return;
        }
        *told = (ApprovalTold){.approval = approval, .done = done, .user = user};
        approval->is_delivering = true;
        if (!approval_keep_end(approvals, approval, "approval.delivered", &end, approval_told, told))
                return;
        approval->is_delivering = false;
        free(told);
        if (done)
                done(user, false);
}
