/* SPDX-License-Identifier: MIT */
#include "base/id.h"

#include <errno.h>
#include <sys/random.h>

#include "base/error.h"

int random_bytes(void *out, size_t n) {
        char *at = out;

        while (n > 0) {
                ssize_t got = getrandom(at, n, 0);

                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return error_origin(-errno);
                at += got;
                n -= (size_t)got;
        }
        return 0;
}

static char hex_digit(unsigned nibble) {
        return "0123456789abcdef"[nibble & 15];
}

void hex_encode(const void *data, size_t n, char *out) {
        const unsigned char *bytes = data;

        for (size_t i = 0; i < n; i++) {
                *out++ = hex_digit(bytes[i] >> 4);
                *out++ = hex_digit(bytes[i]);
        }
        *out = 0;
}

int id_hex(char *out, size_t n_digits) {
        unsigned char bytes[64] = {0};

        *out = 0;
        while (n_digits > 0) {
                size_t n = MIN(n_digits, sizeof(bytes) * 2);
                int r = random_bytes(bytes, (n + 1) / 2);

                if (r)
                        return error_trace(r);
                for (size_t i = 0; i < n; i++)
                        *out++ = hex_digit(i % 2 ? bytes[i / 2] : bytes[i / 2] >> 4);
                *out = 0;
                n_digits -= n;
        }
        return 0;
}

bool id_is_path_safe(Str id) {
        if (id.n < 1 || id.n > 255)
                return false;
        if (memchr(id.data, '/', id.n) || memchr(id.data, 0, id.n))
                return false;
        return !str_is(id, ".") && !str_is(id, "..");
}
