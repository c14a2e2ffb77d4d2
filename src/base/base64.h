#pragma once
/* SPDX-License-Identifier: MIT */
/* Base64 with the standard alphabet and padding. */
#include "base/buf.h"

enum { _BASE64_E_SUCCESS, BASE64_E_WRONG };

int base64_encode(Buf *out, Str bytes); /* appends to out */
/* Appends to out. Condition: BASE64_E_WRONG, with out as it was: another alphabet, or not padded. */
int base64_decode(Buf *out, Str text);
