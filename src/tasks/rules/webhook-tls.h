#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * WebhookTls: the TLS of one webhook, over a socket that does not block. The peer has to show a certificate
 * from somebody we trust, for the very host of the address; there is no way around it. Connections that
 * others open to us have their own (wire/tls.h). Owned by its Webhook.
 */
#include <sys/types.h>

#include "tasks/rules/webhook.h"

typedef struct WebhookTls WebhookTls;

/* On a worker: whom we trust is read from files. ca_file: instead of the system's store; NULL: that.
 * reterr says why it failed. */
int webhook_tls_new(WebhookTls **ret, const char *host, const char *ca_file, char reterr[WEBHOOK_WHY_MAX]);
WebhookTls *webhook_tls_free(WebhookTls *tls);
int webhook_tls_attach(WebhookTls *tls, int fd); /* connected, or about to be; stays the caller's */

/* As send(2) and recv(2), the handshake included: bytes; 0: the end; -EAGAIN: when the socket is ready for
 * *ret_events; another negative number: reterr says why. */
ssize_t webhook_tls_send(WebhookTls *tls, Str bytes, unsigned *ret_events, char reterr[WEBHOOK_WHY_MAX]);
ssize_t webhook_tls_receive(WebhookTls *tls, char *bytes, size_t n, unsigned *ret_events,
                            char reterr[WEBHOOK_WHY_MAX]);
