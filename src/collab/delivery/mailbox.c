/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/macro.h"
#include "collab/collab.h"
#include "collab/delivery/delivery-text.h"
#include "collab/delivery/delivery.h"
#include "core/usage/hold.h"

/* When the program has started well enough to be typed at. */
static int64_t ready_ms(const GateFacts *facts) {
        int64_t silent_ms = facts->started_ms + GATE_SILENT_MS;
        int64_t ready = facts->output_ms < 0 ? silent_ms : facts->output_ms + GATE_OUTPUT_MS;

        if (!facts->is_introduced)
                ready = MAX(ready, facts->paste_ms < 0 ? silent_ms
                                                       : MIN(facts->paste_ms + GATE_OUTPUT_MS, silent_ms));
        return ready;
}

static MailWhy held(const GateFacts *facts) {
        if (facts->state == GROUP_PAUSED)
                return MAIL_PAUSED;
        if (facts->state == GROUP_IDLE && !facts->n_chat)
                return MAIL_IDLE;
        return facts->is_running ? MAIL_GO : MAIL_STOPPED;
}

MailWhy delivery_gate(const GateFacts *facts, int64_t *ret_due_ms) {
        int64_t ready = ready_ms(facts);
        int64_t failed = facts->failed_ms < 0 ? INT64_MIN : facts->failed_ms + GATE_FAILED_MS;
        int64_t throttled = facts->tried_ms < 0
                                    ? INT64_MIN
                                    : facts->tried_ms + MAX(facts->min_interval_ms, (int64_t)GATE_EVERY_MS);
        int64_t gathered = facts->queued_ms + GATE_EVERY_MS;
        MailWhy why = facts->n_chat + facts->n_notices ? held(facts) : MAIL_EMPTY;

        *ret_due_ms = INT64_MAX;
        if (why != MAIL_GO)
                return why;
        throttled = MAX(throttled, gathered);
        *ret_due_ms = MAX(ready, MAX(failed, throttled));
        if (facts->now_ms < ready)
                return MAIL_STARTING;
        if (facts->now_ms < failed)
                return MAIL_FAILED;
        return facts->now_ms < throttled ? MAIL_THROTTLED : MAIL_GO;
}

/* What a mailbox knows of the program at its terminal: which one it is, and when it first printed something.
 */
Runner *mailbox_runner(const Mailbox *mailbox) {
        const Delivery *delivery = mailbox->delivery;
        Runner *runner = delivery->group ? runner_find(delivery->collab, str_from(delivery->group->id),
                                                       str_from(mailbox->actor))
                                         : NULL;

        return runner && runner_is_running(runner) && runner->kind == RUNNER_PTY && runner->hosted ? runner
                                                                                                   : NULL;
}

size_t runner_session(const Runner *runner, char out[48]) {
        return (size_t)snprintf(out, 48, "%d:%" PRId64, (int)runner->hosted->pid,
                                runner->hosted->started_us);
}

bool mailbox_has_session(const Mailbox *mailbox) {
        Runner *runner = mailbox_runner(mailbox);
        char session[48];

        return runner && *mailbox->session && runner_session(runner, session) &&
               !strcmp(session, mailbox->session);
}

static void mailbox_forget_session(Mailbox *mailbox) {
        viewer_detach(&mailbox->viewer);
        *mailbox->session = 0;
        mailbox->is_introduced = false;
        mailbox->output_ms = mailbox->paste_ms = mailbox->failed_ms = -1;
}

static int64_t mailbox_session_now_ms(const Mailbox *mailbox) {
        return loop_now_ms(mailbox->delivery->collab->daemon->loop);
}

static void mailbox_session_look(Mailbox *mailbox, const Hosted *hosted, int64_t at_ms) {
        if (mailbox->output_ms < 0 && ring_end(&hosted->out))
                mailbox->output_ms = at_ms;
        if (mailbox->paste_ms < 0 && hosted->modes.set & MODE_PASTE)
                mailbox->paste_ms = at_ms;
}

static bool knows_all(const Mailbox *mailbox) {
        return mailbox->output_ms >= 0 && mailbox->paste_ms >= 0;
}

