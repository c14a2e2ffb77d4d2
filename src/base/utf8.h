#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF.
 */
#include <stdint.h>

#include "base/buf.h"

/* Whether this byte is not the first of its character. */
static inline bool utf8_is_tail(char c) {
        return ((unsigned char)c & 0xc0) == 0x80;
}

/* Of text that is known to be UTF-8; what is not is counted somehow. */
size_t utf8_count(Str text);              /* characters */
Str utf8_first(Str text, size_t n_chars); /* not more than so many of them */

/* The character that text, which is not empty, begins with: its length in bytes, and its number. Of bytes
 * that are no character so many as one U+FFFD stands for, with UTF8_WRONG. */
enum { UTF8_WRONG = -1 };
size_t utf8_next(Str text, int32_t *ret);
/* Whether a character drives a terminal, turns the text around it, or ends a line where none is seen: not
 * for people. So is UTF8_WRONG. Joiners, which letters need, are not. */
bool utf8_is_hidden(int32_t code);

/* Length of the longest valid prefix; equals n when all is well. */
size_t utf8_valid_prefix(const char *data, size_t n);
/* Appends data with every maximal ill-formed part replaced by U+FFFD (as Python's and the web's decoders
 * do). */
int utf8_append_replaced(Buf *out, const char *data, size_t n);
