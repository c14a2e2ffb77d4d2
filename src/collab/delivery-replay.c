/* SPDX-License-Identifier: MIT */
/* Our own ledger, opened and read back: what waits, and what the last daemon left under way. */
#define LOG_MODULE "collab/delivery"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/time.h"
#include "collab/collab.h"
#include "collab/delivery.h"

typedef struct Replay {
        Delivery *delivery;
        LedgerRead read;
        uint64_t *positions;
        size_t n;
        uint64_t edge;  /* of the group's ledger: what comes before it was judged */
        int64_t n_mark; /* -1: none */
} Replay;

static void see_event(Replay *self, Str event_id) {
        uint64_t position;

        if (!ledger_find_id(self->delivery->group->ledger, event_id, &position) && position >= self->edge)
                self->edge = position + 1;
}

static void delivery_replay_apply(Replay *self, MailFact fact, const Json *line, Mailbox *mailbox) {
        Str id = json_str(json_get(line, "event_id")), session = json_str(json_get(line, "session"));
        MailItem *item = mailbox_item(mailbox, id);
        int64_t us = 0;

        if (fact == FACT_QUEUED && !item) {
                time_parse(json_str(json_get(line, "ts")), &us);
                mailbox_push(mailbox, id, json_str(json_get(line, "what")), us);
                see_event(self, id);
                return;
        }
        if (!item)
                return;
        if (fact == FACT_ACCEPTED || fact >= FACT_DOUBT) {
                mailbox_remove(mailbox, item);
                return;
        }
        item->fact = fact == FACT_REQUEUED ? FACT_QUEUED : fact;
        free(item->session);
        item->session = strndup(session.data ? session.data : "", session.n);
}

static void replay_line(Replay *self, Str text) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Json *line;
        MailFact fact;
        Mailbox *mailbox;

        if (json_parse(&arena, text.data, text.n, NULL, &line, NULL) ||
            !mail_fact_from(json_str(json_get(line, "kind")), &fact))
                return;
        if (fact == FACT_MARK) {
                int64_t made_us = INT64_MAX;

                (void)time_parse(json_str(json_get(line, "ts")), &made_us);
                json_int64(json_get(line, "after_us"), &self->n_mark);
                if (self->delivery->group)
                        self->n_mark = group_past_us(self->delivery->group, self->n_mark, made_us);
                return;
        }
        see_event(self, json_str(json_get(line, "event_id")));
        mailbox = mailbox_get(self->delivery, json_str(json_get(line, "actor_id")));
        if (mailbox)
                delivery_replay_apply(self, fact, line, mailbox);
}

/* What was under way when the last daemon ended. */
static void settle_mailbox(Mailbox *mailbox) {
        Delivery *delivery = mailbox->delivery;
        Runner *runner = mailbox_runner(mailbox);
        FactRecord *record = fact_record_new(delivery, mailbox, NULL);
        char session[48] = "";
        bool is_changed = false;

        if (runner)
                runner_session(runner, session);
        for (MailItem *item = mailbox->items, *next; item; item = next) {
                bool is_same = item->session && *session && !strcmp(item->session, session);

                next = item->next;
                if (item->fact == FACT_QUEUED)
                        continue;
                is_changed = true;
                if (is_same && item->fact == FACT_HANDED) {
                        item->is_typing = true; /* only the key is missing */
                } else if (is_same) {
                        fact_record_add(record, FACT_DOUBT, str_from(mailbox->actor), item, NULL);
                        log_warning(&delivery->collab->daemon->log, item->event_id,
                                    "in doubt for %s: a daemon died while it was typed", mailbox->actor);
                        mailbox_remove(mailbox, item);
                } else {
                        fact_record_add(record, FACT_REQUEUED, str_from(mailbox->actor), item,
                                        "session ended");
                        item->fact = FACT_QUEUED;
                }
        }
        if (is_changed)
                (void)fact_record_commit(record);
        else
                fact_record_cancel(record);
}

static void ready(Replay *self, int r) {
        Delivery *delivery = self->delivery;
        Group *group = delivery->group;

        if (!r && group) {
                for (size_t i = 0; i < self->n && i < self->read.n; i++)
                        replay_line(self, ledger_read_line(&self->read, i));
                if (self->n_mark >= 0)
                        self->edge = MAX(self->edge, ledger_first_after_ts(group->ledger, self->n_mark));
                else { /* nothing of what was there before is typed */
                        FactRecord *record = fact_record_new(delivery, NULL, NULL);

                        self->edge = MAX(self->edge, delivery->edge);
                        fact_record_mark(record,
                                         self->edge ? ledger_entry(group->ledger, self->edge - 1).ts_us : 0);
                        (void)fact_record_commit(record);
                }
                delivery->edge = self->edge;
                delivery->is_ready = true;
                for (Mailbox *mailbox = delivery->mailboxes; mailbox; mailbox = mailbox->next) {
                        settle_mailbox(mailbox);
                        mailbox_kick(mailbox);
                }
                deferred_schedule(&delivery->pump);
                delivery_shorten(delivery, &self->read);
        } else if (r)
                log_err(&delivery->collab->daemon->log, delivery->path, "cannot be read: %s", strerror(-r));
        ledger_read_deinit(&self->read);
        free(self->positions);
        free(self);
        delivery_unref(delivery);
}

static void delivery_replay_on_read(LedgerRead *read, int r) {
        ready(container_of(read, Replay, read), r);
}

static void delivery_replay_on_opened(void *user, int r) {
        Delivery *delivery = user;
        Replay *self = r ? NULL : calloc(1, sizeof(*self));
        uint64_t n;

        delivery->is_opening = false;
        if (!self) {
                log_err(&delivery->collab->daemon->log, delivery->path, "cannot be opened");
                delivery_unref(delivery);
                return;
        }
        n = ledger_n_committed(delivery->ledger);
        *self = (Replay){
                .delivery = delivery, .read.done = delivery_replay_on_read, .n = (size_t)n, .n_mark = -1};
        self->positions = malloc(((size_t)n + 1) * sizeof(*self->positions));
        for (uint64_t i = 0; self->positions && i < n; i++)
                self->positions[i] = i;
        r = self->positions ? ledger_read(delivery->ledger, &self->read, self->positions, self->n)
                            : error_origin(-ENOMEM);
        if (r != LEDGER_LATER)
                ready(self, r);
}

static void delivery_replay_on_committed(_unused_ void *user, _unused_ uint64_t first, _unused_ uint64_t n) {
}

int delivery_open(Delivery *delivery) {
        LedgerOptions options = {.loop = delivery->collab->daemon->loop,
                                 .path = delivery->path,
                                 .state_path = delivery->state_path,
                                 .policy = LEDGER_INTERVAL,
                                 .classify = delivery_classify,
                                 .committed = delivery_replay_on_committed,
                                 .user = delivery_ref(delivery)};
        int r;

        delivery->is_opening = true;
        r = ledger_open(&delivery->ledger, &options, delivery_replay_on_opened);
        if (r) {
                delivery->is_opening = false;
                delivery_unref(delivery);
        }
        return error_trace(r);
}
