#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What musterd and muster-tunnel say to each other. One process serves one tunnel: musterd makes key, certificate and
 * ICE secrets, binds the UDP sockets and hands all of it over; the process speaks STUN, DTLS and SCTP and asks for
 * a stream socket for every data channel. It knows no tokens, no sessions and no limits of users.
 *
 * The control socket is a Unix SOCK_SEQPACKET, in the process descriptor 3. A message is its type and fields behind each
 * other, numbers big-endian, texts with their length in front, at most TUNNEL_MESSAGE_MAX bytes; descriptors
 * travel beside it. What does not decode ends the process on its side, and the tunnel on the daemon's.
 *
 *   daemon                                process
 *   CONFIG + UDP sockets           ->     confines itself
 *                                  <-     STATE ready, with what holds; no packet was read before
 *                                  <-     STATE reflexive, per socket, if CONFIG names a STUN server
 *                                  <-     STATE checked: a browser proved that it knows the ICE password. One attempt
 *                                  <-     STATE secured: DTLS stands, with the fingerprint of its certificate
 *                                  <-     STATE up: SCTP stands
 *                                  <-     ASK, per channel that the browser opens
 *   CHANNEL + stream socket, or REFUSE ->
 *   OPEN + stream socket           ->     opens a channel to the browser; before "up" and without room the socket is closed
 *                                  <-     STATE moved: other address of the browser
 *   DROP                           ->     ends this attempt
 *                                  <-     STATE lost, why; the next check of somebody else makes the next attempt
 *   QUIT, or the end of the socket ->     takes leave of the browser and exits with status 0
 *
 * Attempts are counted by the daemon: each "checked" has a new peer number, and exactly one "lost" follows it. The
 * process gives an attempt 10 s from "checked" (or from PIN, where that is waited for) to "secured" and 10 s from there to "up", and 30 s without a check at any time. How long a
 * tunnel waits for its first check, and an "up" for its token, is for the daemon to say (DROP, QUIT).
 * A browser that was lost or dropped is not listened to any more; a new peer connection of the same page is another.
 * While one is there, checks of another are not answered, unless the first has been silent for 8 s.
 *
 * On the stream socket of a channel each message, both ways, has four bytes in front, big-endian: its kind in the first
 * (0 text, 1 binary), its length in the other three, at most TUNNEL_DATA_MAX. The end of the socket is the end of the
 * channel, either way: what was written before is still sent.
 */
#include <stdbool.h>
#include <stdint.h>
#include <netinet/in.h>

#include "base/str.h"

enum {
        TUNNEL_CONTROL_FD = 3,
        TUNNEL_VERSION = 1,
        TUNNEL_MESSAGE_MAX = 4096,
        TUNNEL_SOCKETS_MAX = 16,
        TUNNEL_SECRET_MAX = 32, /* ufrag, pwd */
        TUNNEL_LABEL_MAX = 256, /* label and protocol of a channel, each */
        TUNNEL_KEY_MAX = 512,   /* DER */
        TUNNEL_CERT_MAX = 2048, /* DER */
        TUNNEL_REASON_MAX = 128,
        TUNNEL_CHANNELS_MAX = 32,
        TUNNEL_DATA_HEADER = 4,
        TUNNEL_DATA_MAX = 256 * 1024,
};

typedef enum TunnelType {
        /* daemon to process */
        TUNNEL_CONFIG = 1,
        TUNNEL_PIN = 2,
        TUNNEL_CHANNEL = 3,
        TUNNEL_REFUSE = 4,
        TUNNEL_OPEN = 5,
        TUNNEL_DROP = 6,
        TUNNEL_QUIT = 7,
        /* process to daemon */
        TUNNEL_STATE = 16,
        TUNNEL_ASK = 17,
        TUNNEL_CLOSED = 18,
        TUNNEL_FAILED = 19,
} TunnelType;

typedef enum TunnelStep {
        TUNNEL_READY = 1,     /* confined; protections says by what */
        TUNNEL_REFLEXIVE = 2, /* address: how a STUN server sees socket number `socket` */
        TUNNEL_CHECKED = 3,   /* peer, address, socket */
        TUNNEL_SECURED = 4,   /* peer, address, fingerprint */
        TUNNEL_UP = 5,        /* peer */
        TUNNEL_MOVED = 6,     /* peer, address, socket */
        TUNNEL_LOST = 7,      /* peer, reason */
} TunnelStep;

/* Why an attempt ended. */
typedef enum TunnelLoss {
        TUNNEL_LOSS_CLOSED = 1,   /* the browser said so */
        TUNNEL_LOSS_CONSENT = 2,  /* 30 s without a check */
        TUNNEL_LOSS_DTLS = 3,     /* not there after 10 s, or broken */
        TUNNEL_LOSS_PIN = 4,      /* its certificate is not the one of the answer */
        TUNNEL_LOSS_SCTP = 5,     /* not there after 10 s, or broken */
        TUNNEL_LOSS_DROPPED = 6,  /* by the daemon */
        TUNNEL_LOSS_REPLACED = 7, /* silent for 8 s, and another one came */
        TUNNEL_LOSS_MEMORY = 8,
        _TUNNEL_LOSS_N,
} TunnelLoss;

