#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF.
 */
#include "base/buf.h"

/* Length of the longest valid prefix; equals n when all is well. */
size_t utf8_valid_prefix(const char *data, size_t n);
/* Appends data with every maximal ill-formed part replaced by U+FFFD (as Python's and the web's decoders
 * do). */
int utf8_append_replaced(Buf *out, const char *data, size_t n);
