#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Who may ask for what over HTTP: the Host that a request names, the Origin that a page has, the token that it shows.
 * Which tokens there are is core/web/tokens.h; what their holders may do is core/principal.
 *
 * A refusal has no body and does not say why. At most HTTP_REFUSED_FREE of them a minute are given to an address at
 * once, the others after HTTP_REFUSED_MS each; while HTTP_REFUSED_WAITING of an address wait, further ones get 429. A
 * right token is never kept waiting.
 */
#include "core/client.h"
#include "core/web/tokens.h"

typedef struct HttpRequest HttpRequest;
typedef struct HttpPeer HttpPeer;

enum {
        HTTP_REFUSED_FREE = 10,
        HTTP_REFUSED_MS = 1000,
        HTTP_REFUSED_WAITING = 32,
        HTTP_STRANGERS_MAX = 256, /* connections of an address that have not shown a token; more: 429 */
        HTTP_PEERS_MAX = 4096,    /* addresses that are remembered; more are taken for one */
};

/* One address that has connections or was refused lately. */
struct HttpPeer {
        HttpPeer *next;
        struct in6_addr network; /* address_network() */
        size_t n_visitors;       /* connections */
        size_t n_strangers;      /* … that have shown no token yet */
        size_t n_waiting;        /* refusals that are on their way */
        unsigned n_refused;      /* in this minute */
        int64_t minute;
};

/* What a connection is to its server. Embedded. */
typedef struct HttpVisitor {
        Client *client;
        HttpPeer *peer; /* NULL: not at a server of ours (the native socket), or without memory */
        bool is_stranger;
        bool is_waiting; /* its refusal is on its way */
        Timer delay;
} HttpVisitor;

typedef struct HttpPeers {
        HttpPeer *first;
        size_t n;
} HttpPeers;

void http_peers_deinit(HttpPeers *peers);
void http_visitor_init(HttpVisitor *visitor, Client *client);
void http_visitor_deinit(HttpVisitor *visitor);

/* Whether the Host of the request is one of ours. */
bool http_auth_host(const HttpRequest *request);
/* then() follows if the route is for this caller; else the request is answered, now or later. */
void http_auth(HttpRequest *request, void (*then)(HttpRequest *request));
/* Behind a body: whether the token still lets the caller in, and is that of http_auth_token() in this turn. */
bool http_auth_holds(HttpRequest *request);
/* The same with a token that the body has, on a route that is open. */
bool http_auth_show(HttpRequest *request, Str secret);
/* Answers that this is nothing for the caller, as slowly as its address deserves. */
void http_auth_refuse(HttpRequest *request);
/* The token that let the caller in; NULL: it needed none. Good in this turn. */
Token *http_auth_token(const HttpRequest *request);

/* http-endpoint.c */
bool http_endpoint_is_loopback(const Endpoint *endpoint);
bool http_endpoint_is_secure(const Endpoint *endpoint); /* it speaks TLS */
