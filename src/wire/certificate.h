#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Certificates of our own: P-256, signed by themselves, valid from a day ago. For servers (wire/tls.h), which keep theirs in a file, and for
 * tunnels, which have a new one each and keep none. Making one computes for about a millisecond: on a worker.
 */
#include <openssl/types.h>

#include "base/buf.h"

enum { CERTIFICATE_DIGEST = 32 /* bytes of SHA-256 */ };

/* names: for subjectAltName, as OpenSSL writes them; NULL: none. NULL: it could not be made. */
X509 *certificate_make(EVP_PKEY *key, int days, const char *names);

/* A key with its certificate, both in DER, and the SHA-256 of the certificate. */
typedef struct CertificatePair {
        Buf key, certificate;
        unsigned char digest[CERTIFICATE_DIGEST];
} CertificatePair;

int certificate_pair_make(CertificatePair *ret, int days); /* 0 or -ENOMEM */
void certificate_pair_deinit(CertificatePair *pair);       /* nothing is left of the key in memory */
