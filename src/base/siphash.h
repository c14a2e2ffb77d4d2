#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * SipHash-1-3: a short keyed hash for tables whose words come from outside. Who does not know the key cannot
 * make two words collide. It proves nothing about content: for that there is SHA-256.
 */
#include <stdint.h>

#include "base/str.h"

typedef struct SipKey {
        uint64_t k0, k1;
} SipKey;

uint64_t siphash(SipKey key, Str text);
