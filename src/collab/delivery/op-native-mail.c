/* SPDX-License-Identifier: MIT */
/*
 * group.mail: what is queued for whom, since when and why; and for each of the last messages what is known
 * of it per recipient. What was typed stands in our own ledger, what was read and answered in the group's.
 */
#include <errno.h>

#include "base/error.h"
#include "base/time.h"
#include "base/utf8.h"
#include "collab/collab.h"
#include "collab/delivery/delivery.h"
#include "collab/group/events.h"
#include "collab/message/inbox.h"
#include "collab/group/lines.h"
#include "gen/native-ops.h"

enum { MAIL_FACTS_MAX = 20000 }; /* of all messages together; those of older ones are left out */
enum { TEXT_SHOWN = 200 };       /* characters of each message */

typedef struct Mail { /* in the call's arena */
        Carry carry;
        Call *call;
        Group *group;
        const NativeGroupMailArgs *args;
        const Json **events; /* newest first */
        uint64_t *positions;
        size_t n;
        uint64_t *facts;             /* positions in our own ledger */
        size_t n_facts, n_looked_up; /* of how many events all facts are among them */
        const Json **lines;
        size_t n_lines;
        Delivery *delivery; /* while its facts are read */
        LedgerRead read;
} Mail;

static Str native_mail_id_of(const Json *event) {
        return json_str(json_get(event, "id"));
}

/* ---- the queues ------------------------------------------------------------------------------ */

static void native_mail_write_item(JsonWriter *w, const MailItem *item) {
        char since[TIME_TEXT_MAX];

        time_format_us(item->queued_us, since);
        jw_begin_object(w);
        jw_field_cstr(w, "event_id", item->event_id);
        jw_field_cstr(w, "what", item->what);
        jw_field_cstr(w, "since", since);
        jw_end_object(w);
}

static void native_mail_write_mailbox(JsonWriter *w, const Mailbox *mailbox) {
        jw_begin_object(w);
        jw_field_cstr(w, "actor_id", mailbox->actor);
        jw_field_cstr(w, "why", mailbox_why(mailbox));
        if (*mailbox->in_front)
                jw_field_cstr(w, "program", mailbox->in_front);
        jw_key(w, "queued");
        jw_begin_array(w);
        for (const MailItem *item = mailbox->items; item; item = item->next)
                native_mail_write_item(w, item);
        jw_end_array(w);
        jw_end_object(w);
}

static void write_mailboxes(JsonWriter *w, const Group *group) {
        const Delivery *delivery = delivery_of(group);

        jw_key(w, "mailboxes");
        jw_begin_array(w);
        for (const Mailbox *mailbox = delivery ? delivery->mailboxes : NULL; mailbox;
             mailbox = mailbox->next)
                if (mailbox->items)
                        native_mail_write_mailbox(w, mailbox);
        jw_end_array(w);
}

/* ---- the facts ------------------------------------------------------------------------------- */

static const Json *native_mail_line(const Mail *mail, size_t i, Str event_id, Str actor) {
        const Json *line = mail->lines[i];

        return str_eq(json_str(json_get(line, "event_id")), event_id) &&
                               str_eq(json_str(json_get(line, "actor_id")), actor)
                       ? line
                       : NULL;
}

/* Of each fact the latest time; of the last one its name, too, and why. False: there is none. */
static bool native_mail_write_facts(JsonWriter *w, const Mail *mail, Str event_id, Str actor) {
        const Json *latest[_FACTS] = {0}, *last = NULL;
        MailFact fact;

        for (size_t i = 0; i < mail->n_lines; i++) {
                const Json *line = native_mail_line(mail, i, event_id, actor);

                if (line && mail_fact_from(json_str(json_get(line, "kind")), &fact))
                        last = latest[fact] = line;
        }
        for (int i = FACT_QUEUED; i < _FACTS; i++)
                if (latest[i])
                        jw_field_str(w, mail_fact_name((MailFact)i), json_str(json_get(latest[i], "ts")));
        if (!last)
                return false;
        jw_field_str(w, "fact", json_str(json_get(last, "kind")));
        if (json_get(last, "why"))
                jw_field_str(w, "why", json_str(json_get(last, "why")));
        return true;
}

/* What is queued may not have been written down yet. */
static bool native_mail_write_queued(JsonWriter *w, const Mail *mail, Str event_id, Str actor) {
        const Delivery *delivery = delivery_of(mail->group);
        const Mailbox *mailbox = delivery ? mailbox_find(delivery, actor) : NULL;
        const MailItem *item = mailbox ? mailbox_item(mailbox, event_id) : NULL;
        char ts[TIME_TEXT_MAX];

        if (!item)
                return false;
        time_format_us(item->queued_us, ts);
        jw_field_cstr(w, mail_fact_name(FACT_QUEUED), ts);
        jw_field_cstr(w, "fact", mail_fact_name(FACT_QUEUED));
        return true;
}

