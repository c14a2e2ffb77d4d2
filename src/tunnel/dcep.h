#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * DCEP (RFC 8832), by which data channels are opened inside SCTP, and the kinds of payload beside it. Pure functions.
 */
#include "base/str.h"
#include "tunnel/tunnel-control.h"

/* Payload protocol identifiers of SCTP. */
enum {
        DCEP_PPID = 50,
        DCEP_PPID_TEXT = 51,
        DCEP_PPID_BINARY = 53,
        DCEP_PPID_TEXT_EMPTY = 56, /* one byte that means nothing: SCTP has no empty messages */
        DCEP_PPID_BINARY_EMPTY = 57,
};

enum {
        DCEP_HEADER = 12,
        DCEP_MAX = DCEP_HEADER + 2 * TUNNEL_LABEL_MAX,
};

typedef struct DcepOpen {
        uint8_t channel_type; /* 0: reliable and in order, the only kind that is served */
        Str label;
        Str protocol;
} DcepOpen;

enum {
        _DCEP_E_SUCCESS,
        DCEP_E_INVALID,
        DCEP_E_ACK, /* not an OPEN but its acknowledgement */
};

int dcep_parse(Str message, DcepOpen *ret);
/* Label and protocol are not longer than they may be. Returns the length. */
size_t dcep_write_open(uint8_t to[static DCEP_MAX], const DcepOpen *open);
size_t dcep_write_ack(uint8_t to[static DCEP_MAX]);
