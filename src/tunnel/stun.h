#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * STUN (RFC 8489) as far as an ICE-lite agent needs it: Binding requests of a browser are read, proved and answered; one request
 * may be sent to a STUN server, and its answer read. Pure functions on bytes of a datagram; no sockets, no memory.
 */
#include "base/str.h"
#include "tunnel/tunnel-control.h"

enum {
        STUN_HEADER = 20,
        STUN_ID = 12,           /* bytes of a transaction id */
        STUN_REPLY_MAX = 128,   /* room for every message that is written here */
        STUN_USERNAME_MAX = 512 /* RFC 8489: shorter than 509 bytes */
};

enum {
        STUN_BINDING_REQUEST = 0x0001,
        STUN_BINDING_INDICATION = 0x0011,
        STUN_BINDING_SUCCESS = 0x0101,
        STUN_BINDING_ERROR = 0x0111,
};

/* Its texts point into the datagram. */
typedef struct StunMessage {
        uint16_t type;
        const uint8_t *id; /* STUN_ID bytes */
        Str username;      /* empty: it has none */
        bool has_use_candidate;
        bool has_priority;
        uint32_t priority;
        bool has_unknown;     /* an attribute that has to be understood, and is not */
        size_t integrity_at;  /* offset of MESSAGE-INTEGRITY; 0: it has none */
        TunnelAddress mapped; /* XOR-MAPPED-ADDRESS; family 0: it has none */
} StunMessage;

enum {
        _STUN_E_SUCCESS,
        STUN_E_INVALID,
};

/* Whether a datagram is for STUN, by its first byte. */
static inline bool stun_is(Str datagram) {
        return datagram.n && (unsigned char)datagram.data[0] < 4;
}

/* Attributes behind MESSAGE-INTEGRITY are not looked at, but for FINGERPRINT, which must be right. Condition: STUN_E_INVALID. */
int stun_parse(Str datagram, StunMessage *ret);
/* Whether MESSAGE-INTEGRITY is there and made with this password; takes the same time for every wrong one. */
bool stun_is_proved(Str datagram, const StunMessage *message, Str pwd);

/* A success with the address that the request came from. Returns its length. */
size_t stun_write_success(uint8_t to[static STUN_REPLY_MAX], const uint8_t id[static STUN_ID],
                          const TunnelAddress *from, Str pwd);
/* A request without attributes, for a STUN server. */
size_t stun_write_request(uint8_t to[static STUN_REPLY_MAX], const uint8_t id[static STUN_ID]);
/* A check as a browser sends it: for tests. username is at most 64 bytes. */
size_t stun_write_check(uint8_t to[static STUN_REPLY_MAX * 2], const uint8_t id[static STUN_ID],
                        Str username, Str pwd, bool use_candidate);
