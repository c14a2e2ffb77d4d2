#pragma once
/* SPDX-License-Identifier: MIT */
/* SHA-1 by OpenSSL, for protocols that are made of it (the handshake of WebSocket). It proves nothing any more:
 * whoever wants that takes base/sha256.h. */
#include "base/str.h"

enum { SHA1_MAX = 20 };

int sha1(Str data, unsigned char out[SHA1_MAX]); /* 0 or -ENOMEM */
