/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "collab/delivery"

/* Facts as lines, and how they are written. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/time.h"
#include "collab/collab.h"
#include "collab/delivery/delivery.h"

static bool delivery_classify(Arena *arena, const Json *line, LedgerFacts *facts) {
        MailFact fact;

        *facts = (LedgerFacts){.kind = json_str(json_get(line, "kind"))};
        if (!mail_fact_from(facts->kind, &fact))
                return false;
        if (!time_parse(json_str(json_get(line, "ts")), &facts->ts_us))
                facts->ts_us = 0;
        if (fact != FACT_MARK)
                ledger_facts_tag(facts, arena, STR("ev:"), json_str(json_get(line, "event_id")));
        return true;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void delivery_facts_on_recorded(LedgerChange *change, int r) {
        FactRecord *record = container_of(change, FactRecord, change);
        Delivery *delivery = record->delivery;

        if (r)
                log_warning(&delivery->collab->daemon->log, delivery->path, "facts were not kept: %s",
                            strerror(-r));
        if (record->done)
                record->done(record, r);
        free(record);
        delivery_unref(delivery);
}

FactRecord *fact_record_new(Delivery *delivery, Mailbox *mailbox, void (*done)(FactRecord *record, int r)) {
        FactRecord *record = delivery->ledger ? calloc(1, sizeof(*record)) : NULL;

        if (!record)
                return NULL;
        *record = (FactRecord){.delivery = delivery_ref(delivery), .mailbox = mailbox, .done = done};
        ledger_change_init(&record->change, delivery->ledger, delivery_facts_on_recorded);
        return record;
}

static void delivery_facts_begin_line(FactRecord *record, JsonWriter *w, MailFact fact) {
        char ts[TIME_TEXT_MAX];

        time_format_us(ledger_next_ts_us(record->delivery->ledger), ts);
        jw_begin_object(w);
        jw_field_int(w, "v", 1);
        jw_field_cstr(w, "ts", ts);
        jw_field_cstr(w, "kind", mail_fact_name(fact));
}

static void delivery_facts_end_line(FactRecord *record, JsonWriter *w) {
        jw_end_object(w);
        if (!record->r)
                record->r = w->failed ? error_origin(-ENOMEM)
                                      : ledger_change_line(&record->change, buf_str(w->out));
}

void fact_record_add(FactRecord *record, MailFact fact, Str actor, const MailItem *item, MailReason reason) {
        _cleanup_(buf_deinit) Buf line = BUF_NULL;
        JsonWriter w = JSON_WRITER(&line);

        if (!record)
                return;
        delivery_facts_begin_line(record, &w, fact);
        jw_field_cstr(&w, "event_id", item->event_id);
        jw_field_str(&w, "actor_id", actor);
        if (fact == FACT_QUEUED)
                jw_field_cstr(&w, "what", item->what);
        if (fact >= FACT_HANDING && fact <= FACT_ACCEPTED && record->mailbox)
                jw_field_cstr(&w, "session", record->mailbox->session);
        if (reason)
                jw_field_cstr(&w, "why", mail_reason_name(reason));
        delivery_facts_end_line(record, &w);
}

static void delivery_note_mark(Delivery *delivery, int64_t ts_us) {
        if (delivery->first_mark_us < 0)
                delivery->first_mark_us = ts_us;
        delivery->mark_us = ts_us;
}

static void fact_record_mark(FactRecord *record, int64_t ts_us) {
        _cleanup_(buf_deinit) Buf line = BUF_NULL;
        JsonWriter w = JSON_WRITER(&line);

        if (!record)
                return;
        delivery_facts_begin_line(record, &w, FACT_MARK);
        jw_field_int(&w, "after_us", ts_us);
        delivery_facts_end_line(record, &w);
        delivery_note_mark(record->delivery, ts_us);
}

static void fact_record_cancel(FactRecord *record) {
        Delivery *delivery = record ? record->delivery : NULL;

        if (!record)
                return;
        ledger_change_deinit(&record->change);
        free(record);
        delivery_unref(delivery);
}

int fact_record_commit(FactRecord *record) {
        Delivery *delivery;
        int r;

        if (!record)
                return error_origin(-ENOMEM);
        r = record->r ? record->r : ledger_change_commit(&record->change);
        if (!r)
                return 0;
        delivery = record->delivery;
        log_warning(&delivery->collab->daemon->log, delivery->path, "facts cannot be kept: %s",
                    strerror(-r));
        fact_record_cancel(record);
        return r;
}

/* The bound of our own ledger. */
typedef struct Archiving {
        Delivery *delivery;
        uint64_t *positions;
        char *path;
} Archiving;

static void on_archived(void *user, int r) {
        Archiving *self = user;

        if (r)
                log_warning(&self->delivery->collab->daemon->log, self->delivery->path,
                            "cannot be shortened: %s", strerror(-r));
        delivery_unref(self->delivery);
        free(self->positions);
        free(self->path);
        free(self);
}

