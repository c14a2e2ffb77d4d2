/* SPDX-License-Identifier: MIT */
/* Making the text, writing down that it will be typed, typing it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "collab/collab.h"
#include "collab/delivery/delivery-text.h"
#include "collab/delivery/delivery.h"
#include "collab/group/actor-sandbox.h"
#include "core/tools.h"

enum { PREAMBLE_MAX = 64 << 10 }; /* bytes of CCCC_PREAMBLE.md; a longer one is not used */

void mailbox_phase(Mailbox *mailbox, MailPhase phase, int64_t after_ms) {
        mailbox->phase = phase;
        if (phase == MAIL_WAITING)
                mailbox_end_offer(mailbox, STR_NULL);
        if (after_ms >= 0)
                (void)timer_set(&mailbox->timer, after_ms);
        else
                timer_clear(&mailbox->timer);
}

static void back_off(Mailbox *mailbox) {
        mailbox->failed_ms = loop_now_ms(mailbox->delivery->collab->daemon->loop);
        mailbox->is_preamble = false;
        mailbox_phase(mailbox, MAIL_WAITING, 0);
}

void mailbox_record_typing(Mailbox *mailbox, MailFact fact, MailReason reason) {
        FactRecord *record = NULL;

        for (MailItem *item = mailbox->items; item; item = item->next) {
                if (!item->is_typing)
                        continue;
                if (!record)
                        record = fact_record_new(mailbox->delivery, mailbox, NULL);
                fact_record_add(record, fact, str_from(mailbox->actor), item, reason);
                item->fact = fact;
        }
        if (record)
                (void)fact_record_commit(record);
}

void mailbox_requeue(Mailbox *mailbox, MailReason reason) {
        bool is_failed = reason == REASON_BLOCKED || reason == REASON_FAILED;

        mailbox_record_typing(mailbox, FACT_REQUEUED, reason);
        *mailbox->in_front = 0;
        for (MailItem *item = mailbox->items; item; item = item->next) {
                item->is_typing = false;
                item->fact = FACT_QUEUED;
        }
        if (is_failed && mailbox->is_preamble)
                mailbox->is_introduced = false;
        if (is_failed)
                back_off(mailbox);
        else {
                mailbox->is_preamble = false;
                mailbox_phase(mailbox, MAIL_WAITING, 0);
        }
}

/* ---- typing ---------------------------------------------------------------------------------- */

/* Another program came in front since the gate was asked. Messages go back to it; of the preamble it is
 * written down that it is typed, so it waits here. */
static void mailbox_type_hold(Mailbox *mailbox) {
        if (mailbox->is_preamble)
                mailbox_phase(mailbox, MAIL_HELD, GATE_EVERY_MS);
        else
                mailbox_requeue(mailbox, REASON_BEHIND);
}

void mailbox_type(Mailbox *mailbox) {
        Runner *runner = mailbox_has_session(mailbox) ? mailbox_runner(mailbox) : NULL;
        _cleanup_(buf_deinit) Buf payload = BUF_NULL;
        int r;

        if (!runner) {
                mailbox_requeue(mailbox, REASON_ENDED);
                return;
        }
        if (mailbox->offer.call) {
                mailbox_hand_over(mailbox);
                return;
        }
        if (!mailbox_is_in_front(mailbox)) {
                mailbox_type_hold(mailbox);
                return;
        }
        r = delivery_payload(buf_str(&mailbox->text), runner->hosted->modes.set & MODE_PASTE, &payload);
        if (!r && host_n_input(runner->hosted))
                r = -EAGAIN; /* somebody else's keys wait there */
        if (!r)
                r = host_feed(runner->hosted, buf_str(&payload));
        buf_deinit(&mailbox->text);
        if (r && r != HOST_E_FULL) {
                mailbox_requeue(mailbox, r == -EAGAIN ? REASON_BLOCKED : REASON_FAILED);
                return;
        }
        mailbox->n_written = payload.n;
        mailbox->n_pending = host_n_input(runner->hosted);
        mailbox->written_ms = loop_now_ms(mailbox->delivery->collab->daemon->loop);
        mailbox_phase(mailbox, MAIL_WRITING, 0);
}

static void mailbox_type_on_recorded(FactRecord *record, int r) {
        Mailbox *mailbox = record->mailbox;

        if (!delivery_is_live(mailbox->delivery))
                return;
        if (r == -ESTALE) /* preamble_sent.json has changed: from the beginning */
                mailbox_requeue(mailbox, REASON_MOVED);
        else if (r)
                mailbox_requeue(mailbox, REASON_FAILED);
        else
                mailbox_type(mailbox);
}

