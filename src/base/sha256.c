/* SPDX-License-Identifier: MIT */
#include "base/sha256.h"

#include <errno.h>
#include <openssl/evp.h>

#include "base/error.h"
#include "base/id.h"

int sha256_hex(Str data, char out[SHA256_HEX_MAX]) {
        unsigned char digest[EVP_MAX_MD_SIZE];
        unsigned n = 0;

        if (!EVP_Digest(data.n ? data.data : "", data.n, digest, &n, EVP_sha256(), NULL) || n != 32)
                return error_origin(-ENOMEM);
        hex_encode(digest, n, out);
        return 0;
}
