/* SPDX-License-Identifier: MIT */
#include "base/sha256.h"

#include <errno.h>
#include <openssl/evp.h>

#include "base/error.h"
#include "base/id.h"

int sha256(Str data, uint8_t out[SHA256_N]) {
        return EVP_Digest(data.data ? data.data : "", data.n, out, NULL, EVP_sha256(), NULL)
                       ? 0
                       : error_origin(-ENOMEM);
}

int sha256_hex(Str data, char out[SHA256_HEX_MAX]) {
        uint8_t digest[SHA256_N];
        int r = sha256(data, digest);

        if (!r)
                hex_encode(digest, sizeof(digest), out);
        return error_trace(r);
}
