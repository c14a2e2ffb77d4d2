/* SPDX-License-Identifier: MIT */
#include "cli/term/unbase64.h"

#include <stdint.h>

#include "base/error.h"

static int digit(char c) {
        if (c >= 'A' && c <= 'Z')
                return c - 'A';
        if (c >= 'a' && c <= 'z')
                return c - 'a' + 26;
        if (c >= '0' && c <= '9')
                return c - '0' + 52;
        return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static size_t n_padding(Str text) {
        if (!text.n || text.data[text.n - 1] != '=')
                return 0;
        return text.data[text.n - 2] == '=' ? 2 : 1;
}

/* Four digits, of which the last n_pad are padding. */
static bool decode_group(const char *group, size_t n_pad, unsigned char out[3]) {
        uint32_t bits = 0;

        for (size_t i = 0; i < 4; i++) {
                int value = i >= 4 - n_pad ? 0 : digit(group[i]);

                if (value < 0)
                        return false;
                bits = bits << 6 | (uint32_t)value;
        }
        out[0] = (unsigned char)(bits >> 16);
        out[1] = (unsigned char)(bits >> 8);
        out[2] = (unsigned char)bits;
        return true;
}

int unbase64(Buf *out, Str text) {
        size_t before = out->n, n_pad;
        int r;

        if (text.n % 4)
                return UNBASE64_E_WRONG;
        n_pad = n_padding(text);
        r = buf_reserve(out, text.n / 4 * 3);
        for (size_t i = 0; !r && i < text.n; i += 4) {
                size_t n_here = i + 4 == text.n ? n_pad : 0;
                unsigned char bytes[3];

                r = decode_group(text.data + i, n_here, bytes) ? buf_append(out, bytes, 3 - n_here)
                                                               : UNBASE64_E_WRONG;
        }
        if (r)
                out->n = before;
        return error_trace(r);
}
