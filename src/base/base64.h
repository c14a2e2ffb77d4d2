#pragma once
/* SPDX-License-Identifier: MIT */
/* Base64 with the standard alphabet and padding; and the alphabet for addresses and file names, without. */
#include "base/buf.h"

enum { _BASE64_E_SUCCESS, BASE64_E_WRONG };

int base64_encode(Buf *out, Str bytes); /* appends to out */
/* Appends to out. Condition: BASE64_E_WRONG, with out as it was: another alphabet, or not padded. */
int base64_decode(Buf *out, Str text);
/* The other alphabet: - and _ in the place of + and /, and no padding. Writes all of it and a NUL; out has room for
 * BASE64URL_MAX(bytes.n). */
#define BASE64URL_MAX(n) (((n)*4 + 2) / 3 + 1)
void base64url_put(Str bytes, char *out);
/* Appends to out. Condition: BASE64_E_WRONG, with out as it was: another alphabet, padded, of an impossible length, or with bits behind the last
 * byte. */
int base64url_decode(Buf *out, Str text);
