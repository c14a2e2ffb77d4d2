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