static void mailbox_session_on_output(Viewer *viewer, _unused_ HostOutput *output) {
        Mailbox *mailbox = container_of(viewer, Mailbox, viewer);
        bool was_known = mailbox->output_ms >= 0;

        mailbox_session_look(mailbox, viewer->hosted, mailbox_session_now_ms(mailbox));
        if (knows_all(mailbox) || !was_known)
                mailbox_kick(mailbox);
        if (knows_all(mailbox))
                viewer_detach(viewer);
}

/* One that has run for a while printed whatever it did long ago. */
static void mailbox_meet(Mailbox *mailbox) {
        Runner *runner = mailbox_runner(mailbox);
        Loop *loop = mailbox->delivery->collab->daemon->loop;
        int64_t age_ms;

        if (!runner) {
                mailbox_forget_session(mailbox);
                return;
        }
        if (mailbox_has_session(mailbox))
                return;
        mailbox_forget_session(mailbox);
        runner_session(runner, mailbox->session);
        age_ms = MAX((loop_wall_us(loop) - runner->hosted->started_us) / 1000, 0);
        mailbox->started_ms = mailbox_session_now_ms(mailbox) - age_ms;
        mailbox_session_look(mailbox, runner->hosted,
                             age_ms > GATE_SILENT_MS ? MAX(mailbox->started_ms, 0)
                                                     : mailbox_session_now_ms(mailbox));
        if (knows_all(mailbox))
                return;
        mailbox->viewer = (Viewer){.output = mailbox_session_on_output};
        viewer_attach(&mailbox->viewer, runner->hosted);
}

/*
 * A mailbox: the queue of one actor, and the steps by which it is typed (see the phases in delivery.h):
 *
 *   WAITING ─► PREPARING ─► RECORDING ─► WRITING ─► SUBMITTING ─► KEYED ─► WAITING
 *      ▲           │            │           │            │          │        (preamble: RESTING ─► WAITING)
 *      └───────────┴────────────┴───────────┴────────────┴──────────┘  the session ended, or takes nothing
 *
 * At the gate, before the text and before the key it waits while another program is in front of the terminal; a
 * preamble that is recorded waits in HELD.
 */
/* ---- items ----------------------------------------------------------------------------------- */

MailItem *mailbox_item(const Mailbox *mailbox, Str event_id) {
        for (MailItem *item = mailbox->items; item; item = item->next)
                if (str_is(event_id, item->event_id))
                        return item;
        return NULL;
}

static void free_item(MailItem *item) {
        free(item->event_id);
        free(item->what);
        free(item->session);
        free(item);
}

MailReason mail_id_fault(Str event_id) {
        return !event_id.n ? REASON_NO_ID : event_id.n > DELIVERY_ID_MAX ? REASON_LONG_ID : REASON_NONE;
}

MailReason mailbox_push(Mailbox *mailbox, Str event_id, Str what, int64_t now_us, MailItem **ret) {
        MailReason reason = mail_id_fault(event_id);
        MailItem *item;

        if (reason)
                return reason;
        if (mailbox->n_items >= DELIVERY_QUEUE_MAX)
                return REASON_FULL;
        item = calloc(1, sizeof(*item));
        if (!item)
                return REASON_MEMORY;
        *item = (MailItem){.event_id = str_dup(event_id),
                           .what = what.n ? str_dup(what) : strdup("chat"),
                           .queued_us = now_us,
                           .fact = FACT_QUEUED};
        if (!item->event_id || !item->what) {
                free_item(item);
                return REASON_MEMORY;
        }
        if (!mailbox->n_items)
                mailbox->queued_ms = loop_now_ms(mailbox->delivery->collab->daemon->loop);
        *mailbox->items_end = item;
        mailbox->items_end = &item->next;
        mailbox->n_items++;
        *ret = item;
        return REASON_NONE;
}

void mailbox_remove(Mailbox *mailbox, MailItem *item) {
        MailItem **link = &mailbox->items;

        while (*link != item)
                link = &(*link)->next;
        *link = item->next;
        if (!*link)
                mailbox->items_end = link;
        mailbox->n_items--;
        free_item(item);
}

