/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/error.h"
#include "base/json/json-private.h"
#include "base/utf8-scan.h"

enum { STEP = 16 }; /* bytes copied at a time */

/*
 * The decoded text grows in the free part of the arena's chunk and moves on to a larger chunk when that is
 * full. It becomes an allocation only at the end.
 */
typedef struct Text {
        Arena *arena;
        char *start;
        char *at;
} Text;

static inline bool text_reserve(Text *text, size_t n) {
        size_t n_used = (size_t)(text->at - text->start);
        char *p;

        if (likely((size_t)(text->arena->end - text->at) >= n))
                return true;
        p = arena_grow(text->arena, (2 * (n_used + n) + 7) & ~(size_t)7);
        if (!p)
                return false;
        if (n_used)
                memcpy(p, text->start, n_used);
        text->start = p;
        text->at = p + n_used;
        return true;
}

/* Needs room for one byte more. */
static Str text_finish(Text *text) {
        size_t n = (size_t)(text->at - text->start);

        *text->at = 0;
        text->arena->at = text->start + ((n + 1 + 7) & ~(size_t)7);
        return (Str){text->start, n};
}

/* The four hexadecimal digits at p. Returns how many of them are good. */
static int read_hex4(const char *p, const char *end, uint32_t *ret) {
        uint32_t value = 0;
        int i;

        for (i = 0; i < 4 && p + i < end; i++) {
                char c = p[i], lower = c | 0x20;
                if (json_is_digit(c))
                        value = value << 4 | (uint32_t)(c - '0');
                else if (lower >= 'a' && lower <= 'f')
                        value = value << 4 | (uint32_t)(lower - 'a' + 10);
                else
                        break;
        }
        *ret = value;
        return i;
}

/* The \u escape at p, with its second half where it is one of a pair. Returns the position behind it, or
 * NULL. */
static const char *read_unicode(const char *p, const char *end, uint32_t *ret, JsonStop *stop) {
        uint32_t low;
        int n = read_hex4(p + 2, end, ret);

        if (n < 4)
                return json_stop(stop, JSON_E_SYNTAX, p + 2 + n, "a hexadecimal digit is missing");
        if (likely(*ret < 0xd800 || *ret > 0xdfff))
                return p + 6;
        if (*ret > 0xdbff || end - p < 12 || p[6] != '\\' || p[7] != 'u' ||
            read_hex4(p + 8, end, &low) < 4 || low < 0xdc00 || low > 0xdfff)
                return stop->is_lenient ? p + 6
                                        : json_stop(stop, JSON_E_UTF8, p, "half of a surrogate pair");
        *ret = 0x10000 + ((*ret - 0xd800) << 10) + (low - 0xdc00);
        return p + 12;
}

/* Decodes the escape at p into text, which has room for it. Returns the position behind it, or NULL. */
static const char *read_escape(Text *text, const char *p, const char *end, JsonStop *stop) {
        static const char escapes[256] = {['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
                                          ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t'};
        uint32_t c;

        if (end - p < 2)
                return json_stop(stop, JSON_E_SYNTAX, end, "the string does not end");
        if (escapes[(uint8_t)p[1]]) {
                *text->at++ = escapes[(uint8_t)p[1]];
                return p + 2;
        }
        if (p[1] != 'u')
                return json_stop(stop, JSON_E_SYNTAX, p + 1, "no such escape");
        p = read_unicode(p, end, &c, stop);
        if (p)
                text->at += utf8_put(text->at, c);
        return p;
}

/* Copies plain bytes, at most STEP of them, into text, which has room for STEP. */
static inline size_t copy_plain(Text *text, const char *p, const char *end) {
        size_t n;

#ifdef __SSE2__
        if (likely(end - p >= STEP)) {
                __m128i block = _mm_loadu_si128((const __m128i *)(const void *)p);
                unsigned mask = scan_special_mask(block);

                _mm_storeu_si128((__m128i *)(void *)text->at, block);
                n = mask ? (size_t)__builtin_ctz(mask) : STEP;
                text->at += n;
                return n;
        }
#endif
        n = (size_t)(scan_plain(p, end - p > STEP ? p + STEP : end) - p);
        if (n)
                memcpy(text->at, p, n);
        text->at += n;
        return n;
}

static inline const char *json_string_no_memory(JsonStop *stop) {
        return json_stop(stop, error_origin(-ENOMEM), NULL, NULL);
}

const char *json_string_decode(Arena *arena, const char *start, const char *p, const char *end, Str *ret,
                               JsonStop *stop) {
        Text text = {arena, arena->at, arena->at};
        size_t n = (size_t)(p - start);

        if (!text_reserve(&text, n + 1))
                return json_string_no_memory(stop);
        if (n)
                memcpy(text.at, start, n);
        text.at += n;
        for (;;) {
                /* Plain bytes, one character more, and the terminator. */
                if (unlikely(!text_reserve(&text, STEP + 4 + 1)))
                        return json_string_no_memory(stop);
                n = copy_plain(&text, p, end);
                p += n;
                if (n == STEP)
                        continue;
                if (unlikely(p == end))
                        return json_stop(stop, JSON_E_SYNTAX, p, "the string does not end");
                if (*p == '"') {
                        *ret = text_finish(&text);
                        return p + 1;
                }
                if (*p == '\\') {
                        do { /* many in a row: no plain bytes are looked for between them */
                                if (unlikely(!text_reserve(&text, STEP + 4 + 1)))
                                        return json_string_no_memory(stop);
                                p = read_escape(&text, p, end, stop);
                        } while (p && p < end && *p == '\\');
                        if (!p)
                                return NULL;
                        continue;
                }
                if (unlikely((uint8_t)*p < 0x20))
                        return json_stop(stop, JSON_E_SYNTAX, p, "a control character in a string");
                n = utf8_sequence(p, end);
                if (unlikely(n == 0))
                        return json_stop(stop, JSON_E_UTF8, p, "not UTF-8");
                memcpy(text.at, p, n);
                text.at += n;
                p += n;
        }
}
