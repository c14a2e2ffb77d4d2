#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * FNV-1a, 64 bits: for tables of ours, and for fingerprints that are kept on the disk, so its values never
 * change. Not for keys that somebody else chooses and that many share a table: that is base/siphash.h.
 */
#include <stdint.h>

#include "base/str.h"

#define HASH_START 14695981039346656037u

static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n) {
        const unsigned char *p = bytes;

        for (size_t i = 0; i < n; i++)
                hash = (hash ^ p[i]) * 1099511628211u;
        return hash;
}

static inline uint64_t hash_str(Str text) {
        return hash_bytes(HASH_START, text.data, text.n);
}
