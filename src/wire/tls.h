#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * TLS for connections that others open to us: a certificate with its key (TlsServer), and a filter below a Conn for each connection. TLS 1.2 and 1.3, no
 * renegotiation, no client certificates; who offers ALPN is given http/1.1. The handshake runs on the loop: with a P-256 key it takes less than a
 * millisecond of it.
 *
 * Files are read and written by tls_server_load() and tls_server_auto(): on a worker, or at start-up. A TlsServer is owned by whoever
 * opened the address; connections that have begun live on without it.
 */
#include "base/buf.h"
#include "wire/conn.h"

typedef struct TlsServer TlsServer;

enum {
        TLS_WHY_MAX = 256,
        TLS_FINGERPRINT_MAX = 32 * 3, /* "AB:CD:…" of SHA-256, with a NUL */
        TLS_DAYS = 820,     /* that a certificate of ours is valid; some clients take no longer ones */
        TLS_DAYS_LEFT = 30, /* with fewer left, a new one is made */
        TLS_CONN_BYTES = 32 << 10, /* what a connection is charged for its TLS */
};

enum { _TLS_E_SUCCESS, TLS_E_UNUSABLE /* no certificate, no key, or not that of each other: why says it */ };

/* From files in PEM: a certificate with those that lead to it, and a key without a passphrase. Condition: TLS_E_UNUSABLE. */
int tls_server_load(TlsServer **ret, const char *cert_path, const char *key_path, char why[TLS_WHY_MAX]);
/* From a file of ours with both, which is made (0600) if it is not there, cannot be used or will soon be over: P-256, signed by itself, for this
 * machine's names and its addresses within itself, and for `host` if it is not NULL: a name or an address. Condition: TLS_E_UNUSABLE. */
int tls_server_auto(TlsServer **ret, const char *path, const char *host, char why[TLS_WHY_MAX]);
TlsServer *tls_server_free(TlsServer *server);
/* Of the certificate, as browsers show it. */
void tls_server_fingerprint(const TlsServer *server, char out[TLS_FINGERPRINT_MAX]);

/* The connection, which is not started yet, speaks TLS. 0 or -ENOMEM. */
int tls_begin(const TlsServer *server, Conn *conn);
