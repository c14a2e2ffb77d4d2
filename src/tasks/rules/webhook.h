#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Webhook: one event sent to one http:// or https:// address as a POST, on the loop, within WEBHOOK_MS.
 *
 * Where it may go is decided here, not by who wrote the rule: to this machine (localhost, 127.0.0.0/8, ::1),
 * or to a host that webhook.allow_hosts names (`host` or `host:port`). A name that is allowed is resolved on
 * a worker, which also reads whom https trusts; localhost is never asked for. Redirects are not followed,
 * answers are not kept, only their status counts: 2xx is success. Owned by whoever sent it, until done()
 * runs or webhook_cancel().
 */
#include "base/loop/loop.h"
#include "base/str.h"

typedef struct Webhook Webhook;

enum { WEBHOOK_MS = 10000, WEBHOOK_URL_MAX = 2048, WEBHOOK_WHY_MAX = 160 };
enum { _WEBHOOK_E_SUCCESS, WEBHOOK_E_REFUSED };

typedef struct WebhookTarget {
        char host[256]; /* without brackets */
        char port[6];
        char path[WEBHOOK_URL_MAX]; /* with the query; begins with a slash */
        bool is_tls;
        bool is_local; /* this machine, by its numbers or as localhost */
} WebhookTarget;

typedef struct WebhookSpec {
        Str url, body;    /* copied */
        const Str *hosts; /* that are allowed besides this machine */
        size_t n_hosts;
        const char *ca_file; /* whom https trusts; copied; NULL: the system's store */
        int64_t limit_ms;    /* 0: WEBHOOK_MS */
        void (*done)(void *user, const char *error); /* NULL: sent. Once, never from webhook_send(). */
        void *user;
} WebhookSpec;

/* Takes an address apart. Condition: WEBHOOK_E_REFUSED; reterr says why. */
int webhook_target(WebhookTarget *ret, Str url, char reterr[WEBHOOK_WHY_MAX]);
bool webhook_is_allowed(const WebhookTarget *target, const Str *hosts, size_t n_hosts);
/* Condition: WEBHOOK_E_REFUSED; reterr says why. */
int webhook_send(Webhook **ret, Loop *loop, const WebhookSpec *spec, char reterr[WEBHOOK_WHY_MAX]);
Webhook *webhook_cancel(Webhook *webhook); /* done() does not run; returns NULL */
