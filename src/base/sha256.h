#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * SHA-256, by OpenSSL's libcrypto; nothing else of the tree knows that library. Any thread.
 */
#include <stdint.h>

#include "base/str.h"

enum { SHA256_N = 32, SHA256_HEX_MAX = 2 * SHA256_N + 1 };

int sha256(Str data, uint8_t out[SHA256_N]);        /* 0 or -ENOMEM */
int sha256_hex(Str data, char out[SHA256_HEX_MAX]); /* lower case, with a NUL */
