/* SPDX-License-Identifier: MIT */
#include "wire/certificate.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "base/error.h"

static int certificate_add_names(X509 *cert, const char *names) {
        X509V3_CTX context;
        X509_EXTENSION *extension;
        int r;

        X509V3_set_ctx(&context, cert, cert, NULL, NULL, 0);
        extension = X509V3_EXT_conf_nid(NULL, &context, NID_subject_alt_name, names);
        r = extension ? X509_add_ext(cert, extension, -1) : 0;
        X509_EXTENSION_free(extension);
        return r;
}

static int certificate_add_serial(X509 *cert) {
        unsigned char bytes[8];
        uint64_t number = 0;

        if (RAND_bytes(bytes, sizeof(bytes)) != 1)
                return 0;
        memcpy(&number, bytes, sizeof(number));
        return ASN1_INTEGER_set_uint64(X509_get_serialNumber(cert), number >> 1 | 1);
}

X509 *certificate_make(EVP_PKEY *key, int days, const char *names) {
        X509 *cert = X509_new();
        X509_NAME *name = cert ? X509_get_subject_name(cert) : NULL;

        if (cert && X509_set_version(cert, X509_VERSION_3) && certificate_add_serial(cert) &&
            X509_gmtime_adj(X509_getm_notBefore(cert), -24L * 3600) &&
            X509_time_adj_ex(X509_getm_notAfter(cert), days, 0, NULL) && X509_set_pubkey(cert, key) &&
            X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"muster", -1, -1,
                                       0) &&
            X509_set_issuer_name(cert, name) && (!names || certificate_add_names(cert, names)) &&
            X509_sign(cert, key, EVP_sha256()))
                return cert;
        X509_free(cert);
        return NULL;
}

/* ---- a pair ---------------------------------------------------------------------------------- */

static int certificate_take(Buf *out, unsigned char *der, int n) {
        int r = n > 0 ? buf_append(out, (const char *)der, (size_t)n) : error_origin(-ENOMEM);

        OPENSSL_clear_free(der, n > 0 ? (size_t)n : 0);
        return r;
}

static int certificate_put(CertificatePair *pair, const EVP_PKEY *key, X509 *cert) {
        unsigned char *der = NULL;
        unsigned n = sizeof(pair->digest);
        int r = i2d_PrivateKey(key, &der);

        r = certificate_take(&pair->key, der, r);
        if (r)
                return error_trace(r);
        der = NULL;
        r = i2d_X509(cert, &der);
        r = certificate_take(&pair->certificate, der, r);
        if (r)
                return error_trace(r);
        return X509_digest(cert, EVP_sha256(), pair->digest, &n) ? 0 : error_origin(-ENOMEM);
}

int certificate_pair_make(CertificatePair *ret, int days) {
        CertificatePair pair = {.key = BUF_NULL, .certificate = BUF_NULL};
        EVP_PKEY *key = EVP_EC_gen("P-256");
        X509 *cert = key ? certificate_make(key, days, NULL) : NULL;
        int r = cert ? certificate_put(&pair, key, cert) : error_origin(-ENOMEM);

        X509_free(cert);
        EVP_PKEY_free(key);
        ERR_clear_error();
        if (r)
                certificate_pair_deinit(&pair);
        else
                *ret = pair;
        return r;
}

void certificate_pair_deinit(CertificatePair *pair) {
        if (pair->key.data)
                explicit_bzero(pair->key.data, pair->key.n);
        buf_deinit(&pair->key);
        buf_deinit(&pair->certificate);
}
