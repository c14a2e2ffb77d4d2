/* SPDX-License-Identifier: MIT */
/*
 * Certificates of servers: from files of the user's, or one of our own.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/macro.h"
#include "wire/certificate.h"
#include "wire/tls-internal.h"

/* ---- the context ----------------------------------------------------------------------------- */

/* Nobody is there to be asked. */
static int tls_no_passphrase(_unused_ char *to, _unused_ int n, _unused_ int is_write, _unused_ void *user) {
        return -1;
}

static int tls_choose_alpn(_unused_ SSL *ssl, const unsigned char **out, unsigned char *n_out,
                           const unsigned char *in, unsigned n_in, _unused_ void *user) {
        static const unsigned char ours[] = "\x08http/1.1";
        unsigned char *chosen;

        if (SSL_select_next_proto(&chosen, n_out, ours, sizeof(ours) - 1, in, n_in) !=
            OPENSSL_NPN_NEGOTIATED)
                return SSL_TLSEXT_ERR_NOACK;
        *out = chosen;
        return SSL_TLSEXT_ERR_OK;
}

static int tls_server_new(TlsServer **ret) {
        TlsServer *server = calloc(1, sizeof(*server));

        if (!server)
                return error_origin(-ENOMEM);
        server->context = SSL_CTX_new(TLS_server_method());
        if (!server->context || !SSL_CTX_set_min_proto_version(server->context, TLS1_2_VERSION)) {
                tls_server_free(server);
                return error_origin(-ENOMEM);
        }
        SSL_CTX_set_options(server->context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                                     SSL_OP_CIPHER_SERVER_PREFERENCE |
                                                     SSL_OP_CLEANSE_PLAINTEXT);
        SSL_CTX_set_mode(server->context, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                                  SSL_MODE_RELEASE_BUFFERS);
        SSL_CTX_set_session_cache_mode(server->context, SSL_SESS_CACHE_OFF);
        SSL_CTX_set_num_tickets(server->context, 1);
        SSL_CTX_set_default_passwd_cb(server->context, tls_no_passphrase);
        SSL_CTX_set_alpn_select_cb(server->context, tls_choose_alpn, NULL);
        *ret = server;
        return 0;
}

TlsServer *tls_server_free(TlsServer *server) {
        if (!server)
                return NULL;
        SSL_CTX_free(server->context);
        ERR_clear_error();
        free(server);
        return NULL;
}

static int tls_unusable(char why[TLS_WHY_MAX], const char *path, const char *what) {
        char detail[160];

        ERR_error_string_n(ERR_peek_error(), detail, sizeof(detail));
        snprintf(why, TLS_WHY_MAX, "%.60s: %s (%.120s)", path, what, detail);
        ERR_clear_error();
        return TLS_E_UNUSABLE;
}

static int tls_server_use(TlsServer *server, const char *cert_path, const char *key_path,
                          char why[TLS_WHY_MAX]) {
        ERR_clear_error();
        if (SSL_CTX_use_certificate_chain_file(server->context, cert_path) != 1)
                return tls_unusable(why, cert_path, "no certificate in PEM");
        if (SSL_CTX_use_PrivateKey_file(server->context, key_path, SSL_FILETYPE_PEM) != 1)
                return tls_unusable(why, key_path,
                                    "no key in PEM without a passphrase for this certificate");
        if (SSL_CTX_check_private_key(server->context) != 1)
                return tls_unusable(why, key_path, "not the key of the certificate");
        return 0;
}

int tls_server_load(TlsServer **ret, const char *cert_path, const char *key_path, char why[TLS_WHY_MAX]) {
        TlsServer *server = NULL;
        int r = tls_server_new(&server);

        if (r)
                return error_trace(r);
        r = tls_server_use(server, cert_path, key_path, why);
        if (r)
                tls_server_free(server);
        else
                *ret = server;
        return r;
}

