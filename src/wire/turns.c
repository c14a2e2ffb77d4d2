/* SPDX-License-Identifier: MIT */
#include "wire/turns.h"

/* ---- shares ---------------------------------------------------------------------------------- */

/* Of this second and half of the one before, so that nobody begins anew at its edge. */
static int64_t turns_used_us(const Turns *turns, uint32_t peer, int64_t now_us) {
        const TurnPeer *at = &turns->peers[peer % TURN_PEERS];
        int64_t age = now_us / 1000000 - at->second;

        return age == 0 ? at->used_us : age == 1 ? at->used_us / 2 : 0;
}

static void turns_add(Turns *turns, uint32_t peer, int64_t now_us, int64_t us) {
        TurnPeer *at = &turns->peers[peer % TURN_PEERS];

        at->used_us = turns_used_us(turns, peer, now_us) + us;
        at->second = now_us / 1000000;
}

void turns_charge(Turns *turns, uint32_t peer, int64_t since_us) {
        int64_t now_us = loop_real_us();

        if (now_us - since_us < TURN_LONG_US)
                return;
        loop_note(turns->work.loop, "frames", NULL, now_us - since_us);
        turns_add(turns, peer, now_us, now_us - since_us);
}

/* Most peers were never charged: no clock is asked for them. */
bool turns_must_wait(const Turns *turns, uint32_t peer, size_t n_bytes) {
        if (n_bytes > TURN_SHORT_BYTES)
                return true;
        return turns->peers[peer % TURN_PEERS].used_us > TURN_SHARE_US &&
               turns_used_us(turns, peer, loop_real_us()) > TURN_SHARE_US;
}

/* ---- the line -------------------------------------------------------------------------------- */

void turns_leave(Turns *turns, Turn *turn) {
        if (!turn->is_waiting)
                return;
        for (Turn **at = &turns->first; *at; at = &(*at)->next)
                if (*at == turn) {
                        *at = turn->next;
                        if (turns->end == &turn->next)
                                turns->end = at;
                        break;
                }
        turn->is_waiting = false;
}

void turns_wait(Turns *turns, Turn *turn) {
        turn->is_waiting = true;
        turn->next = NULL;
        *turns->end = turn;
        turns->end = &turn->next;
        deferred_schedule(&turns->work);
}

static bool turns_goes_before(const Turns *turns, const Turn *a, const Turn *b, int64_t now_us) {
        if (a->is_long != b->is_long)
                return b->is_long;
        return turns_used_us(turns, a->peer, now_us) < turns_used_us(turns, b->peer, now_us);
}

static Turn *turns_next(const Turns *turns, int64_t now_us) {
        bool may_be_long = turns->n_away < TURN_AWAY_MAX;
        Turn *best = NULL;

        for (Turn *turn = turns->first; turn; turn = turn->next)
                if ((may_be_long || !turn->is_long) &&
                    (!best || turns_goes_before(turns, turn, best, now_us)))
                        best = turn;
        return best;
}

void turns_go_away(Turns *turns) {
        turns->n_away++;
}

void turns_come_back(Turns *turns, uint32_t peer, int64_t took_us) {
        turns->n_away--;
        turns_add(turns, peer, loop_real_us(), took_us);
        if (turns->first)
                deferred_schedule(&turns->work);
}

static void turns_work(Deferred *deferred) {
        Turns *turns = container_of(deferred, Turns, work);
        int64_t began_us = loop_real_us(), now_us = began_us;
        Turn *turn;

        while (now_us - began_us < TURN_BUDGET_US && (turn = turns_next(turns, now_us))) {
                turns_leave(turns, turn);
                turn->run(turn);
                now_us = loop_real_us();
        }
        if (turns_next(turns, now_us))
                deferred_schedule(&turns->work);
}

void turns_init(Turns *turns, Loop *loop) {
        *turns = (Turns){0};
        turns->end = &turns->first;
        deferred_init(&turns->work, loop, turns_work);
}

void turns_deinit(Turns *turns) {
        deferred_cancel(&turns->work);
}
