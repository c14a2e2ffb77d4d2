/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include "base/error.h"
#include "base/utf8-scan.h"

/* First byte that is not ASCII, or end. */
static const char *skip_ascii(const char *p, const char *end) {
        for (; end - p >= 8; p += 8) {
                uint64_t word;
                memcpy(&word, p, sizeof(word));
                if (word & 0x8080808080808080u)
                        break;
        }
        while (p < end && (uint8_t)*p < 0x80)
                p++;
        return p;
}

static const char *valid_end(const char *p, const char *end) {
        for (;;) {
                const char *q = scan_non_ascii(skip_ascii(p, end), end);
                if (q == end || (uint8_t)*q >= 0x80)
                        return q;
                p = q;
        }
}

size_t utf8_valid_prefix(const char *data, size_t n) {
        return n == 0 ? 0 : (size_t)(valid_end(data, data + n) - data);
}

size_t utf8_count(Str text) {
        size_t n = 0;

        for (size_t i = 0; i < text.n; i++)
                n += !utf8_is_tail(text.data[i]);
        return n;
}

Str utf8_first(Str text, size_t n_chars) {
        size_t at = 0;

        for (size_t n = 0; at < text.n; at++)
                if (!utf8_is_tail(text.data[at]) && n++ == n_chars)
                        break;
        return (Str){text.data, at};
}

size_t utf8_next(Str text, int32_t *ret) {
        static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
        const char *p = text.data, *end = text.data + text.n;
        size_t n = (uint8_t)p[0] < 0x80 ? 1 : utf8_sequence(p, end);
        int32_t code = (uint8_t)p[0] & masks[n];

        for (size_t i = 1; i < n; i++)
                code = code << 6 | ((uint8_t)p[i] & 0x3f);
        *ret = n ? code : UTF8_WRONG;
        return n ? n : utf8_ill_formed(p, end);
}

bool utf8_is_hidden(int32_t code) {
        return code < 0x20 /* or none at all */ || (code >= 0x7f && code <= 0x9f) || code == 0x061c ||
               code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
               (code >= 0x2060 && code <= 0x206f) || code == 0xfeff || (code >= 0xfff9 && code <= 0xfffb);
}

size_t utf8_ill_formed(const char *p, const char *end) {
        uint8_t lead = (uint8_t)p[0], low = 0x80, high = 0xbf;
        size_t n = 1, length;

        if (lead < 0xc2 || lead > 0xf4)
                return 1;
        length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
        switch (lead) { /* the second byte decides about overlong forms, surrogates and the upper end */
        case 0xe0: low = 0xa0; break;
        case 0xed: high = 0x9f; break;
        case 0xf0: low = 0x90; break;
        case 0xf4: high = 0x8f; break;
        }
        if (end - p < 2 || (uint8_t)p[1] < low || (uint8_t)p[1] > high)
                return 1;
        for (n = 2; n < length && n < (size_t)(end - p) && utf8_is_tail(p[n]); n++)
                ;
        return n;
}

int utf8_append_replaced(Buf *out, const char *data, size_t n) {
        const char *p = data, *end;
        int r;

        if (n == 0)
                return 0;
        end = data + n;
        for (;;) {
                const char *q = valid_end(p, end);
                r = buf_append(out, p, (size_t)(q - p));
                if (r)
                        return error_trace(r);
                if (q == end)
                        return 0;
                r = buf_append(out, "\xef\xbf\xbd", 3);
                if (r)
                        return error_trace(r);
                p = q + utf8_ill_formed(q, end);
                if (p == end)
                        return 0;
        }
}
