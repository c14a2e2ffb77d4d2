#pragma once
/* SPDX-License-Identifier: MIT */
/* The inside of a TlsServer, shared by tls-server.c (certificates) and tls.c (connections). */
#include <openssl/types.h>

#include "wire/tls.h"

struct TlsServer {
        SSL_CTX *context;
};
