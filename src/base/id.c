/* SPDX-License-Identifier: MIT */
#include "base/id.h"

#include <errno.h>
#include <sys/random.h>

#include "base/error.h"
#include "base/macro.h"

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

/* The next number; false: there is none behind all ones. */
static bool id_ulid_count(unsigned char chance[10]) {
        for (int i = 9; i >= 0; i--)
                if (++chance[i])
                        return true;
        return false;
}

/* A clock that goes back does not: the last millisecond is counted on in. */
int id_ulid(IdUlid *last, int64_t wall_us, char out[ID_ULID_MAX]) {
        static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
        int64_t ms = MAX(wall_us / 1000, INT64_C(0));
        unsigned bits = 0, n_bits = 0;

        if (ms > last->ms || !id_ulid_count(last->chance)) {
                int r = random_bytes(last->chance, sizeof(last->chance));

                if (r)
                        return error_trace(r);
                last->ms = MAX(ms, last->ms + (ms <= last->ms));
        }
        for (int i = 0; i < 10; i++)
                out[i] = digits[(last->ms >> (45 - 5 * i)) & 31];
        for (int i = 0, at = 10; i < 10; i++) {
                bits = bits << 8 | last->chance[i];
                for (n_bits += 8; n_bits >= 5; n_bits -= 5)
                        out[at++] = digits[(bits >> (n_bits - 5)) & 31];
        }
        out[26] = 0;
        return 0;
}

bool id_is_path_safe(Str id) {
        if (id.n < 1 || id.n > 255)
                return false;
        if (memchr(id.data, '/', id.n) || memchr(id.data, 0, id.n))
                return false;
        return !str_is(id, ".") && !str_is(id, "..");
}
