/* SPDX-License-Identifier: MIT */
/* The functions of SHA-256 alone are called, not EVP: the first digest by EVP sets up all of OpenSSL, 2 MB that stay
 * resident, and each later one looks its algorithm up again. OpenSSL 3 has them still, and calls them deprecated. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/sha256.h"

#include <errno.h>
#include <openssl/sha.h>

#include "base/error.h"
#include "base/id.h"

int sha256_hex_both(Str first, Str second, char out[SHA256_HEX_MAX]) {
        unsigned char digest[SHA256_DIGEST_LENGTH];
        SHA256_CTX state;

        if (!SHA256_Init(&state) || !SHA256_Update(&state, first.n ? first.data : "", first.n) ||
            !SHA256_Update(&state, second.n ? second.data : "", second.n) || !SHA256_Final(digest, &state))
                return error_origin(-ENOMEM);
        hex_encode(digest, sizeof(digest), out);
        return 0;
}

int sha256_hex(Str data, char out[SHA256_HEX_MAX]) {
        return error_trace(sha256_hex_both(data, STR_NULL, out));
}
