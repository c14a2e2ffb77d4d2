/* SPDX-License-Identifier: MIT */
/*
 * Messages at the boundary of a turn: a hook tells that the turn of an actor ends, or begins, and takes along what waits for it, instead of
 * having it typed. Written down as what is typed: `handing` before it leaves, `taken` when the hook has said that it has it. A hook
 * that does not say so in time has not: the messages go back to the gate.
 *
 *   WAITING ─► PREPARING ─► RECORDING ─► OFFERED ─► WAITING
 */
#include <string.h>

#include "collab/collab.h"
#include "collab/delivery/delivery.h"
#include "core/agents/agents.h"
#include "core/agents/hook.h"

static Mailbox *offer_mailbox(Collab *collab, Str group_id, Str actor) {
        Group *group = collab ? group_find(collab, group_id) : NULL;
        Delivery *delivery = group ? delivery_of(group) : NULL;

        return delivery && delivery_is_live(delivery) && delivery->is_ready ? mailbox_find(delivery, actor)
                                                                            : NULL;
}

void mailbox_end_offer(Mailbox *mailbox, Str text) {
        MailOffer offer = mailbox->offer;

        mailbox->offer = (MailOffer){0};
        if (offer.call)
                offer.offered(offer.call, text, offer.user);
}

bool delivery_offer(Collab *collab, Str group_id, Str actor, const MailOffer *offer) {
        Mailbox *mailbox = offer_mailbox(collab, group_id, actor);

        if (!mailbox || mailbox->phase != MAIL_WAITING || mailbox->offer.call || !mailbox->is_introduced ||
            !mailbox_has_session(mailbox) || !mailbox_has_mail(mailbox))
                return false;
        mailbox->offer = *offer;
        mailbox_prepare(mailbox);
        return true;
}

/* Its facts are kept: it goes. */
void mailbox_hand_over(Mailbox *mailbox) {
        if (!mailbox->offer.call->client) {
                mailbox_requeue(mailbox, REASON_FAILED); /* the hook gave up */
                return;
        }
        mailbox_phase(mailbox, MAIL_OFFERED, GATE_OFFER_MS);
        mailbox_end_offer(mailbox, buf_str(&mailbox->text));
        buf_deinit(&mailbox->text);
}

bool delivery_took(Collab *collab, Str group_id, Str actor) {
        Mailbox *mailbox = offer_mailbox(collab, group_id, actor);

        if (!mailbox || mailbox->phase != MAIL_OFFERED)
                return false;
        mailbox_record_typing(mailbox, FACT_TAKEN, REASON_NONE);
        mailbox_settle(mailbox);
        mailbox_phase(mailbox, MAIL_WAITING, 0);
        return true;
}

bool mailbox_is_in_turn(const Mailbox *mailbox, int64_t queued_ms, int64_t now_ms) {
        const Agent *agent = agent_of(mailbox_runner(mailbox)->hosted);

        if (!agent || agent->state.source != AGENT_HOOK || agent_doubt(agent))
                return false;
        if (agent->state.kind == AGENT_IS_WAITING)
                return true;
        return agent->state.kind == AGENT_IS_WORKING && hook_takes_mail(str_from(agent->state.runtime)) &&
               now_ms - queued_ms < GATE_TURN_MS;
}

/* ---- what was typed -------------------------------------------------------------------------- */

bool mailbox_is_confirmed(const Mailbox *mailbox) {
        const Agent *agent = agent_of(mailbox_runner(mailbox)->hosted);

        return agent && agent->state.source == AGENT_HOOK && agent->state.kind == AGENT_IS_IDLE &&
               !agent_doubt(agent) && hook_takes_mail(str_from(agent->state.runtime));
}

void delivery_heard(Collab *collab, Str group_id, Str actor, Str prompt) {
        Mailbox *mailbox = offer_mailbox(collab, group_id, actor);

        if (!mailbox || mailbox->phase != MAIL_CONFIRMING)
                return;
        if (prompt.n && memmem(prompt.data, prompt.n, "[cccc]", 6))
                mailbox_record_typing(mailbox, FACT_TAKEN, REASON_NONE);
        mailbox_settle(mailbox);
        mailbox_phase(mailbox, MAIL_WAITING, 0);
}
