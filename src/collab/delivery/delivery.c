/* SPDX-License-Identifier: MIT */
/* Which events have to be typed for whom, and the life of a group's delivery. */
#define LOG_MODULE "collab/delivery"

#include "collab/delivery/delivery.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/time.h"
#include "collab/collab.h"
#include "collab/message/inbox.h"

Delivery *delivery_of(const Group *group) {
        return group->slots[GROUP_SLOT_DELIVERY];
}

Delivery *delivery_ref(Delivery *delivery) {
        delivery->n_refs++;
        return delivery;
}

void delivery_unref(Delivery *delivery) {
        if (--delivery->n_refs)
                return;
        while (delivery->mailboxes) {
                Mailbox *next = delivery->mailboxes->next;
                mailbox_free(delivery->mailboxes);
                delivery->mailboxes = next;
        }
        delivery->collab->n_deliveries--;
        free(delivery->path);
        free(delivery->state_path);
        free(delivery->sent_path);
        free(delivery);
}

bool delivery_is_live(const Delivery *delivery) {
        return delivery->group && !delivery->group->is_deleting && !delivery->collab->daemon->is_stopping;
}

static int64_t delivery_wall_us(const Delivery *delivery) {
        return loop_wall_us(delivery->collab->daemon->loop);
}

static bool has_terminals(const GroupDoc *doc) {
        for (size_t i = 0; i < doc->n_actors; i++)
                if (str_is(doc->actors[i].runner, "pty"))
                        return true;
        return false;
}

const char *delivery_state(const Group *group) {
        const Delivery *delivery = delivery_of(group);

        if (!delivery)
                return has_terminals(group->doc) ? "failed" : "none";
        return delivery->is_failed ? "failed" : delivery->is_ready ? "open" : "opening";
}

/* ---- judging --------------------------------------------------------------------------------- */

static bool is_loud(const Json *event) {
        Str priority = json_str(json_get(json_get(event, "data"), "priority"));

        return str_is(priority, "high") || str_is(priority, "urgent");
}

/* The facts of one turn go together; NULL without memory. */
static FactRecord *delivery_record(Delivery *delivery) {
        if (!delivery->judging)
                delivery->judging = fact_record_new(delivery, NULL, NULL);
        return delivery->judging;
}

/* Says what is lost where people look; as a fact only if it has an id by which it can be found. */
static void delivery_lose(Delivery *delivery, Str actor, Str event_id, MailReason reason) {
        char id[DELIVERY_ID_MAX + 1] = "";
        MailItem lost = {.event_id = id, .what = id};

        memcpy(id, event_id.data ? event_id.data : "", MIN(event_id.n, (size_t)DELIVERY_ID_MAX));
        log_warning(&delivery->collab->daemon->log, delivery->group->id,
                    "a message is not typed: %s actor=" STR_FMT " event=%s", mail_reason_name(reason),
                    STR_ARG(actor), id);
        if (!mail_id_fault(event_id))
                fact_record_add(delivery_record(delivery), FACT_DROPPED, actor, &lost, reason);
}

static void delivery_queue(Delivery *delivery, Str actor, Str event_id, Str what) {
        Mailbox *mailbox = mailbox_get(delivery, actor);
        MailItem *item = mailbox ? mailbox_item(mailbox, event_id) : NULL;
        MailReason reason;

        if (item)
                return;
        reason = mailbox ? mailbox_push(mailbox, event_id, what, delivery_wall_us(delivery), &item)
                         : REASON_MEMORY;
        if (reason) {
                delivery_lose(delivery, actor, event_id, reason);
                return;
        }
        fact_record_add(delivery_record(delivery), FACT_QUEUED, actor, item, REASON_NONE);
        mailbox_kick(mailbox);
}

static void delivery_on_judged(LedgerFollower *lines) {
        Delivery *delivery = container_of(lines, Delivery, lines);

        if (delivery->judging)
                (void)fact_record_commit(steal(&delivery->judging));
}

/* Why nothing of that time is typed to this actor. */
static MailReason delivery_cannot(const ActorView *actor, int64_t ts_us) {
        if (!str_is(actor->runner, "pty"))
                return REASON_HEADLESS;
        return actor->created_us > ts_us ? REASON_ADDED_LATER : REASON_NONE;
}

static void delivery_judge(LedgerFollower *lines, LedgerLine *line) {
        Delivery *delivery = container_of(lines, Delivery, lines);
        const GroupDoc *doc = delivery->group->doc;
        bool is_notice = str_is(line->entry.kind, "system.notify");
        const Json *event;
        int64_t ts_us = 0;
        Str what;

        if (!has_terminals(doc) || !(event = ledger_line_json(line)) || (is_notice && !is_loud(event)))
                return;
        what = is_notice ? json_str(json_get(json_get(event, "data"), "kind")) : STR("chat");
        time_parse(json_str(json_get(event, "ts")), &ts_us);
        for (size_t i = 0; i < doc->n_actors; i++)
                if (!delivery_cannot(&doc->actors[i], ts_us) &&
                    inbox_shows(doc, event, doc->actors[i].id, false))
                        delivery_queue(delivery, doc->actors[i].id, json_str(json_get(event, "id")),
                                       what.n ? what : STR("info"));
}

