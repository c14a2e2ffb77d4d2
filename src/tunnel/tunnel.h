#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The one tunnel of the process: its UDP sockets, the control socket, one browser at a time, and the loop over them. Owned by main().
 */
#include "tunnel/ice.h"
#include "tunnel/peer.h"

enum {
        TUNNEL_BATCH = 32, /* datagrams that are read or sent with one system call */
        TUNNEL_DATAGRAM = 2048,
};

typedef struct TunnelReflexive {
        uint8_t id[STUN_ID];
        unsigned n_sent;
        int64_t due_ms; /* of the next request */
        bool is_done;
} TunnelReflexive;

typedef struct TunnelOut {
        unsigned n;
        size_t lengths[TUNNEL_BATCH];
        uint8_t datagrams[TUNNEL_BATCH][DTLS_MTU + 64];
} TunnelOut;

typedef struct Tunnel {
        int control, epoll;
        unsigned n_sockets;
        int sockets[TUNNEL_SOCKETS_MAX];
        uint8_t families[TUNNEL_SOCKETS_MAX]; /* of the sockets: 4 or 6 */
        TunnelReflexive reflexive[TUNNEL_SOCKETS_MAX];
        TunnelAddress stun;
        bool waits_for_pin;
        bool has_pin;
        uint8_t pin[DTLS_FINGERPRINT];
        SSL_CTX *context;
        Ice ice;
        Peer *peer;
        uint32_t n_peers;
        uint32_t n_channels;
        bool is_quitting;
        int64_t now_ms;
        TunnelOut out;
        uint8_t in[TUNNEL_BATCH][TUNNEL_DATAGRAM];
        TunnelReceived received;
} Tunnel;

/* Takes the configuration and its sockets; *why is what to tell when it fails. */
int tunnel_new(Tunnel **ret, int control, TunnelReceived *config, const char **why);
Tunnel *tunnel_free(Tunnel *tunnel);
/* Until QUIT or the end of the control socket (0), or a failure. */
int tunnel_run(Tunnel *tunnel);
int tunnel_tell_ready(Tunnel *tunnel, uint8_t protections);
