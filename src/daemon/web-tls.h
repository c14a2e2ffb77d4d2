#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Certificates of web servers, by the word that they were asked for with: "auto" is one of our own in <home>/web/tls.pem, CERT:KEY are two
 * files of the user's. Blocks: on a worker, or at start-up.
 */
#include "base/str.h"
#include "wire/tls.h"

/* Whether it is such a word; paths are absolute. */
bool web_tls_is_word(Str said);
/* host: the address of the server. Condition: TLS_E_UNUSABLE, and why says why. */
int web_tls_load(TlsServer **ret, const char *home, const char *said, const char *host,
                 char why[TLS_WHY_MAX]);