/* Whether the line says nothing that is still needed: its event is settled, or waits as if nothing had been
 * tried. */
static bool delivery_archive_is_over(const Delivery *delivery, Str text) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        const Mailbox *mailbox;
        const MailItem *item;
        MailFact fact;
        Json *line;

        if (json_parse(&arena, text.data, text.n, NULL, &line, NULL) ||
            !mail_fact_from(json_str(json_get(line, "kind")), &fact) || fact == FACT_MARK)
                return false;
        mailbox = mailbox_find(delivery, json_str(json_get(line, "actor_id")));
        item = mailbox ? mailbox_item(mailbox, json_str(json_get(line, "event_id"))) : NULL;
        return !item || (item->fact == FACT_QUEUED && fact != FACT_QUEUED);
}

static size_t delivery_archive_choose(const Delivery *delivery, LedgerRead *read, uint64_t *positions) {
        size_t n = 0;

        for (size_t i = 0; i + DELIVERY_LINES_KEPT < read->n; i++)
                if (delivery_archive_is_over(delivery, ledger_read_line(read, i)))
                        positions[n++] = i;
        return n;
}

/* How far the group's ledger was judged is known by the facts; from now on also without them. */
static int mark(Delivery *delivery) {
        FactRecord *record = fact_record_new(delivery, NULL, NULL);
        uint64_t n_judged = delivery->lines.position;

        fact_record_mark(record, n_judged ? ledger_entry(delivery->group->ledger, n_judged - 1).ts_us : 0);
        return error_trace(fact_record_commit(record));
}

/* When there are too many facts, those that are over move to an archive, but for the
 * newest. read: all of them, in order. */
static void delivery_shorten(Delivery *delivery, LedgerRead *read) {
        Archiving *self = read->n > DELIVERY_LINES_MAX ? calloc(1, sizeof(*self)) : NULL;
        size_t n;
        int r = 0;

        if (!self)
                return;
        *self = (Archiving){.delivery = delivery_ref(delivery),
                            .positions = malloc(read->n * sizeof(*self->positions)),
                            .path = path_join(delivery->state_path, "archive.jsonl")};
        n = self->positions ? delivery_archive_choose(delivery, read, self->positions) : 0;
        if (!self->positions || !self->path)
                r = error_origin(-ENOMEM);
        if (!r && n)
                r = mark(delivery);
        if (!r && n)
                r = ledger_rewrite(delivery->ledger, self->positions, n, self->path, on_archived, self);
        if (r || !n)
                on_archived(self, r);
}

/* Our own ledger, opened and read back: what waits, and what the last daemon left under way. */
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
                (void)mailbox_push(mailbox, id, json_str(json_get(line, "what")), us, &item);
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
        item->session = str_dup(session);
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
                delivery_note_mark(self->delivery, self->n_mark);
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
                        fact_record_add(record, FACT_DOUBT, str_from(mailbox->actor), item, REASON_NONE);
                        log_warning(&delivery->collab->daemon->log, item->event_id,
                                    "in doubt for %s: a daemon died while it was typed", mailbox->actor);
                        mailbox_remove(mailbox, item);
                } else {
                        fact_record_add(record, FACT_REQUEUED, str_from(mailbox->actor), item, REASON_ENDED);
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

                        self->edge = MAX(self->edge, delivery->lines.position);
                        fact_record_mark(record,
                                         self->edge ? ledger_entry(group->ledger, self->edge - 1).ts_us : 0);
                        (void)fact_record_commit(record);
                }
                delivery->lines.position = self->edge;
                delivery->is_ready = true;
                for (Mailbox *mailbox = delivery->mailboxes; mailbox; mailbox = mailbox->next) {
                        settle_mailbox(mailbox);
                        mailbox_kick(mailbox);
                }
                follower_go_on(&delivery->lines);
                delivery_shorten(delivery, &self->read);
        } else if (r) {
                delivery->is_failed = true;
                log_err(&delivery->collab->daemon->log, delivery->path, "cannot be read: %s", strerror(-r));
        }
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

        if (!self) {
                delivery->is_failed = true;
                log_err(&delivery->collab->daemon->log, delivery->path, "cannot be opened: %s",
                        strerror(r ? -r : ENOMEM));
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
                                 .totals = &delivery->collab->daemon->ledgers,
                                 .path = delivery->path,
                                 .state_path = delivery->state_path,
                                 .policy = LEDGER_INTERVAL,
                                 .classify = delivery_classify,
                                 .committed = delivery_replay_on_committed,
                                 .user = delivery_ref(delivery)};
        int r;

        r = ledger_open(&delivery->ledger, &options, delivery_replay_on_opened);
        if (r)
                delivery_unref(delivery);
        return error_trace(r);
}
