#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Mask: what looks like a secret in a text that goes to others: keys and tokens that are known by how they begin, what
 * stands behind "Bearer", and values that are assigned to a name like password, secret, token or api_key. A mark stands in
 * its place. It is a net with holes, not a proof: what it lets through may still be one. Pure.
 *
 * Quotes, backslashes and brackets end a value, so JSON stays JSON.
 */
#include "base/buf.h"

#define MASK_MARK "[REDACTED]"

enum { MASK_VALUE_MIN = 6, MASK_KEY_MIN = 16 }; /* shorter ones are words */

int mask_append(Buf *out, Str text); /* 0 or -ENOMEM */
bool mask_finds(Str text);           /* whether there is anything to mask */
