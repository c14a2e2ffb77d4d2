/* SPDX-License-Identifier: MIT */
#include "wire/tls.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/error.h"
#include "base/macro.h"
#include "wire/tls-internal.h"

enum { TLS_RECORD = 16 << 10 };

typedef struct Tls {
        ConnFilter filter;
        SSL *ssl;
        bool is_over; /* the peer has ended, or broke the protocol: nothing is read any more */
        bool is_broken;
} Tls;

static Tls *tls_of(ConnFilter *filter) {
        return container_of(filter, Tls, filter);
}

static int tls_attach(ConnFilter *filter, int fd) {
        return SSL_set_fd(tls_of(filter)->ssl, fd) == 1 ? 0 : error_origin(-ENOMEM);
}

static ConnFilter *tls_free(ConnFilter *filter) {
        Tls *tls = tls_of(filter);

        SSL_free(tls->ssl);
        free(tls);
        return NULL;
}

/* What an operation that did not succeed means: 0: the end; negative: -EAGAIN, or it is broken. */
static int tls_trouble(Tls *tls, int r) {
        int error = SSL_get_error(tls->ssl, r), saved = errno;
        unsigned long reason = ERR_peek_error();

        ERR_clear_error();
        if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
                return -EAGAIN;
        tls->is_over = true;
        if (error == SSL_ERROR_ZERO_RETURN)
                return 0;
        /* Most clients just close. What they had not finished is not taken for whole: frames have lengths. */
        if (error == SSL_ERROR_SSL && ERR_GET_REASON(reason) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
                return 0;
        if (error == SSL_ERROR_SYSCALL && (!saved || saved == ECONNRESET || saved == EPIPE))
                return 0;
        tls->is_broken = true;
        return -EPROTO;
}

static ssize_t tls_receive(ConnFilter *filter, char *to, size_t n) {
        Tls *tls = tls_of(filter);
        size_t total = 0, k;
        int r = -EAGAIN;

        filter->has_more = filter->wants_room = false;
        while (total < n && !tls->is_over) {
                ERR_clear_error();
                errno = 0;
                r = SSL_read_ex(tls->ssl, to + total, n - total, &k);
                if (r == 1) {
                        total += k;
                        continue;
                }
                filter->wants_room = SSL_want_write(tls->ssl);
                r = tls_trouble(tls, r);
                break;
        }
        filter->wants_input = filter->wants_input && !SSL_is_init_finished(tls->ssl);
        filter->has_more = total == n ? SSL_has_pending(tls->ssl) : total && tls->is_over;
        if (total)
                return (ssize_t)total;
        return !tls->is_over ? -EAGAIN : tls->is_broken ? -EPROTO : 0;
}

/* A record is made of what fits into one, so that a header and what follows it are one; it has to begin with the same bytes when it is tried again, which
 * it does, as the queue only grows at its end. */
static size_t tls_gather(const struct iovec *vectors, size_t n, char to[TLS_RECORD]) {
        size_t total = 0;

        for (size_t i = 0; i < n && total < TLS_RECORD; i++) {
                size_t k = MIN(vectors[i].iov_len, TLS_RECORD - total);

                memcpy(to + total, vectors[i].iov_base, k);
                total += k;
        }
        return total;
}

static ssize_t tls_send(void *user, const struct iovec *vectors, size_t n) {
        Tls *tls = tls_of(user);
        char record[TLS_RECORD];
        const void *from = vectors[0].iov_base;
        size_t n_from = MIN(vectors[0].iov_len, (size_t)TLS_RECORD), k;
        int r;

        if (tls->is_broken)
                return -EPROTO;
        if (n > 1 && n_from < TLS_RECORD) {
                n_from = tls_gather(vectors, n, record);
                from = record;
        }
        ERR_clear_error();
        errno = 0;
        r = SSL_write_ex(tls->ssl, from, n_from, &k);
        if (r == 1)
                return (ssize_t)k;
        tls->filter.wants_input = SSL_want_read(tls->ssl);
        r = tls_trouble(tls, r);
        return r ? r : -EPIPE;
}

/* Once, and as far as there is room: who does not hear it hears the end of the connection. */
static void tls_end(ConnFilter *filter) {
        Tls *tls = tls_of(filter);

        if (!tls->is_broken && SSL_is_init_finished(tls->ssl))
                (void)SSL_shutdown(tls->ssl);
        ERR_clear_error();
}

int tls_begin(const TlsServer *server, Conn *conn) {
        Tls *tls = calloc(1, sizeof(*tls));

        if (!tls)
                return error_origin(-ENOMEM);
        tls->filter = (ConnFilter){.attach = tls_attach,
                                   .receive = tls_receive,
                                   .send = tls_send,
                                   .end = tls_end,
                                   .free = tls_free,
                                   .n_bytes = TLS_CONN_BYTES};
        tls->ssl = SSL_new(server->context);
        if (!tls->ssl) {
                ERR_clear_error();
                free(tls);
                return error_origin(-ENOMEM);
        }
        SSL_set_accept_state(tls->ssl);
        return error_trace(conn_set_filter(conn, &tls->filter));
}
