#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. The only codec of the tree:
 * whoever reads, writes, counts or cuts characters does it with these. How wide they are is not known here: tables
 * of people ask cli/print/columns.h, screens ask libvterm (docs/decisions/0034-widths.md).
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
Str utf8_fit(Str text, size_t n_bytes);   /* the same, in bytes; no character is cut in two */

/* The character that text, which is not empty, begins with: its length in bytes, and its number. Of bytes
 * that are no character so many as one U+FFFD stands for, with UTF8_WRONG. */
enum { UTF8_WRONG = -1 };
size_t utf8_next_wide(Str text, int32_t *ret); /* utf8_next() of what does not begin with ASCII */
static inline size_t utf8_next(Str text, int32_t *ret) {
        if ((unsigned char)text.data[0] >= 0x80)
                return utf8_next_wide(text, ret);
        *ret = (unsigned char)text.data[0];
        return 1;
}

/* Writes a character and says how many bytes it has. Half of a surrogate pair, which the lenient JSON reader
 * keeps, is written as three bytes that no UTF-8 has. */
enum { UTF8_MAX = 4 };
static inline size_t utf8_put(char *to, uint32_t code) {
        if (code < 0x80) {
                to[0] = (char)code;
                return 1;
        }
        if (code < 0x800) {
                to[0] = (char)(0xc0 | code >> 6);
                to[1] = (char)(0x80 | (code & 0x3f));
                return 2;
        }
        if (code < 0x10000) {
                to[0] = (char)(0xe0 | code >> 12);
                to[1] = (char)(0x80 | (code >> 6 & 0x3f));
                to[2] = (char)(0x80 | (code & 0x3f));
                return 3;
        }
        to[0] = (char)(0xf0 | code >> 18);
        to[1] = (char)(0x80 | (code >> 12 & 0x3f));
        to[2] = (char)(0x80 | (code >> 6 & 0x3f));
        to[3] = (char)(0x80 | (code & 0x3f));
        return 4;
}

/* A character that comes byte by byte: those that are there, and what the next one may be. It is whole when
 * n_more is 0; utf8_next() reads it then. */
typedef struct Utf8Open {
        uint8_t n, n_more;
        unsigned char low, high;
        char bytes[UTF8_MAX];
} Utf8Open;

bool utf8_begin(Utf8Open *open, char lead); /* false: none of several bytes begins with it */
bool utf8_more(Utf8Open *open, char c); /* while n_more is not 0; false: it cannot go on with this byte */
/* Whether a character drives a terminal, turns the text around it, or ends a line where none is seen: not
 * for people. So is UTF8_WRONG. Joiners, which letters need, are not. */
bool utf8_is_hidden(int32_t code);

/* Length of the longest valid prefix; equals n when all is well. */
size_t utf8_valid_prefix(const char *data, size_t n);
/* How many bytes at the end begin a character that may be whole when more bytes come. */
size_t utf8_unfinished(Str text);
/* Appends data with every maximal ill-formed part replaced by U+FFFD (as Python's and the web's decoders
 * do). */
int utf8_append_replaced(Buf *out, const char *data, size_t n);
