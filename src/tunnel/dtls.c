/* SPDX-License-Identifier: MIT */
#include "tunnel/dtls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509.h>

#include "base/macro.h"

struct Dtls {
        SSL *ssl;
        DtlsOutput output;
        void *data;
        Str input; /* the datagram that was not read yet */
};

/* ---- what OpenSSL reads from and writes to: one datagram each time ---------------------------- */

static int dtls_bio_read(BIO *bio, char *to, int n) {
        Dtls *dtls = BIO_get_data(bio);
        size_t n_read = MIN(dtls->input.n, (size_t)MAX(n, 0));

        BIO_clear_retry_flags(bio);
        if (dtls->input.n == 0) {
                BIO_set_retry_read(bio);
                return -1;
        }
        memcpy(to, dtls->input.data, n_read);
        dtls->input = STR_NULL;
        return (int)n_read;
}

static int dtls_bio_write(BIO *bio, const char *from, int n) {
        Dtls *dtls = BIO_get_data(bio);

        BIO_clear_retry_flags(bio);
        if (n > 0)
                dtls->output(dtls->data, from, (size_t)n);
        return n;
}

static long dtls_bio_ctrl(_unused_ BIO *bio, int command, _unused_ long number, _unused_ void *pointer) {
        switch (command) {
        case BIO_CTRL_FLUSH: return 1;
        case BIO_CTRL_DGRAM_QUERY_MTU:
        case BIO_CTRL_DGRAM_GET_FALLBACK_MTU: return DTLS_MTU;
        case BIO_CTRL_DGRAM_GET_MTU_OVERHEAD: return 28;
        default: return 0;
        }
}

static BIO_METHOD *dtls_bio_method(void) {
        static BIO_METHOD *method; /* a constant that OpenSSL wants made at run time */

        if (method)
                return method;
        method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "datagram");
        if (method) {
                BIO_meth_set_read(method, dtls_bio_read);
                BIO_meth_set_write(method, dtls_bio_write);
                BIO_meth_set_ctrl(method, dtls_bio_ctrl);
        }
        return method;
}

/* ---- contexts -------------------------------------------------------------------------------- */

/* A chain means nothing here: the fingerprint, or what is proved inside, says who it is. Nothing of the chain is looked at. */
static int dtls_verify(_unused_ X509_STORE_CTX *store, _unused_ void *data) {
        return 1;
}

static int dtls_context_fill(SSL_CTX *context, Str key, Str certificate) {
        const unsigned char *at = (const unsigned char *)certificate.data, *key_at = (const void *)key.data;
        X509 *x509 = d2i_X509(NULL, &at, (long)certificate.n);
        EVP_PKEY *pkey = d2i_AutoPrivateKey(NULL, &key_at, (long)key.n);
        bool ok = x509 && pkey && SSL_CTX_set_min_proto_version(context, DTLS1_2_VERSION) == 1 &&
                  SSL_CTX_use_certificate(context, x509) == 1 &&
                  SSL_CTX_use_PrivateKey(context, pkey) == 1 && SSL_CTX_check_private_key(context) == 1;

        X509_free(x509);
        EVP_PKEY_free(pkey);
        return ok ? 0 : -EINVAL;
}

int dtls_context_new(SSL_CTX **ret, Str key, Str certificate) {
        SSL_CTX *context = SSL_CTX_new(DTLS_method());
        int r = context ? dtls_context_fill(context, key, certificate) : -ENOMEM;

        if (r) {
                SSL_CTX_free(context);
                ERR_clear_error();
                return r;
        }
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
        SSL_CTX_set_cert_verify_callback(context, dtls_verify, NULL);
        SSL_CTX_set_options(context, SSL_OP_NO_QUERY_MTU | SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
        SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
        SSL_CTX_set_read_ahead(context, 1);
        *ret = context;
        return 0;
}

/* ---- associations ---------------------------------------------------------------------------- */

int dtls_new(Dtls **ret, SSL_CTX *context, bool is_server, DtlsOutput output, void *data) {
        Dtls *dtls = calloc(1, sizeof(*dtls));
        BIO *bio = dtls_bio_method() ? BIO_new(dtls_bio_method()) : NULL;

        if (dtls)
                dtls->ssl = SSL_new(context);
        if (!dtls || !bio || !dtls->ssl) {
                BIO_free(bio);
                dtls_free(dtls);
                return -ENOMEM;
        }
        dtls->output = output;
        dtls->data = data;
        BIO_set_data(bio, dtls);
        BIO_set_init(bio, 1);
        SSL_set_bio(dtls->ssl, bio, bio);
        SSL_set_mtu(dtls->ssl, DTLS_MTU);
        DTLS_set_link_mtu(dtls->ssl, DTLS_MTU + 28);
        if (is_server)
                SSL_set_accept_state(dtls->ssl);
        else
                SSL_set_connect_state(dtls->ssl);
        *ret = dtls;
        return 0;
}

Dtls *dtls_free(Dtls *dtls) {
        if (dtls) {
                SSL_free(dtls->ssl);
                free(dtls);
        }
        return NULL;
}

void dtls_input(Dtls *dtls, Str datagram) {
        dtls->input = datagram;
}

static int dtls_condition(Dtls *dtls, int r) {
        int error = SSL_get_error(dtls->ssl, r);

        ERR_clear_error();
        if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
                return DTLS_E_AGAIN;
        return error == SSL_ERROR_ZERO_RETURN ? DTLS_E_CLOSED : DTLS_E_BROKEN;
}

int dtls_shake(Dtls *dtls) {
        int r = SSL_do_handshake(dtls->ssl);

        return r == 1 ? 0 : dtls_condition(dtls, r);
}

int dtls_read(Dtls *dtls, void *to, size_t max, size_t *ret_n) {
        int r = SSL_read(dtls->ssl, to, (int)max);

        if (r <= 0)
                return dtls_condition(dtls, r);
        *ret_n = (size_t)r;
        return 0;
}

int dtls_write(Dtls *dtls, const void *record, size_t n) {
        int r = SSL_write(dtls->ssl, record, (int)n);

        return r > 0 ? 0 : dtls_condition(dtls, r);
}

void dtls_shutdown(Dtls *dtls) {
        if (SSL_is_init_finished(dtls->ssl))
                SSL_shutdown(dtls->ssl);
        ERR_clear_error();
}

int dtls_timeout_ms(Dtls *dtls) {
        struct timeval left;

        if (SSL_is_init_finished(dtls->ssl) || DTLSv1_get_timeout(dtls->ssl, &left) != 1)
                return -1;
        return (int)(left.tv_sec * 1000 + (left.tv_usec + 999) / 1000);
}

int dtls_timeout(Dtls *dtls) {
        int r = (int)DTLSv1_handle_timeout(dtls->ssl);

        ERR_clear_error();
        return r < 0 ? DTLS_E_BROKEN : 0;
}

bool dtls_fingerprint(const Dtls *dtls, uint8_t ret[static DTLS_FINGERPRINT]) {
        X509 *x509 = SSL_get0_peer_certificate(dtls->ssl);
        unsigned n = DTLS_FINGERPRINT;

        return x509 && X509_digest(x509, EVP_sha256(), ret, &n) == 1;
}