static MailReason native_mail_never(const Mail *mail, size_t i, const ActorView *actor) {
        MailReason reason = delivery_never(mail->group, mail->positions[i], mail->events[i], actor);
        Str tag = event_tag(&mail->call->arena, "ev:", native_mail_id_of(mail->events[i]));

        if (reason <= REASON_BEFORE)
                return reason;
        if (i >= mail->n_looked_up)
                return REASON_UNREAD;
        return ledger_is_tag_pending(delivery_of(mail->group)->ledger, tag) ? REASON_NOT_JUDGED : reason;
}

static void native_mail_write_typed(JsonWriter *w, const Mail *mail, size_t i, const ActorView *actor) {
        Str event_id = native_mail_id_of(mail->events[i]);

        if (!native_mail_write_facts(w, mail, event_id, actor->id) &&
            !native_mail_write_queued(w, mail, event_id, actor->id))
                jw_field_cstr(w, "why", mail_reason_name(native_mail_never(mail, i, actor)));
}

static void native_mail_write_answer(JsonWriter *w, const Mail *mail, Str event_id, Str actor,
                                     const char *kind, const char *key) {
        const Ledger *ledger = mail->group->ledger;
        Arena *arena = &mail->call->arena;
        LedgerTag re = ledger_tag(ledger, event_tag(arena, "re:", event_id)),
                  by = ledger_tag(ledger, event_tag(arena, "by:", actor));
        LedgerCursor cursor;
        uint64_t position;
        char ts[TIME_TEXT_MAX];

        if (ledger_tag_is_none(re) || ledger_tag_is_none(by) ||
            ledger_cursor_init(&cursor, ledger, &re, 1, 0, false))
                return;
        while (ledger_cursor_next(&cursor, &position)) {
                LedgerEntry entry = ledger_entry(ledger, position);

                if (!str_is(entry.kind, kind) || !ledger_has_tag(ledger, position, by))
                        continue;
                time_format_us(entry.ts_us, ts);
                jw_field_cstr(w, key, ts);
                return;
        }
}

static void write_recipient(JsonWriter *w, const Mail *mail, size_t i, const ActorView *to) {
        Str actor = to->id, event_id = native_mail_id_of(mail->events[i]);

        jw_begin_object(w);
        jw_field_str(w, "actor_id", actor);
        native_mail_write_typed(w, mail, i, to);
        jw_field_bool(w, "read", inbox_start(mail->group, actor) > mail->positions[i]);
        native_mail_write_answer(w, mail, event_id, actor, "chat.ack", "acknowledged");
        native_mail_write_answer(w, mail, event_id, actor, "chat.message", "replied");
        jw_end_object(w);
}

static void write_message(JsonWriter *w, const Mail *mail, size_t i) {
        const GroupDoc *doc = mail->group->doc;
        const Json *event = mail->events[i];

        jw_begin_object(w);
        jw_field_str(w, "event_id", native_mail_id_of(event));
        jw_field_str(w, "by", json_str(json_get(event, "by")));
        jw_field_str(w, "stored", json_str(json_get(event, "ts")));
        jw_field_str(w, "text", utf8_first(json_str(json_get(json_get(event, "data"), "text")), TEXT_SHOWN));
        jw_key(w, "recipients");
        jw_begin_array(w);
        for (size_t j = 0; j < doc->n_actors; j++)
                if (inbox_shows(doc, event, doc->actors[j].id, false))
                        write_recipient(w, mail, i, &doc->actors[j]);
        jw_end_array(w);
        jw_end_object(w);
}

static int native_mail_answer(const Mail *mail) {
        JsonWriter *w = call_result(mail->call);

        jw_begin_object(w);
        jw_field_cstr(w, "group_id", mail->group->id);
        jw_field_cstr(w, "state", group_state_name(mail->group->doc->state));
        jw_field_cstr(w, "delivery", delivery_state(mail->group));
        write_mailboxes(w, mail->group);
        jw_key(w, "messages");
        jw_begin_array(w);
        for (size_t i = mail->n; i; i--)
                write_message(w, mail, i - 1);
        jw_end_array(w);
        jw_end_object(w);
        return 0;
}

/* ---- our own ledger -------------------------------------------------------------------------- */