/* What confines the process, as bits. The last two hold only in builds without a sanitizer. */
enum {
        TUNNEL_NO_NEW_PRIVS = 1 << 0,
        TUNNEL_NOT_DUMPABLE = 1 << 1,
        TUNNEL_LANDLOCK = 1 << 2, /* where the kernel has it */
        TUNNEL_SECCOMP = 1 << 3,
        TUNNEL_LIMITS = 1 << 4,         /* descriptors, core */
        TUNNEL_ADDRESS_SPACE = 1 << 5,  /* 128 MiB */
        TUNNEL_SECCOMP_DEADLY = 1 << 6, /* what is not allowed ends the process, instead of failing */
        TUNNEL_PROTECTIONS = (1 << 7) - 1,
};

typedef struct TunnelAddress {
        uint8_t family;    /* 4 or 6; 0: none */
        uint8_t bytes[16]; /* the first 4 or 16 count, in network order */
        uint16_t port;
} TunnelAddress;

typedef struct TunnelConfig {
        Str ufrag; /* of ours: 4 to 32 ice-chars */
        Str pwd;   /* 22 to 32 ice-chars */
        uint8_t n_sockets;
        bool waits_for_pin; /* DTLS does not begin before PIN has come */
        Str key;            /* DER of a private key */
        Str certificate;    /* DER */
        TunnelAddress stun; /* family 0: none */
} TunnelConfig;

typedef struct TunnelState {
        TunnelStep step;
        uint32_t peer; /* 1, 2, 3 …; 0 where there is none */
        uint8_t socket;
        uint8_t protections;
        TunnelLoss reason;
        TunnelAddress address;
        uint8_t fingerprint[32];
} TunnelState;

typedef struct TunnelAsk {
        uint32_t peer;
        uint32_t channel; /* never used twice; the answer names it */
        uint16_t stream;  /* of SCTP, for the record only: it is used again */
        Str label;
        Str protocol;
} TunnelAsk;

/* Texts point into the bytes that were decoded, or to what is to be encoded. */
typedef struct TunnelMessage {
        TunnelType type;
        union {
                TunnelConfig config;
                uint8_t fingerprint[32]; /* PIN: SHA-256 of the certificate of the browser */
                uint32_t channel;        /* CHANNEL, REFUSE, CLOSED (of a channel that was asked for) */
                uint32_t peer;           /* DROP; of one that is gone it does nothing */
                struct {
                        Str label;
                        Str protocol;
                } open;
                TunnelState state;
                TunnelAsk ask;
                Str reason; /* FAILED: one line of English; the process exits */
        };
} TunnelMessage;

enum {
        _TUNNEL_E_SUCCESS,
        TUNNEL_E_INVALID, /* not a message, or not one of this version */
};

/* How many bytes were written to `to`, or -EMSGSIZE: a field is longer than it may be. */
int tunnel_encode(const TunnelMessage *message, uint8_t to[static TUNNEL_MESSAGE_MAX]);
/* Condition: TUNNEL_E_INVALID. */
int tunnel_decode(Str bytes, TunnelMessage *ret);
/* How many descriptors travel with it. */
unsigned tunnel_n_fds(const TunnelMessage *message);

/* Sends one, with as many descriptors as it has; they stay the caller's. Never blocks: -EAGAIN when the other side does not read. */
int tunnel_send(int control, const TunnelMessage *message, const int *fds);

/* One that was received; its texts point to bytes. Descriptors are close-on-exec and belong to the caller. */
typedef struct TunnelReceived {
        TunnelMessage message;
        unsigned n_fds;
        int fds[TUNNEL_SOCKETS_MAX];
        uint8_t bytes[TUNNEL_MESSAGE_MAX];
} TunnelReceived;

/* 0; TUNNEL_E_INVALID, also with other than its number of descriptors (they are closed); -EAGAIN; -EPIPE: the other side has
 * ended. */
int tunnel_receive(int control, TunnelReceived *ret);
/* Those that nobody took; what was taken is -1. */
void tunnel_received_deinit(TunnelReceived *received);

/* The header of a message on a channel's socket. Condition: TUNNEL_E_INVALID. */
void tunnel_data_header(uint8_t to[static TUNNEL_DATA_HEADER], bool is_binary, size_t n);
int tunnel_data_parse(const uint8_t header[static TUNNEL_DATA_HEADER], bool *ret_binary, size_t *ret_n);

bool tunnel_address_eq(const TunnelAddress *a, const TunnelAddress *b);
/* Between them and what the sockets want. */
void tunnel_address_to(const TunnelAddress *address, struct sockaddr_in6 *ret, socklen_t *ret_n);
/* Addresses of IPv4 that are written as IPv6 come out as what they are. False: neither. */
bool tunnel_address_from(const struct sockaddr *sockaddr, TunnelAddress *ret);
