/* SPDX-License-Identifier: MIT */
/* Facts as lines, and how they are written. */
#define LOG_MODULE "collab/delivery"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/time.h"
#include "collab/collab.h"
#include "collab/delivery.h"

static const char *const fact_names[_FACTS] = {
        [FACT_MARK] = "mark",     [FACT_QUEUED] = "queued",     [FACT_HANDING] = "handing",
        [FACT_HANDED] = "handed", [FACT_ACCEPTED] = "accepted", [FACT_REQUEUED] = "requeued",
        [FACT_DOUBT] = "doubt",   [FACT_DROPPED] = "dropped",
};

const char *mail_fact_name(MailFact fact) {
        return fact_names[fact];
}

bool mail_fact_from(Str name, MailFact *ret) {
        for (size_t i = 0; i < _FACTS; i++)
                if (str_is(name, fact_names[i])) {
                        *ret = (MailFact)i;
                        return true;
                }
        return false;
}

bool delivery_classify(Arena *arena, const Json *line, LedgerFacts *facts) {
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
        jw_field_cstr(w, "kind", fact_names[fact]);
}

static void delivery_facts_end_line(FactRecord *record, JsonWriter *w) {
        jw_end_object(w);
        if (!record->r)
                record->r = w->failed ? error_origin(-ENOMEM)
                                      : ledger_change_line(&record->change, buf_str(w->out));
}

void fact_record_add(FactRecord *record, MailFact fact, Str actor, const MailItem *item, const char *why) {
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
        if (why)
                jw_field_cstr(&w, "why", why);
        delivery_facts_end_line(record, &w);
}

void fact_record_mark(FactRecord *record, int64_t ts_us) {
        _cleanup_(buf_deinit) Buf line = BUF_NULL;
        JsonWriter w = JSON_WRITER(&line);

        if (!record)
                return;
        delivery_facts_begin_line(record, &w, FACT_MARK);
        jw_field_int(&w, "after_us", ts_us);
        delivery_facts_end_line(record, &w);
}

void fact_record_cancel(FactRecord *record) {
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
