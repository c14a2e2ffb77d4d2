#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * One browser, from its first valid check to its loss: DTLS, then SCTP, then channels. It sees no address: datagrams come in that ICE let
 * through, and go out to wherever ICE has it. Owned by the tunnel.
 */
#include "tunnel/channel.h"
#include "tunnel/dtls.h"

enum {
        PEER_SHAKE_MS = 10 * 1000,   /* from the first check to DTLS */
        PEER_CONNECT_MS = 10 * 1000, /* from DTLS to SCTP */
        PEER_TICK_MS = 10, /* of SCTP's timers, while something was heard or said in the last second */
        PEER_IDLE_TICK_MS = 100,
};

typedef enum PeerStage {
        PEER_SHAKING,
        PEER_CONNECTING,
        PEER_UP,
} PeerStage;

typedef struct PeerPlace {
        SSL_CTX *context;
        int control, epoll;
        uint64_t tag; /* of epoll events of channels */
        uint32_t *next_channel;
        DtlsOutput output;
        void (*risen)(void *data); /* to a higher stage; before anything is asked on it */
        void *data;
} PeerPlace;

typedef struct Peer {
        PeerPlace place;
        uint32_t number;
        PeerStage stage;
        int64_t stage_ms; /* since when */
        Dtls *dtls;
        Sctp *sctp;
        Channels channels;
        TunnelLoss loss;    /* 0: it is there */
        const uint8_t *pin; /* NULL: whoever proves itself inside */
        uint8_t fingerprint[DTLS_FINGERPRINT];
        int64_t busy_ms;
        int64_t ticked_ms;
        uint8_t record[16 * 1024 + 256];
} Peer;

int peer_new(Peer **ret, const PeerPlace *place, uint32_t number, const uint8_t *pin, int64_t now_ms);
/* Takes leave of the browser, if it is there. */
Peer *peer_free(Peer *peer);

/* What comes of it stands in stage and loss. */
void peer_input(Peer *peer, Str datagram, int64_t now_ms);
/* After all datagrams of a turn, and with the time. */
void peer_work(Peer *peer, int64_t now_ms);
int peer_due_ms(Peer *peer, int64_t now_ms);
/* The certificate that it must have; also of one that is already there. */
void peer_pin(Peer *peer, const uint8_t *pin);
