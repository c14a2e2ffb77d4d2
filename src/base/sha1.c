/* SPDX-License-Identifier: MIT */
/* Not by EVP, for the reasons of base/sha256.c. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/sha1.h"

#include <errno.h>
#include <openssl/sha.h>

#include "base/error.h"

_Static_assert(SHA1_MAX == SHA_DIGEST_LENGTH, "what OpenSSL writes");

int sha1(Str data, unsigned char out[SHA1_MAX]) {
        SHA_CTX state;

        if (!SHA1_Init(&state) || !SHA1_Update(&state, data.n ? data.data : "", data.n) ||
            !SHA1_Final(out, &state))
                return error_origin(-ENOMEM);
        return 0;
}
