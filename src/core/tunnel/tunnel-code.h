#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * TunnelCode: all that a client needs to come in by a tunnel, as it stands behind # of the address in the QR code, in bytes that are base64url
 * there (docs/tunnel-wire.md), and as an offer of WebRTC, which says the same but for the token. Pure; a value without memory of its own.
 *
 * ShortCode: six characters that people type instead (/connect of a web server gives the code for it).
 */
#include "base/buf.h"
#include "tunnel/tunnel-control.h"

enum {
        TUNNEL_CODE_VERSION = 1,
        TUNNEL_CODE_CANDIDATES = TUNNEL_SOCKETS_MAX,
        TUNNEL_CODE_UFRAG = 6, /* bytes; 8 characters of base64 */
        TUNNEL_CODE_PWD = 18,  /* 24 characters */
        TUNNEL_CODE_TOKEN = 16,
        TUNNEL_CODE_HEAD = 74,                                        /* bytes before the candidates */
        TUNNEL_CODE_MAX = TUNNEL_CODE_HEAD + TUNNEL_SOCKETS_MAX * 19, /* bytes */
        TUNNEL_UFRAG_TEXT = 8,
        TUNNEL_PWD_TEXT = 24,
        SHORT_CODE_DIGITS = 6,
};

typedef struct TunnelCandidate {
        bool is_reflexive; /* as a STUN server sees us; else an address of this machine */
        TunnelAddress address;
} TunnelCandidate;

typedef struct TunnelCode {
        bool is_view; /* the token only lets look */
        uint8_t ufrag[TUNNEL_CODE_UFRAG], pwd[TUNNEL_CODE_PWD], token[TUNNEL_CODE_TOKEN];
        uint8_t fingerprint[32]; /* SHA-256 of our certificate */
        size_t n_candidates;
        TunnelCandidate candidates[TUNNEL_CODE_CANDIDATES];
} TunnelCode;

enum { _TUNNEL_CODE_E_SUCCESS, TUNNEL_CODE_E_WRONG };

/* Fills in what comes by chance. 0 or negative. */
int tunnel_code_make_secrets(TunnelCode *code);
/* As it stands behind #; appends to out. 0 or -ENOMEM. */
int tunnel_code_encode(const TunnelCode *code, Buf *out);
/* Condition: TUNNEL_CODE_E_WRONG. */
int tunnel_code_decode(Str text, TunnelCode *ret);
/* The offer, as text; appends to out. 0 or -ENOMEM. */
int tunnel_code_offer(const TunnelCode *code, Buf *out);
/* ICE secrets as the wire has them, each with a NUL. */
void tunnel_code_ice(const TunnelCode *code, char ufrag[TUNNEL_UFRAG_TEXT + 1],
                     char pwd[TUNNEL_PWD_TEXT + 1]);

int short_code_make(char out[SHORT_CODE_DIGITS + 1]); /* 0 or negative */
/* What somebody typed, as it is kept: blanks and hyphens left out, capital letters, digits for what looks like them. False: it is none. */
bool short_code_read(Str typed, char out[SHORT_CODE_DIGITS + 1]);
