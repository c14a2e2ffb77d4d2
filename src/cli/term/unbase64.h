#pragma once
/* SPDX-License-Identifier: MIT */
/* Base64 back to bytes: standard alphabet, padded; anything else is refused. */
#include "base/buf.h"

enum { _UNBASE64_E_SUCCESS, UNBASE64_E_WRONG };

/* Appends to out. Condition: UNBASE64_E_WRONG, with out as it was. */
int unbase64(Buf *out, Str text);
