/* SPDX-License-Identifier: MIT */
#include "base/base64.h"

#include <stdint.h>

#include "base/error.h"

int base64_encode(Buf *out, Str bytes) {
        static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        int r = buf_reserve(out, (bytes.n + 2) / 3 * 4);
        const unsigned char *p = (const unsigned char *)bytes.data;

        if (r)
                return error_trace(r);
        for (size_t i = 0; i < bytes.n; i += 3) {
                size_t left = bytes.n - i;
                uint32_t v = (uint32_t)p[i] << 16 | (left > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
                             (left > 2 ? p[i + 2] : 0);
                char *at = out->data + out->n;

                at[0] = digits[v >> 18];
                at[1] = digits[v >> 12 & 63];
                at[2] = left > 1 ? digits[v >> 6 & 63] : '=';
                at[3] = left > 2 ? digits[v & 63] : '=';
                out->n += 4;
        }
        return 0;
}

void base64url_put(Str bytes, char *out) {
        static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        uint32_t bits = 0;
        unsigned n_bits = 0;

        for (size_t i = 0; i < bytes.n; i++) {
                bits = bits << 8 | (unsigned char)bytes.data[i];
                for (n_bits += 8; n_bits >= 6; n_bits -= 6)
                        *out++ = digits[bits >> (n_bits - 6) & 63];
        }
        if (n_bits)
                *out++ = digits[bits << (6 - n_bits) & 63];
        *out = '\0';
}

static int base64_digit(char c) {
        if (c >= 'A' && c <= 'Z')
                return c - 'A';
        if (c >= 'a' && c <= 'z')
                return c - 'a' + 26;
        if (c >= '0' && c <= '9')
                return c - '0' + 52;
        return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static size_t base64_n_padding(Str text) {
        if (!text.n || text.data[text.n - 1] != '=')
                return 0;
        return text.data[text.n - 2] == '=' ? 2 : 1;
}

/* Four digits, of which the last n_pad are padding. */
static bool base64_decode_group(const char *group, size_t n_pad, unsigned char out[3]) {
        uint32_t bits = 0;

        for (size_t i = 0; i < 4; i++) {
                int value = i >= 4 - n_pad ? 0 : base64_digit(group[i]);

                if (value < 0)
                        return false;
                bits = bits << 6 | (uint32_t)value;
        }
        out[0] = (unsigned char)(bits >> 16);
        out[1] = (unsigned char)(bits >> 8);
        out[2] = (unsigned char)bits;
        return true;
}

int base64_decode(Buf *out, Str text) {
        size_t before = out->n, n_pad;
        int r;

        if (text.n % 4)
                return BASE64_E_WRONG;
        n_pad = base64_n_padding(text);
        r = buf_reserve(out, text.n / 4 * 3);
        for (size_t i = 0; !r && i < text.n; i += 4) {
                size_t n_here = i + 4 == text.n ? n_pad : 0;
                unsigned char bytes[3];

                r = base64_decode_group(text.data + i, n_here, bytes) ? buf_append(out, bytes, 3 - n_here)
                                                                      : BASE64_E_WRONG;
        }
        if (r)
                out->n = before;
        return error_trace(r);
}

static int base64url_digit(char c) {
        return c == '-' ? 62 : c == '_' ? 63 : c == '+' || c == '/' ? -1 : base64_digit(c);
}

int base64url_decode(Buf *out, Str text) {
        size_t before = out->n;
        uint32_t bits = 0;
        unsigned n_bits = 0;
        int r = buf_reserve(out, text.n / 4 * 3 + 3);

        if (r)
                return error_trace(r);
        for (size_t i = 0; i < text.n; i++) {
                int value = base64url_digit(text.data[i]);

                if (value < 0) {
                        out->n = before;
                        return BASE64_E_WRONG;
                }
                bits = bits << 6 | (uint32_t)value;
                n_bits += 6;
                if (n_bits >= 8) {
                        n_bits -= 8;
                        out->data[out->n++] = (char)(bits >> n_bits);
                }
        }
        if (text.n % 4 == 1 || (bits & ((1u << n_bits) - 1))) {
                out->n = before;
                return BASE64_E_WRONG;
        }
        return 0;
}
