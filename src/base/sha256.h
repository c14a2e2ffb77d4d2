#pragma once
/* SPDX-License-Identifier: MIT */
/* SHA-256 by OpenSSL, as lower-case hex. */
#include "base/str.h"

enum { SHA256_HEX_MAX = 65 };

int sha256_hex(Str data, char out[SHA256_HEX_MAX]); /* 0 or -ENOMEM */
/* Of two texts, one behind the other: who has them apart need not join them. */
int sha256_hex_both(Str first, Str second, char out[SHA256_HEX_MAX]);
