/* SPDX-License-Identifier: MIT */
#include "tasks/rules/webhook-tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"

struct WebhookTls {
        SSL_CTX *context;
        SSL *ssl;
};

WebhookTls *webhook_tls_free(WebhookTls *tls) {
        if (!tls)
                return NULL;
        SSL_free(tls->ssl);
        SSL_CTX_free(tls->context);
        free(tls);
        return NULL;
}

/* ---- whom we talk to ------------------------------------------------------------------------- */

static int trust(SSL_CTX *context, const char *ca_file, char reterr[WEBHOOK_WHY_MAX]) {
        if (ca_file ? SSL_CTX_load_verify_file(context, ca_file) : SSL_CTX_set_default_verify_paths(context))
                return 0;
        snprintf(reterr, WEBHOOK_WHY_MAX, "%s: no certificates in it",
                 ca_file ? "webhook.ca_file" : "the system's store");
        return error_origin(-EINVAL);
}

/* Numbers are compared with the numbers in the certificate, never with its names. */
static bool expect_host(SSL *ssl, const char *host) {
        struct in6_addr number;

        if (inet_pton(AF_INET, host, &number) == 1 || inet_pton(AF_INET6, host, &number) == 1)
                return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
        SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
        return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

static int webhook_tls_prepare(WebhookTls *tls, const char *host, const char *ca_file,
                               char reterr[WEBHOOK_WHY_MAX]) {
        int r;

        tls->context = SSL_CTX_new(TLS_client_method());
        if (!tls->context || !SSL_CTX_set_min_proto_version(tls->context, TLS1_2_VERSION))
                return error_origin(-ENOMEM);
        SSL_CTX_set_verify(tls->context, SSL_VERIFY_PEER, NULL);
        SSL_CTX_set_mode(tls->context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        r = trust(tls->context, ca_file, reterr);
        if (r)
                return error_trace(r);
        tls->ssl = SSL_new(tls->context);
        if (!tls->ssl || !expect_host(tls->ssl, host))
                return error_origin(-ENOMEM);
        SSL_set_connect_state(tls->ssl);
        return 0;
}

int webhook_tls_new(WebhookTls **ret, const char *host, const char *ca_file, char reterr[WEBHOOK_WHY_MAX]) {
        WebhookTls *tls = calloc(1, sizeof(*tls));
        int r;

        snprintf(reterr, WEBHOOK_WHY_MAX, "TLS: out of memory");
        if (!tls)
                return error_origin(-ENOMEM);
        r = webhook_tls_prepare(tls, host, ca_file, reterr);
        ERR_clear_error();
        if (r)
                webhook_tls_free(tls);
        else
                *ret = tls;
        return r;
}

int webhook_tls_attach(WebhookTls *tls, int fd) {
        return SSL_set_fd(tls->ssl, fd) ? 0 : error_origin(-ENOMEM);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static void explain(const WebhookTls *tls, int number, char reterr[WEBHOOK_WHY_MAX]) {
        long verdict = SSL_get_verify_result(tls->ssl);
        const char *why = ERR_reason_error_string(ERR_peek_last_error());

        if (verdict != X509_V_OK)
                snprintf(reterr, WEBHOOK_WHY_MAX, "certificate: %s", X509_verify_cert_error_string(verdict));
        else
                snprintf(reterr, WEBHOOK_WHY_MAX, "TLS: %s",
                         why      ? why
                         : number ? strerror(number)
                                  : "the other side has closed");
}

/* r: what the call said; n: so many bytes if it went well. */
static ssize_t outcome(WebhookTls *tls, int r, size_t n, unsigned *ret_events,
                       char reterr[WEBHOOK_WHY_MAX]) {
        int number = errno;

        if (r == 1)
                return (ssize_t)n;
        switch (SSL_get_error(tls->ssl, r)) {
        case SSL_ERROR_WANT_READ: *ret_events = LOOP_READ; return -EAGAIN;
        case SSL_ERROR_WANT_WRITE: *ret_events = LOOP_WRITE; return -EAGAIN;
        case SSL_ERROR_ZERO_RETURN: return 0;
        default: explain(tls, number, reterr); return -EPROTO;
        }
}

ssize_t webhook_tls_send(WebhookTls *tls, Str bytes, unsigned *ret_events, char reterr[WEBHOOK_WHY_MAX]) {
        size_t n = 0;
        int r;

        ERR_clear_error();
        errno = 0;
        r = SSL_write_ex(tls->ssl, bytes.data, bytes.n, &n);
        return outcome(tls, r, n, ret_events, reterr);
}

ssize_t webhook_tls_receive(WebhookTls *tls, char *bytes, size_t n, unsigned *ret_events,
                            char reterr[WEBHOOK_WHY_MAX]) {
        size_t n_read = 0;
        int r;

        ERR_clear_error();
        errno = 0;
        r = SSL_read_ex(tls->ssl, bytes, n, &n_read);
        return outcome(tls, r, n_read, ret_events, reterr);
}