void tls_server_fingerprint(const TlsServer *server, char out[TLS_FINGERPRINT_MAX]) {
        const X509 *cert = SSL_CTX_get0_certificate(server->context);
        unsigned char digest[EVP_MAX_MD_SIZE];
        unsigned n = 0;

        out[0] = '\0';
        if (!cert || !X509_digest(cert, EVP_sha256(), digest, &n) || n * 3 > TLS_FINGERPRINT_MAX)
                n = 0;
        for (unsigned i = 0; i < n; i++)
                snprintf(out + (size_t)i * 3, 4, "%02X%s", digest[i], i + 1 < n ? ":" : "");
}

/* ---- one of our own -------------------------------------------------------------------------- */

static bool tls_is_address(const char *host) {
        unsigned char address[sizeof(struct in6_addr)];

        return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

/* Only what a name can be made of goes into a text that OpenSSL takes apart again. */
static bool tls_is_name(const char *host) {
        return *host && strlen(host) < 254 &&
               strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
                       strlen(host);
}

enum { TLS_NAMES_MAX = 2048 };

static void tls_names(const char *host, char names[TLS_NAMES_MAX]) {
        char own[256] = "";
        size_t n = (size_t)snprintf(names, TLS_NAMES_MAX, "DNS:localhost,IP:127.0.0.1,IP:::1");

        if (!gethostname(own, sizeof(own) - 1) && tls_is_name(own))
                n += (size_t)snprintf(names + n, TLS_NAMES_MAX - n, ",DNS:%s,DNS:%s.local", own, own);
        if (host && tls_is_address(host))
                (void)snprintf(names + n, TLS_NAMES_MAX - n, ",IP:%s", host);
        else if (host && tls_is_name(host))
                (void)snprintf(names + n, TLS_NAMES_MAX - n, ",DNS:%s", host);
}

static int tls_write_pem(BIO *to, EVP_PKEY *key, X509 *cert, const char *path) {
        char *text = NULL;
        long n;

        if (PEM_write_bio_PrivateKey(to, key, NULL, NULL, 0, NULL, NULL) != 1 ||
            PEM_write_bio_X509(to, cert) != 1)
                return error_origin(-ENOMEM);
        n = BIO_get_mem_data(to, &text);
        return error_trace(file_replace(path, (Str){text, (size_t)n}, 0600, FILE_DURABLE));
}

static int tls_make(const char *path, const char *host) {
        EVP_PKEY *key = EVP_EC_gen("P-256");
        BIO *pem = BIO_new(BIO_s_secmem());
        char names[TLS_NAMES_MAX];
        X509 *cert;
        int r;

        tls_names(host, names);
        cert = key ? certificate_make(key, TLS_DAYS, names) : NULL;
        r = cert && pem ? tls_write_pem(pem, key, cert, path) : error_origin(-ENOMEM);

        BIO_free(pem);
        X509_free(cert);
        EVP_PKEY_free(key);
        ERR_clear_error();
        return error_trace(r);
}

/* Whether the certificate is good for a while, and for this host. */
static bool tls_server_serves(const TlsServer *server, const char *host) {
        X509 *cert = SSL_CTX_get0_certificate(server->context);
        time_t until = time(NULL) + (time_t)TLS_DAYS_LEFT * 24 * 3600;

        if (X509_cmp_time(X509_get0_notAfter(cert), &until) <= 0)
                return false;
        if (host && tls_is_address(host))
                return X509_check_ip_asc(cert, host, 0) == 1;
        return !host || !tls_is_name(host) || X509_check_host(cert, host, 0, 0, NULL) == 1;
}

int tls_server_auto(TlsServer **ret, const char *path, const char *host, char why[TLS_WHY_MAX]) {
        TlsServer *server = NULL;
        int r = tls_server_load(&server, path, path, why);

        if (r < 0)
                return error_trace(r);
        if (!r && tls_server_serves(server, host)) {
                *ret = server;
                return 0;
        }
        tls_server_free(server);
        r = tls_make(path, host);
        if (r) {
                snprintf(why, TLS_WHY_MAX, "%.120s: cannot be made: %s", path, strerror(-r));
                return error_trace(r);
        }
        return tls_server_load(ret, path, path, why);
}
