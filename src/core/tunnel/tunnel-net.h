#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * TunnelNet: the UDP sockets of one tunnel, one for each address of this machine that a client may come to. One for all addresses would not do: its answers could
 * leave from another address than the one that was asked, which the client takes for somebody else's. All of it waits (for the kernel, for a
 * name server): on a worker.
 *
 * Which addresses: those that were said; else those of this machine's interfaces that are up, without loopback and link-local ones, at most
 * TUNNEL_NET_V4 and TUNNEL_NET_V6 of each kind so that the QR code stays readable; else 127.0.0.1.
 */
#include "base/strvec.h"
#include "tunnel/tunnel-control.h"

enum {
        TUNNEL_NET_V4 = 4,
        TUNNEL_NET_V6 = 2,
        TUNNEL_NET_BUFFER = 1 << 20, /* bytes of SO_RCVBUF and SO_SNDBUF that are asked for */
        TUNNEL_NET_WHY = 160,
};

typedef struct TunnelNet {
        size_t n;
        int fds[TUNNEL_SOCKETS_MAX];
        TunnelAddress addresses[TUNNEL_SOCKETS_MAX];
} TunnelNet;

typedef struct TunnelPorts { /* 0: any that is free */
        uint16_t first, last;
} TunnelPorts;

enum { _TUNNEL_NET_E_SUCCESS, TUNNEL_NET_E_ADDRESS /* why says it */ };

/* Condition: TUNNEL_NET_E_ADDRESS. */
int tunnel_net_open(TunnelNet *ret, const StrVec *said, TunnelPorts ports, char why[TUNNEL_NET_WHY]);
void tunnel_net_close(TunnelNet *net);
/* "HOST:PORT", "[::1]:PORT" or "HOST" (port 3478). Condition: TUNNEL_NET_E_ADDRESS. */
int tunnel_net_resolve(const char *stun, TunnelAddress *ret, char why[TUNNEL_NET_WHY]);
/* "40000-40100" or "40000". False: it is none. NULL: any. */
bool tunnel_net_ports(const char *text, TunnelPorts *ret);