/* ---- messages -------------------------------------------------------------------------------- */

static int record_batch(Mailbox *mailbox) {
        FactRecord *record = fact_record_new(mailbox->delivery, mailbox, mailbox_type_on_recorded);

        for (MailItem *item = mailbox->items; item; item = item->next)
                if (item->is_typing)
                        fact_record_add(record, FACT_HANDING, str_from(mailbox->actor), item, REASON_NONE);
        mailbox_phase(mailbox, MAIL_RECORDING, -1);
        return error_trace(fact_record_commit(record));
}

static int make_batch(Mailbox *mailbox) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        const Json *events[DELIVERY_BATCH_MAX];
        size_t n = 0;

        for (size_t i = 0; i < mailbox->read.n && n < DELIVERY_BATCH_MAX; i++) {
                Str line = ledger_read_line(&mailbox->read, i);
                Json *event;

                if (!json_parse(&arena, line.data, line.n, NULL, &event, NULL))
                        events[n++] = event;
        }
        mailbox->text.n = 0;
        return error_trace(delivery_batch_text(events, n, &mailbox->text));
}

static void mailbox_type_go_on(Mailbox *mailbox, int r) {
        Delivery *delivery = mailbox->delivery;

        if (delivery_is_live(delivery)) {
                if (!r)
                        r = make_batch(mailbox);
                if (!r)
                        r = record_batch(mailbox);
                if (r)
                        mailbox_requeue(mailbox, r == -ESTALE ? REASON_MOVED : REASON_FAILED);
        }
        ledger_read_deinit(&mailbox->read);
        delivery_unref(delivery);
}

static void mailbox_type_on_read(LedgerRead *read, int r) {
        mailbox_type_go_on(container_of(read, Mailbox, read), r);
}

static bool mailbox_type_is_gone(const MailItem *item) {
        return item->fact == FACT_DROPPED;
}

/* Chooses what is typed now; those that are no longer in the ledger are dropped. */
static size_t mailbox_type_choose(Mailbox *mailbox, uint64_t positions[DELIVERY_BATCH_MAX]) {
        const Group *group = mailbox->delivery->group;
        size_t n = 0, n_bytes = 0;

        for (MailItem *item = mailbox->items; item && n < DELIVERY_BATCH_MAX; item = item->next) {
                int r;

                if (group->doc->state == GROUP_IDLE && strcmp(item->what, "chat") != 0)
                        continue;
                r = ledger_find_id(group->ledger, str_from(item->event_id), &positions[n]);
                if (r == LEDGER_E_NOT_FOUND)
                        item->fact = FACT_DROPPED;
                if (r)
                        continue;
                n_bytes += ledger_entry(group->ledger, positions[n]).n_bytes;
                if (n && n_bytes > DELIVERY_BATCH_BYTES)
                        break;
                item->is_typing = true;
                n++;
        }
        mailbox_drop(mailbox, mailbox_type_is_gone, REASON_GONE);
        return n;
}

static void prepare_batch(Mailbox *mailbox) {
        uint64_t positions[DELIVERY_BATCH_MAX];
        size_t n = mailbox_type_choose(mailbox, positions);
        int r;

        if (!n) {
                mailbox_phase(mailbox, MAIL_WAITING, mailbox->items ? GATE_EVERY_MS : 0);
                return;
        }
        mailbox_phase(mailbox, MAIL_PREPARING, -1);
        delivery_ref(mailbox->delivery);
        mailbox->read = (LedgerRead){.done = mailbox_type_on_read};
        r = ledger_read(mailbox->delivery->group->ledger, &mailbox->read, positions, n);
        if (r != LEDGER_LATER)
                mailbox_type_go_on(mailbox, r);
}

/* ---- the preamble ---------------------------------------------------------------------------- */

typedef struct Introduction { /* on a worker */
        Mailbox *mailbox;
        char *root, *project, *sent_path; /* project: of the PROJECT.md that is there; NULL: none is */
        Document *sent;                   /* preamble_sent.json */
        Buf body;
} Introduction;

static void free_introduction(Introduction *self) {
        free(self->root);
        free(self->project);
        free(self->sent_path);
        document_unref(self->sent);
        buf_deinit(&self->body);
        delivery_unref(self->mailbox->delivery);
        free(self);
}

/* Both spellings are in use. */
static char *find_project(const char *root) {
        static const char *const names[] = {"PROJECT.md", "project.md"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                char *path = path_join(root, names[i]);

                if (path && !access(path, F_OK))
                        return path;
                free(path);
        }
        return NULL;
}

