#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What a tunnel needs of a WebRTC answer (RFC 8866, 8839, 8841): the certificate, who begins DTLS, the port of SCTP. Candidates and ICE
 * secrets are not looked at: ours is ICE-lite, the browser comes to us. Pure; text from outside.
 */
#include "base/str.h"

enum {
        SDP_ANSWER_MAX = 16 * 1024, /* bytes of an answer */
};

typedef struct SdpAnswer {
        uint8_t fingerprint[32]; /* SHA-256 of the certificate */
        uint16_t sctp_port;      /* 5000 where none is named */
} SdpAnswer;

enum {
        _SDP_E_SUCCESS,
        SDP_E_INVALID,     /* not the description of a session with one data channel section */
        SDP_E_FINGERPRINT, /* none of sha-256, not 32 bytes, or two that differ */
        SDP_E_SETUP,       /* the browser does not begin DTLS: a=setup is not active */
};

/* Lines end with CRLF or LF. */
int sdp_answer_parse(Str text, SdpAnswer *ret);
