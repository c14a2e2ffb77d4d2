/* SPDX-License-Identifier: MIT */
#include "tunnel/peer.h"

#include <errno.h>
#include <openssl/crypto.h>

#include "base/macro.h"

enum { BUSY_MS = 1000 };

/* ---- SCTP ------------------------------------------------------------------------------------ */

static void peer_sctp_output(void *data, const void *packet, size_t n) {
        Peer *peer = data;

        dtls_write(peer->dtls, packet, n); /* what cannot be sent is a lost packet */
}

static void peer_sctp_up(void *data) {
        Peer *peer = data;

        peer->stage = PEER_UP;
        peer->place.risen(peer->place.data);
}

static void peer_lose(Peer *peer, TunnelLoss why) {
        if (!peer->loss)
                peer->loss = why;
}

static void peer_sctp_lost(void *data) {
        Peer *peer = data;

        peer_lose(peer, peer->stage == PEER_UP ? TUNNEL_LOSS_CLOSED : TUNNEL_LOSS_SCTP);
}

static void peer_sctp_piece(void *data, uint16_t stream, uint32_t ppid, Str piece, bool is_last) {
        Peer *peer = data;

        channels_piece(&peer->channels, stream, ppid, piece, is_last);
}

static void peer_sctp_ended(void *data, uint16_t stream) {
        Peer *peer = data;

        channels_ended(&peer->channels, stream);
}

static void peer_sctp_ended_here(void *data, uint16_t stream) {
        Peer *peer = data;

        channels_ended_here(&peer->channels, stream);
}

static bool peer_has_room(void *data) {
        Peer *peer = data;

        return channels_has_room(&peer->channels);
}

static const SctpEvents peer_sctp_events = {
        .output = peer_sctp_output,
        .up = peer_sctp_up,
        .lost = peer_sctp_lost,
        .piece = peer_sctp_piece,
        .ended = peer_sctp_ended,
        .ended_here = peer_sctp_ended_here,
};

/* ---- life ------------------------------------------------------------------------------------ */

int peer_new(Peer **ret, const PeerPlace *place, uint32_t number, const uint8_t *pin, int64_t now_ms) {
        Peer *peer = calloc(1, sizeof(*peer));
        int r;

        if (!peer)
                return -ENOMEM;
        *peer = (Peer){.place = *place, .number = number, .stage_ms = now_ms, .pin = pin};
        channels_init(&peer->channels, place->epoll, place->tag, place->control, number,
                      place->next_channel);
        r = dtls_new(&peer->dtls, place->context, true, place->output, place->data);
        if (r) {
                free(peer);
                return r;
        }
        *ret = peer;
        return 0;
}

Peer *peer_free(Peer *peer) {
        if (!peer)
                return NULL;
        channels_deinit(&peer->channels);
        sctp_free(peer->sctp);
        dtls_shutdown(peer->dtls);
        dtls_free(peer->dtls);
        free(peer);
        return NULL;
}

static bool peer_is_pinned_one(const Peer *peer) {
        return !peer->pin || CRYPTO_memcmp(peer->pin, peer->fingerprint, DTLS_FINGERPRINT) == 0;
}

void peer_pin(Peer *peer, const uint8_t *pin) {
        peer->pin = pin;
        if (peer->stage != PEER_SHAKING && !peer_is_pinned_one(peer))
                peer_lose(peer, TUNNEL_LOSS_PIN);
}

/* ---- input ----------------------------------------------------------------------------------- */

static void peer_shake(Peer *peer, int64_t now_ms) {
        int r = dtls_shake(peer->dtls);

        if (r == DTLS_E_AGAIN)
                return;
        if (r || !dtls_fingerprint(peer->dtls, peer->fingerprint)) {
                peer_lose(peer, TUNNEL_LOSS_DTLS);
                return;
        }
        if (!peer_is_pinned_one(peer)) { /* before any byte reaches SCTP */
                peer_lose(peer, TUNNEL_LOSS_PIN);
                return;
        }
        if (sctp_new(&peer->sctp, &peer_sctp_events, peer)) {
                peer_lose(peer, TUNNEL_LOSS_MEMORY);
                return;
        }
        peer->channels.sctp = peer->sctp;
        peer->stage = PEER_CONNECTING;
        peer->stage_ms = peer->ticked_ms = now_ms;
        peer->place.risen(peer->place.data);
}

static void peer_read(Peer *peer) {
        size_t n;
        int r;

        while ((r = dtls_read(peer->dtls, peer->record, sizeof(peer->record), &n)) == 0)
                sctp_input(peer->sctp, (Str){(const char *)peer->record, n});
        if (r != DTLS_E_AGAIN) {
                sctp_drain(peer->sctp, NULL); /* what came before its end */
                peer_lose(peer, r == DTLS_E_CLOSED ? TUNNEL_LOSS_CLOSED : TUNNEL_LOSS_DTLS);
        }
}

void peer_input(Peer *peer, Str datagram, int64_t now_ms) {
        if (peer->loss)
                return;
        peer->busy_ms = now_ms;
        dtls_input(peer->dtls, datagram);
        if (peer->stage == PEER_SHAKING)
                peer_shake(peer, now_ms);
        if (!peer->loss && peer->stage != PEER_SHAKING)
                peer_read(peer);
        dtls_input(peer->dtls, STR_NULL);
}

/* ---- time ------------------------------------------------------------------------------------ */

static int peer_tick_ms(const Peer *peer, int64_t now_ms) {
        return now_ms - peer->busy_ms < BUSY_MS ? PEER_TICK_MS : PEER_IDLE_TICK_MS;
}

static void peer_work_shaking(Peer *peer, int64_t now_ms) {
        if (now_ms - peer->stage_ms >= PEER_SHAKE_MS ||
            (dtls_timeout_ms(peer->dtls) == 0 && dtls_timeout(peer->dtls)))
                peer_lose(peer, TUNNEL_LOSS_DTLS);
}

void peer_work(Peer *peer, int64_t now_ms) {
        if (peer->loss)
                return;
        if (peer->stage == PEER_SHAKING) {
                peer_work_shaking(peer, now_ms);
                return;
        }
        sctp_drain(peer->sctp, peer_has_room);
        if (now_ms - peer->ticked_ms >= PEER_TICK_MS) {
                sctp_tick((unsigned)(now_ms - peer->ticked_ms));
                peer->ticked_ms = now_ms;
        }
        if (peer->stage == PEER_UP)
                channels_pump(&peer->channels, now_ms);
        else if (now_ms - peer->stage_ms >= PEER_CONNECT_MS)
                peer_lose(peer, TUNNEL_LOSS_SCTP);
        if (peer->channels.is_broken)
                peer_lose(peer, TUNNEL_LOSS_MEMORY);
}

int peer_due_ms(Peer *peer, int64_t now_ms) {
        int left, retry;

        if (peer->stage != PEER_SHAKING)
                return (int)MAX(0, peer->ticked_ms + peer_tick_ms(peer, now_ms) - now_ms);
        left = (int)MAX(0, peer->stage_ms + PEER_SHAKE_MS - now_ms);
        retry = dtls_timeout_ms(peer->dtls);
        return retry >= 0 ? MIN(left, retry) : left;
}