static void mailbox_type_look(void *user) {
        Introduction *self = user;
        _cleanup_(freep) char *own = self->root ? path_join(self->root, "CCCC_PREAMBLE.md") : NULL;

        self->project = self->root ? find_project(self->root) : NULL;
        if (own && file_read_beneath(own, PREAMBLE_MAX, &self->body))
                self->body.n = 0;
        if (document_read(&self->sent, self->sent_path, DOCUMENT_JSON))
                self->sent = document_new();
}

/* As core/tools.h gives them at a start. Out of a sandbox there is no other way either. */
static bool mailbox_type_lacks_tools(const Group *group, const ActorView *actor) {
        const Json *command = json_first(actor->command);
        SandboxWish wish;

        if (actor_sandbox_wish(group->doc, actor, &wish) || wish.mode != SANDBOX_NONE)
                return false;
        return !command || !tools_are_for(json_str(command)) ||
               str_is(json_text_of(actor->env, "MUSTER_TOOLS"), "off");
}

static int make_preamble(Introduction *self, const ActorView *actor) {
        Mailbox *mailbox = self->mailbox;
        const Group *group = mailbox->delivery->group;
        PreambleFacts facts = {.doc = group->doc,
                               .actor = actor,
                               .group_id = str_from(group->id),
                               .root = str_from(self->root),
                               .project = str_from(self->project),
                               .body = buf_str(&self->body),
                               .lacks_tools = mailbox_type_lacks_tools(group, actor)};

        mailbox->text.n = 0;
        return error_trace(delivery_preamble_text(&facts, &mailbox->text));
}

/* That it was sent is kept before it is: twice would be worse than never. */
static int record_preamble(Introduction *self) {
        Mailbox *mailbox = self->mailbox;
        FactRecord *record = fact_record_new(mailbox->delivery, mailbox, mailbox_type_on_recorded);
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int r = record ? document_set_str(self->sent, self->sent->json, mailbox->actor,
                                          str_from(mailbox->session))
                       : -ENOMEM;

        if (!r)
                r = document_write(self->sent, DOCUMENT_JSON, &text);
        if (!r)
                r = ledger_change_file(&record->change, mailbox->delivery->sent_path, buf_str(&text),
                                       &self->sent->identity);
        if (record && r)
                record->r = r;
        mailbox->is_preamble = true;
        mailbox_phase(mailbox, MAIL_RECORDING, -1);
        return error_trace(fact_record_commit(record));
}

static void introduce(Introduction *self) {
        Mailbox *mailbox = self->mailbox;
        const ActorView *actor = group_doc_actor(mailbox->delivery->group->doc, str_from(mailbox->actor));
        int r = self->sent ? 0 : -ENOMEM;

        if (!mailbox_has_session(mailbox) || !actor) {
                mailbox_phase(mailbox, MAIL_WAITING, 0);
                return;
        }
        if (!r && str_is(json_str(json_get(self->sent->json, mailbox->actor)), mailbox->session)) {
                mailbox->is_introduced = true; /* by an earlier daemon */
                mailbox_phase(mailbox, MAIL_WAITING, 0);
                return;
        }
        if (!r)
                r = make_preamble(self, actor);
        if (!r)
                r = record_preamble(self);
        if (r)
                back_off(mailbox);
}

static void mailbox_type_looked(void *user) {
        Introduction *self = user;

        if (delivery_is_live(self->mailbox->delivery))
                introduce(self);
        free_introduction(self);
}

static void prepare_preamble(Mailbox *mailbox) {
        const GroupDoc *doc = mailbox->delivery->group->doc;
        const ScopeView *scope = group_doc_scope(doc, doc->active_scope_key);
        Introduction *self = calloc(1, sizeof(*self));

        if (!self) {
                back_off(mailbox);
                return;
        }
        delivery_ref(mailbox->delivery);
        *self = (Introduction){.mailbox = mailbox,
                               .root = scope ? str_dup(scope->url) : NULL,
                               .sent_path = strdup(mailbox->delivery->sent_path)};
        mailbox_phase(mailbox, MAIL_PREPARING, -1);
        if (!self->sent_path || loop_work(mailbox->delivery->collab->daemon->loop, mailbox_type_look,
                                          mailbox_type_looked, self)) {
                free_introduction(self);
                back_off(mailbox);
        }
}

void mailbox_prepare(Mailbox *mailbox) {
        if (mailbox->is_introduced)
                prepare_batch(mailbox);
        else
                prepare_preamble(mailbox);
}