static bool delivery_is_judged(_unused_ const LedgerFollower *lines, const LedgerEntry *entry) {
        return !entry->is_repeated &&
               (str_is(entry->kind, "chat.message") || str_is(entry->kind, "system.notify"));
}

static bool delivery_judges(const LedgerFollower *lines) {
        const Delivery *delivery = container_of(lines, Delivery, lines);

        return delivery_is_live(delivery) && delivery->is_ready;
}

/* The same questions as the judge's, in its order; then where it stands. */
MailReason delivery_never(const Group *group, uint64_t position, const Json *event, const ActorView *actor) {
        const Delivery *delivery = delivery_of(group);
        LedgerEntry entry;
        MailReason reason;
        int64_t ts_us = 0;

        time_parse(json_str(json_get(event, "ts")), &ts_us);
        reason = delivery_cannot(actor, ts_us);
        if (!reason)
                reason = mail_id_fault(json_str(json_get(event, "id")));
        if (reason)
                return reason;
        if (!delivery || delivery->is_failed)
                return REASON_NOT_OPEN;
        if (!delivery->is_ready ||
            position >= MIN(delivery->lines.position, ledger_n_committed(group->ledger)))
                return REASON_NOT_JUDGED;
        entry = ledger_entry(group->ledger, position);
        if (entry.is_repeated)
                return REASON_REPEATED;
        if (entry.ts_us <= delivery->first_mark_us)
                return REASON_BEFORE;
        return entry.ts_us <= delivery->mark_us ? REASON_ARCHIVED : REASON_OTHERS;
}

/* They are tried again with the next commit. */
static bool delivery_on_unread(LedgerFollower *lines, int r) {
        const Delivery *delivery = container_of(lines, Delivery, lines);

        log_warning(&delivery->collab->daemon->log, delivery->path, "cannot read new events: %s",
                    strerror(-r));
        return false;
}

static const LedgerFollowerType delivery_lines = {
        .n_lines = FOLLOWER_LINES,
        .n_bytes = FOLLOWER_BYTES,
        .is_ready = delivery_judges,
        .wants = delivery_is_judged,
        .take = delivery_judge,
        .taken = delivery_on_judged,
        .failed = delivery_on_unread,
};

void delivery_queue_notice(Group *group, Str actor, Str event_id, Str kind) {
        Delivery *delivery = delivery_of(group);

        if (!delivery || !delivery->is_ready)
                return;
        delivery_queue(delivery, actor, event_id, kind);
        delivery_on_judged(&delivery->lines);
}

/* ---- life ------------------------------------------------------------------------------------ */

static int delivery_make(Group *group) {
        Delivery *delivery = calloc(1, sizeof(*delivery));
        int r;

        if (!delivery)
                return error_origin(-ENOMEM);
        *delivery = (Delivery){.collab = group->collab,
                               .group = group,
                               .n_refs = 1,
                               .first_mark_us = -1,
                               .mark_us = -1,
                               .path = path_join(group->dir, "state/delivery.jsonl"),
                               .state_path = path_join(group->dir, "state/delivery"),
                               .sent_path = path_join(group->dir, "state/preamble_sent.json")};
        follower_start(&delivery->lines, &delivery_lines, group->ledger, ledger_n_committed(group->ledger));
        group->collab->n_deliveries++;
        r = delivery->path && delivery->state_path && delivery->sent_path ? delivery_open(delivery)
                                                                          : error_origin(-ENOMEM);
        if (r) {
                follower_stop(&delivery->lines);
                delivery_unref(delivery);
        } else
                group->slots[GROUP_SLOT_DELIVERY] = delivery;
        return error_trace(r);
}

static int delivery_on_group_opened(Group *group) {
        return has_terminals(group->doc) ? delivery_make(group) : 0;
}

static void delivery_on_closed(void *user) {
        delivery_unref(user);
}

static void delivery_on_group_closed(Group *group) {
        Delivery *delivery = steal(&group->slots[GROUP_SLOT_DELIVERY]);

        if (!delivery)
                return;
        follower_stop(&delivery->lines);
        delivery->group = NULL;
        delivery->is_ready = false;
        for (Mailbox *mailbox = delivery->mailboxes; mailbox; mailbox = mailbox->next) {
                timer_clear(&mailbox->timer);
                viewer_detach(&mailbox->viewer);
        }
        if (delivery->ledger)
                ledger_close(steal(&delivery->ledger), delivery_on_closed, delivery);
        else
                delivery_unref(delivery);
}