bool mail_item_is_automation(const MailItem *item) {
        static const char *const kinds[] = {"nudge",      "keepalive",     "help_nudge",
                                            "actor_idle", "silence_check", "standup"};

        for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
                if (!strcmp(item->what, kinds[i]))
                        return true;
        return false;
}

void mailbox_drop(Mailbox *mailbox, bool (*is_dropped)(const MailItem *item), MailReason reason) {
        FactRecord *record = NULL;

        for (MailItem *item = mailbox->items, *next; item; item = next) {
                next = item->next;
                if (item->is_typing || !is_dropped(item))
                        continue;
                if (!record)
                        record = fact_record_new(mailbox->delivery, mailbox, NULL);
                fact_record_add(record, FACT_DROPPED, str_from(mailbox->actor), item, reason);
                mailbox_remove(mailbox, item);
        }
        if (record)
                (void)fact_record_commit(record);
}

/* ---- mailboxes ------------------------------------------------------------------------------- */

Mailbox *mailbox_find(const Delivery *delivery, Str actor) {
        for (Mailbox *mailbox = delivery->mailboxes; mailbox; mailbox = mailbox->next)
                if (str_is(actor, mailbox->actor))
                        return mailbox;
        return NULL;
}

static void mailbox_on_timer(Timer *timer);

Mailbox *mailbox_get(Delivery *delivery, Str actor) {
        Mailbox *mailbox = mailbox_find(delivery, actor);

        if (mailbox)
                return mailbox;
        mailbox = calloc(1, sizeof(*mailbox));
        if (!mailbox)
                return NULL;
        *mailbox = (Mailbox){.delivery = delivery,
                             .next = delivery->mailboxes,
                             .actor = str_dup(actor),
                             .output_ms = -1,
                             .paste_ms = -1,
                             .tried_ms = -1,
                             .failed_ms = -1};
        if (!mailbox->actor) {
                free(mailbox);
                return NULL;
        }
        mailbox->items_end = &mailbox->items;
        timer_init(&mailbox->timer, delivery->collab->daemon->loop, mailbox_on_timer);
        return delivery->mailboxes = mailbox;
}

void mailbox_free(Mailbox *mailbox) {
        timer_clear(&mailbox->timer);
        mailbox_end_offer(mailbox, STR_NULL);
        viewer_detach(&mailbox->viewer);
        while (mailbox->items)
                mailbox_remove(mailbox, mailbox->items);
        buf_deinit(&mailbox->text);
        free(mailbox->actor);
        free(mailbox);
}

void mailbox_kick(Mailbox *mailbox) {
        if (mailbox->phase == MAIL_WAITING || !mailbox_has_session(mailbox))
                (void)timer_set(&mailbox->timer, 0);
}

