#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Scanning of text, shared by the UTF-8 functions and by the JSON reader and writer; private to base.
 * Nothing here reads a byte at or behind `end`, whatever stands before it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/macro.h"
#include "base/utf8.h"

/* Length of the well-formed sequence at p, whose first byte is not ASCII; 0 when there is none before end.
 */
static inline size_t utf8_sequence(const char *p, const char *end) {
        size_t n = (size_t)(end - p);
        uint8_t lead = (uint8_t)p[0];

        if (lead < 0xe0)
                return lead >= 0xc2 && n >= 2 && utf8_is_tail(p[1]) ? 2 : 0;
        if (lead < 0xf0) {
                if (unlikely(n < 3 || !utf8_is_tail(p[1]) || !utf8_is_tail(p[2])))
                        return 0;
                unsigned high = (lead & 0x0fu) << 6 | ((uint8_t)p[1] & 0x3fu); /* code point >> 6 */
                return high >= 0x800 >> 6 && (high < 0xd800 >> 6 || high >= 0xe000 >> 6) ? 3 : 0;
        }
        if (unlikely(lead > 0xf4 || n < 4 || !utf8_is_tail(p[1]) || !utf8_is_tail(p[2]) ||
                     !utf8_is_tail(p[3])))
                return 0;
        unsigned high = (lead & 0x07u) << 6 | ((uint8_t)p[1] & 0x3fu); /* code point >> 12 */
        return high >= 0x10000 >> 12 && high < 0x110000 >> 12 ? 4 : 0;
}

/* Length of the part of the ill-formed bytes at p that one U+FFFD stands for (Unicode's "maximal subpart").
 */
size_t utf8_ill_formed(const char *p, const char *end);

/* What may stand in a JSON string as it is, and is one byte long: no quote, backslash, control, or
 * non-ASCII. */
static inline bool scan_is_plain(char c) {
        return c >= 0x20 && c != '"' && c != '\\' && (uint8_t)c < 0x80;
}

#ifdef __SSE2__
/* One bit for each of the 16 bytes that is not plain. */
static inline unsigned scan_special_mask(__m128i block) {
        __m128i quote = _mm_cmpeq_epi8(block, _mm_set1_epi8('"'));
        __m128i backslash = _mm_cmpeq_epi8(block, _mm_set1_epi8('\\'));
        __m128i other = _mm_cmplt_epi8(block, _mm_set1_epi8(0x20)); /* signed: controls and non-ASCII */

        return (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, backslash), other));
}
#endif

/* True when all 8 bytes are plain. May be false for plain bytes behind one that is not, never the other way.
 */
static inline bool scan_word_is_plain(uint64_t word) {
        const uint64_t ones = 0x0101010101010101u;

        return (((word - ones * 0x20) | ((word ^ ones * '"') - ones) | ((word ^ ones * '\\') - ones) |
                 word) &
                ones * 0x80) == 0;
}

/* First byte that is not plain, or end. */
static inline const char *scan_plain(const char *p, const char *end) {
#ifdef __SSE2__
        for (; end - p >= 16; p += 16) {
                unsigned mask = scan_special_mask(_mm_loadu_si128((const __m128i *)(const void *)p));
                if (mask)
                        return p + __builtin_ctz(mask);
        }
#endif
        for (; end - p >= 8; p += 8) {
                uint64_t word;
                memcpy(&word, p, sizeof(word));
                if (!scan_word_is_plain(word))
                        break;
        }
        while (p < end && scan_is_plain(*p))
                p++;
        return p;
}

/* End of the well-formed non-ASCII sequences at p; p itself when there is none. */
static inline const char *scan_non_ascii(const char *p, const char *end) {
        while (p < end && (uint8_t)*p >= 0x80) {
                size_t n = utf8_sequence(p, end);
                if (unlikely(n == 0))
                        break;
                p += n;
        }
        return p;
}
