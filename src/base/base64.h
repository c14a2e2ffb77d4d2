#pragma once
/* SPDX-License-Identifier: MIT */
/* Base64 with the standard alphabet and padding. */
#include "base/buf.h"

int base64_encode(Buf *out, Str bytes);