const char *mailbox_why(const Mailbox *mailbox) {
        if (*mailbox->in_front)
                return mail_why_name(MAIL_BEHIND);
        return mailbox->phase == MAIL_WAITING ? mail_why_name(mailbox->why)
                                              : mail_phase_name(mailbox->phase);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static bool mailbox_is_chat(const MailItem *item) {
        return !strcmp(item->what, "chat");
}

static GateFacts gate_facts(const Mailbox *mailbox, const Group *group) {
        GateFacts facts = {.now_ms = loop_now_ms(mailbox->delivery->collab->daemon->loop),
                           .state = group->doc->state,
                           .is_running = *mailbox->session,
                           .is_introduced = mailbox->is_introduced,
                           .started_ms = mailbox->started_ms,
                           .output_ms = mailbox->output_ms,
                           .paste_ms = mailbox->paste_ms,
                           .queued_ms = mailbox->queued_ms,
                           .tried_ms = mailbox->tried_ms,
                           .failed_ms = mailbox->failed_ms,
                           .min_interval_ms = group->doc->settings.min_interval_s * 1000};

        for (const MailItem *item = mailbox->items; item; item = item->next)
                if (mailbox_is_chat(item))
                        facts.n_chat++;
                else
                        facts.n_notices++;
        return facts;
}

/* A budget, or a limit of its account, keeps everything new from it. */
static HoldWhy mailbox_hold(const Mailbox *mailbox) {
        const Runner *runner = mailbox_runner(mailbox);

        return runner ? hold_hosted(mailbox->delivery->collab->daemon, runner->hosted) : HOLD_NOT;
}

bool mailbox_has_mail(const Mailbox *mailbox) {
        GateFacts facts = gate_facts(mailbox, mailbox->delivery->group);

        return facts.n_chat + facts.n_notices && held(&facts) == MAIL_GO &&
               mailbox_hold(mailbox) == HOLD_NOT;
}

bool mailbox_is_in_front(Mailbox *mailbox) {
        return hosted_is_in_front(mailbox_runner(mailbox)->hosted, mailbox->in_front);
}

/* A text that an earlier daemon left without its key. */
static bool has_typed(const Mailbox *mailbox) {
        for (const MailItem *item = mailbox->items; item; item = item->next)
                if (item->is_typing)
                        return true;
        return false;
}

static void step_waiting(Mailbox *mailbox) {
        GateFacts facts;

        mailbox_meet(mailbox);
        *mailbox->in_front = 0;
        if (has_typed(mailbox)) {
                mailbox->is_introduced = true;
                mailbox_phase(mailbox, MAIL_SUBMITTING, 0);
                return;
        }
        if (mailbox->why == MAIL_PAUSED || mailbox->why == MAIL_IDLE) /* with what wakes the group */
                mailbox->queued_ms = loop_now_ms(mailbox->delivery->collab->daemon->loop);
        facts = gate_facts(mailbox, mailbox->delivery->group);
        mailbox->why = delivery_gate(&facts, &mailbox->due_ms);
        if (mailbox->why == MAIL_GO && !mailbox_is_in_front(mailbox)) {
                mailbox->why = MAIL_BEHIND;
                mailbox->due_ms = facts.now_ms + GATE_EVERY_MS;
        }
        if (mailbox->why == MAIL_GO && mailbox_hold(mailbox) != HOLD_NOT) {
                mailbox->why = mailbox_hold(mailbox) == HOLD_BUDGET ? MAIL_BUDGET : MAIL_LIMITED;
                mailbox->due_ms = facts.now_ms + GATE_EVERY_MS;
        }
        if (mailbox->why == MAIL_GO && mailbox->is_introduced &&
            mailbox_is_in_turn(mailbox, mailbox->queued_ms, facts.now_ms)) {
                mailbox->why = MAIL_TURN;
                mailbox->due_ms = facts.now_ms + GATE_EVERY_MS;
        }
        if (mailbox->why == MAIL_GO)
                mailbox_prepare(mailbox);
        else if (mailbox->due_ms != INT64_MAX)
                (void)timer_set(&mailbox->timer, MAX(mailbox->due_ms - facts.now_ms, 1));
}

static void step_held(Mailbox *mailbox) {
        if (mailbox_is_in_front(mailbox))
                mailbox_type(mailbox);
        else
                (void)timer_set(&mailbox->timer, GATE_EVERY_MS);
}

/* The terminal took nothing for too long, and nobody typed behind us: we take the bytes back. */
static bool mailbox_take_back(Mailbox *mailbox, Hosted *hosted) {
        return mailbox->n_pending == mailbox->n_written && host_take_back(hosted, mailbox->n_written);
}

static void step_writing(Mailbox *mailbox) {
        Hosted *hosted = mailbox_runner(mailbox)->hosted;
        int64_t age_ms = loop_now_ms(mailbox->delivery->collab->daemon->loop) - mailbox->written_ms;

        if (!host_n_input(hosted)) {
                mailbox_record_typing(mailbox, FACT_HANDED, REASON_NONE);
                mailbox_phase(mailbox, MAIL_SUBMITTING, GATE_SUBMIT_MS);
        } else if (age_ms >= GATE_BLOCKED_MS && mailbox_take_back(mailbox, hosted))
                mailbox_requeue(mailbox, REASON_BLOCKED);
        else
                (void)timer_set(&mailbox->timer,
                                age_ms < GATE_BLOCKED_MS ? GATE_BLOCKED_STEP_MS : GATE_EVERY_MS);
}

static Str submit_key(const Mailbox *mailbox) {
        const ActorView *actor = group_doc_actor(mailbox->delivery->group->doc, str_from(mailbox->actor));

        return actor ? delivery_submit_key(actor->submit) : STR_NULL;
}

static void step_submitting(Mailbox *mailbox) {
        Str key = submit_key(mailbox);

        if (key.n && !mailbox_is_in_front(mailbox)) {
                (void)timer_set(&mailbox->timer, GATE_EVERY_MS);
                return;
        }
        if (key.n)
                (void)host_feed(mailbox_runner(mailbox)->hosted, key);
        mailbox_phase(mailbox, MAIL_KEYED, 0);
}

void mailbox_settle(Mailbox *mailbox) {
        for (MailItem *item = mailbox->items, *next; item; item = next) {
                next = item->next;
                if (item->is_typing)
                        mailbox_remove(mailbox, item);
        }
        mailbox->failed_ms = -1;
        if (!mailbox->is_preamble)
                mailbox->tried_ms = loop_now_ms(mailbox->delivery->collab->daemon->loop);
        mailbox->is_introduced = true;
        viewer_detach(&mailbox->viewer); /* the gate is open for good */
}

static void step_keyed(Mailbox *mailbox) {
        if (host_n_input(mailbox_runner(mailbox)->hosted)) {
                (void)timer_set(&mailbox->timer, GATE_BLOCKED_STEP_MS);
                return;
        }
        mailbox_record_typing(mailbox, FACT_ACCEPTED, REASON_NONE);
        if (!mailbox->is_preamble && mailbox_is_confirmed(mailbox)) {
                mailbox->is_keyed_twice = false;
                mailbox_phase(mailbox, MAIL_CONFIRMING, GATE_CONFIRM_MS);
                return;
        }
        mailbox_settle(mailbox);
        mailbox_phase(mailbox, mailbox->is_preamble ? MAIL_RESTING : MAIL_WAITING,
                      mailbox->is_preamble ? GATE_PREAMBLE_MS : 0);
        mailbox->is_preamble = false;
}

static void step_resting(Mailbox *mailbox) {
        mailbox_phase(mailbox, MAIL_WAITING, 0);
}

/* The key was lost, as far as anybody can tell: once more, never the text. */
static void step_confirming(Mailbox *mailbox) {
        Str key = submit_key(mailbox);
        bool is_lost = !mailbox->is_keyed_twice && mailbox_is_confirmed(mailbox) && key.n &&
                       mailbox_is_in_front(mailbox);

        if (!is_lost) {
                mailbox_settle(mailbox);
                mailbox_phase(mailbox, MAIL_WAITING, 0);
                return;
        }
        mailbox->is_keyed_twice = true;
        mailbox_record_typing(mailbox, FACT_STALLED, REASON_NONE);
        (void)host_feed(mailbox_runner(mailbox)->hosted, key);
        mailbox_phase(mailbox, MAIL_CONFIRMING, GATE_CONFIRM_MS);
}

static void step_offered(Mailbox *mailbox) {
        mailbox_requeue(mailbox, REASON_UNTAKEN);
}

typedef struct PhaseInfo {
        void (*step)(Mailbox *mailbox); /* NULL: something else goes on with it */
        bool needs_session;
} PhaseInfo;

static const PhaseInfo phases[_MAIL_PHASES] = {
        [MAIL_WAITING] = {step_waiting, false}, [MAIL_PREPARING] = {NULL, false},
        [MAIL_RECORDING] = {NULL, false},       [MAIL_HELD] = {step_held, true},
        [MAIL_WRITING] = {step_writing, true},  [MAIL_SUBMITTING] = {step_submitting, true},
        [MAIL_KEYED] = {step_keyed, true},      [MAIL_RESTING] = {step_resting, false},
        [MAIL_OFFERED] = {step_offered, true},  [MAIL_CONFIRMING] = {step_confirming, true},
};

static void mailbox_on_timer(Timer *timer) {
        Mailbox *mailbox = container_of(timer, Mailbox, timer);
        const PhaseInfo *info = &phases[mailbox->phase];

        if (!delivery_is_live(mailbox->delivery) || !mailbox->delivery->is_ready || !info->step)
                return;
        if (info->needs_session && !mailbox_has_session(mailbox))
                mailbox_requeue(mailbox, REASON_ENDED);
        else
                info->step(mailbox);
}