static int take_facts(Mail *mail) {
        mail->lines = arena_alloc(&mail->call->arena, (mail->n_facts + 1) * sizeof(*mail->lines));
        for (size_t i = 0; mail->lines && i < mail->read.n; i++) {
                Str text = arena_str(&mail->call->arena, ledger_read_line(&mail->read, i));
                Json *line;

                if (text.data && !json_parse(&mail->call->arena, text.data, text.n, NULL, &line, NULL))
                        mail->lines[mail->n_lines++] = line;
        }
        return mail->lines ? 0 : error_origin(-ENOMEM);
}

static int end_read(Mail *mail, int r) {
        if (r == -ESTALE) /* just shortened: without them */
                r = 0, mail->n_looked_up = 0;
        else if (!r)
                r = take_facts(mail);
        ledger_read_deinit(&mail->read);
        delivery_unref(mail->delivery);
        return r ? r : native_mail_answer(mail);
}

static void native_mail_on_read(LedgerRead *read, int r) {
        Mail *mail = container_of(read, Mail, read);
        Call *call = mail->call;
        Group *group = mail->group;

        r = end_read(mail, r);
        call_finish(call, r);
        group_unref(group);
}

static void find_facts(Mail *mail) {
        const Ledger *ledger = mail->delivery->ledger;

        for (size_t i = 0; i < mail->n; i++) {
                LedgerTag tag = ledger_tag(
                        ledger, event_tag(&mail->call->arena, "ev:", native_mail_id_of(mail->events[i])));
                LedgerCursor cursor;

                if (!ledger_tag_is_none(tag) && !ledger_cursor_init(&cursor, ledger, &tag, 1, 0, false))
                        while (mail->n_facts < MAIL_FACTS_MAX &&
                               ledger_cursor_next(&cursor, &mail->facts[mail->n_facts]))
                                mail->n_facts++;
                if (mail->n_facts == MAIL_FACTS_MAX)
                        return;
                mail->n_looked_up = i + 1;
        }
}

static int read_facts(Mail *mail) {
        int r;

        mail->facts = arena_alloc(&mail->call->arena, (MAIL_FACTS_MAX + 1) * sizeof(*mail->facts));
        if (!mail->facts)
                return error_origin(-ENOMEM);
        find_facts(mail);
        delivery_ref(mail->delivery);
        mail->read = (LedgerRead){.done = native_mail_on_read};
        r = mail->n_facts ? ledger_read(mail->delivery->ledger, &mail->read, mail->facts, mail->n_facts) : 0;
        if (r != LEDGER_LATER)
                return end_read(mail, r);
        group_ref(mail->group);
        return CALL_LATER;
}

/* ---- the messages ---------------------------------------------------------------------------- */

static int got_messages(Call *call, Group *group, const LedgerRead *lines, const Carry *carry) {
        Mail *mail = container_of(carry, Mail, carry);
        size_t n = 0;

        for (size_t i = 0; lines && i < lines->n; i++) {
                Str text = arena_str(&call->arena, ledger_read_line(lines, i));
                Json *event;

                if (!text.data || json_parse(&call->arena, text.data, text.n, NULL, &event, NULL))
                        continue;
                mail->positions[n] = mail->positions[i];
                mail->events[n++] = event;
        }
        mail->n = n;
        mail->group = group;
        mail->delivery = delivery_of(group);
        return mail->delivery && mail->delivery->is_ready ? read_facts(mail) : native_mail_answer(mail);
}

static int native_mail_list_again(Call *call, Group *group, const Carry *carry) {
        const Mail *mail = container_of(carry, Mail, carry);

        return op_native_group_mail(call, group, mail->args);
}

int op_native_group_mail(Call *call, Group *group, const NativeGroupMailArgs *args) {
        size_t n_max = (size_t)args->limit;
        Mail *mail = arena_alloc(&call->arena, sizeof(*mail));
        uint64_t at = ledger_n_committed(group->ledger);

        if (!mail)
                return error_origin(-ENOMEM);
        *mail = (Mail){.call = call, .group = group, .args = args};
        mail->positions = arena_alloc(&call->arena, (n_max + 1) * sizeof(*mail->positions));
        mail->events = arena_alloc(&call->arena, (n_max + 1) * sizeof(*mail->events));
        if (!mail->positions || !mail->events)
                return error_origin(-ENOMEM);
        while (at-- && mail->n < n_max)
                if (str_is(ledger_entry(group->ledger, at).kind, "chat.message"))
                        mail->positions[mail->n++] = at;
        if (!mail->n)
                return got_messages(call, group, NULL, &mail->carry);
        return lines_read(call, group, mail->positions, mail->n, got_messages, native_mail_list_again,
                          &mail->carry);
}