/* Something waits to be typed, or it is not known yet whether something does. */
static bool delivery_is_busy(const Group *group) {
        const Delivery *delivery = delivery_of(group);

        if (!delivery || delivery->is_failed) /* opened once more with the group */
                return false;
        for (const Mailbox *mailbox = delivery->mailboxes; mailbox; mailbox = mailbox->next)
                if (mailbox->items)
                        return true;
        return !delivery->is_ready || follower_is_behind(&delivery->lines);
}

static bool delivery_is_any(_unused_ const MailItem *item) {
        return true;
}

static void delivery_on_group_changed(Group *group, const GroupDoc *old) {
        Delivery *delivery = delivery_of(group);
        bool is_awake = old->state != GROUP_ACTIVE && group->doc->state == GROUP_ACTIVE;

        if (!delivery && has_terminals(group->doc) && delivery_make(group))
                log_err(&group->collab->daemon->log, group->id, "nothing can be delivered");
        if (!delivery || !delivery->is_ready)
                return;
        for (Mailbox *mailbox = delivery->mailboxes; mailbox; mailbox = mailbox->next) {
                const ActorView *actor = group_doc_actor(group->doc, str_from(mailbox->actor));

                if (!actor || !str_is(actor->runner, "pty"))
                        mailbox_drop(mailbox, delivery_is_any, actor ? REASON_NO_TERMINAL : REASON_REMOVED);
                else if (is_awake)
                        mailbox_drop(mailbox, mail_item_is_automation, REASON_ACTIVE);
                mailbox_kick(mailbox);
        }
}

static void delivery_on_actor_changed(Collab *collab, Str group_id, Str actor) {
        Group *group = group_find(collab, group_id);
        Delivery *delivery = group ? delivery_of(group) : NULL;
        Mailbox *mailbox = delivery ? mailbox_find(delivery, actor) : NULL;

        if (mailbox)
                mailbox_kick(mailbox);
}

/* ---- group_delete ---------------------------------------------------------------------------- */

typedef struct StopWait {
        LedgerChange barrier;
        void (*stopped)(void *user);
        void *user;
} StopWait;

static void delivery_on_settled(LedgerChange *change, _unused_ int r) {
        StopWait *wait = container_of(change, StopWait, barrier);

        wait->stopped(wait->user);
        free(wait);
}

/* Nothing new is typed or written while it is being deleted; what is on its way is waited for. */
static void on_group_stop(Group *group, void (*stopped)(void *user), void *user) {
        Delivery *delivery = delivery_of(group);
        StopWait *wait = delivery && delivery->is_ready ? calloc(1, sizeof(*wait)) : NULL;

        if (!wait) {
                stopped(user);
                return;
        }
        *wait = (StopWait){.stopped = stopped, .user = user};
        ledger_change_init(&wait->barrier, delivery->ledger, delivery_on_settled);
        if (!ledger_change_commit(&wait->barrier))
                return;
        ledger_change_deinit(&wait->barrier);
        free(wait);
        stopped(user);
}

/* ---- debug_snapshot -------------------------------------------------------------------------- */

static void delivery_write_mailbox(const Mailbox *mailbox, JsonWriter *w) {
        char ts[TIME_TEXT_MAX];

        time_format_us(mailbox->items->queued_us, ts);
        jw_begin_object(w);
        jw_field_uint(w, "pending", mailbox->n_items);
        jw_field_cstr(w, "since", ts);
        jw_field_cstr(w, "why", mailbox_why(mailbox));
        jw_end_object(w);
}

static void write_debug(const Group *group, JsonWriter *w) {
        const Delivery *delivery = delivery_of(group);
        size_t n = 0;

        jw_begin_object(w);
        jw_field_cstr(w, "group_id", group->id);
        jw_key(w, "actors");
        jw_begin_object(w);
        for (const Mailbox *mailbox = delivery ? delivery->mailboxes : NULL; mailbox;
             mailbox = mailbox->next) {
                if (!mailbox->items)
                        continue;
                jw_key_str(w, str_from(mailbox->actor));
                delivery_write_mailbox(mailbox, w);
                n += mailbox->n_items;
        }
        jw_end_object(w);
        jw_field_uint(w, "pending_total", n);
        jw_end_object(w);
}

const CollabPart delivery_part = {
        .name = "delivery",
        .group_opened = delivery_on_group_opened,
        .group_closed = delivery_on_group_closed,
        .group_is_busy = delivery_is_busy,
        .group_changed = delivery_on_group_changed,
        .actor_changed = delivery_on_actor_changed,
        .group_stop = on_group_stop,
        .write_debug = write_debug,
};
