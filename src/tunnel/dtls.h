#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * One DTLS association (OpenSSL, 1.2 or newer) over datagrams that somebody else carries. Each side shows a certificate of its own
 * making; who the other is says its fingerprint, not a chain. Owned by the peer that it belongs to.
 */
#include <openssl/ssl.h>

#include "base/str.h"

enum {
        DTLS_MTU = 1200, /* bytes of a datagram; IPv6 over anything carries it */
        DTLS_FINGERPRINT = 32,
};

/* Whether a datagram is for DTLS, by its first byte. */
static inline bool dtls_is(Str datagram) {
        return datagram.n && (unsigned char)datagram.data[0] >= 20 && (unsigned char)datagram.data[0] <= 63;
}

/* What every association of a tunnel shares: private key and certificate, in DER. */
int dtls_context_new(SSL_CTX **ret, Str key, Str certificate);

typedef struct Dtls Dtls;
typedef void (*DtlsOutput)(void *data, const void *datagram, size_t n);

int dtls_new(Dtls **ret, SSL_CTX *context, bool is_server, DtlsOutput output, void *data);
Dtls *dtls_free(Dtls *dtls);

enum {
        _DTLS_E_SUCCESS,
        DTLS_E_AGAIN,  /* more datagrams have to come */
        DTLS_E_CLOSED, /* the other side took leave */
        DTLS_E_BROKEN,
};

/* The datagram that the next calls of dtls_shake() and dtls_read() work on; it must stay where it is until they say DTLS_E_AGAIN. */
void dtls_input(Dtls *dtls, Str datagram);
/* 0: both sides know each other. */
int dtls_shake(Dtls *dtls);
/* One record. */
int dtls_read(Dtls *dtls, void *to, size_t max, size_t *ret_n);
/* One record, which is one datagram. */
int dtls_write(Dtls *dtls, const void *record, size_t n);
/* Takes leave. */
void dtls_shutdown(Dtls *dtls);

/* While shaking: how long until dtls_timeout() is due; -1: never. */
int dtls_timeout_ms(Dtls *dtls);
int dtls_timeout(Dtls *dtls); /* sends again what was lost; DTLS_E_BROKEN: too often */

/* SHA-256 of the certificate of the other side, after dtls_shake(). False: it has none. */
bool dtls_fingerprint(const Dtls *dtls, uint8_t ret[static DTLS_FINGERPRINT]);
