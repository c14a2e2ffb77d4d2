#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * HttpServer: one server that somebody asked for (`serve`): its address, its token, who knocks at it. It is the context
 * of its Endpoint and lives as long. Which servers there are, also after a crash: daemon/web-servers.h.
 */
#include "core/endpoint.h"
#include "core/web/tokens.h"
#include "dialect/http/http-auth.h"
#include "wire/address.h"
#include "wire/http-host.h"
#include "wire/tls.h"

enum { HTTP_HOST_MAX = ADDRESS_TEXT_MAX, HTTP_WHERE_MAX = HTTP_HOST_MAX + 8, HTTP_NAME_MAX = 256 };

typedef struct HttpServer {
        char host[HTTP_HOST_MAX]; /* an address */
        uint16_t port;
        int fd;                   /* bound already, for the next opening; -1: none */
        char name[HTTP_NAME_MAX]; /* of this machine */
        WebScope scope;
        char digest[SHA256_HEX_MAX]; /* of its token */
        Token *token;                /* while it listens */
        TlsServer *tls;              /* NULL: it speaks plainly */
        HttpPeers peers;
        HttpRequest *spare; /* one that is over, wiped: the next has its memory. NULL: none */
} HttpServer;

enum { _HTTP_SERVER_E_SUCCESS, HTTP_SERVER_E_IN_USE, HTTP_SERVER_E_ADDRESS };

typedef struct HttpServerSpec {
        const char *host;
        uint16_t port; /* 0: one that is free */
        WebScope scope;
        const char *digest;
        TlsServer *tls; /* taken if it succeeds; NULL: none */
        bool is_bound;  /* bind it now: what cannot be bound is not made. Else it is when it is opened */
} HttpServerSpec;

/* Makes the endpoint, which is to be opened then. Conditions: HTTP_SERVER_E_IN_USE, HTTP_SERVER_E_ADDRESS; errno
 * says which. */
int http_server_new(Endpoint **ret, Daemon *daemon, const HttpServerSpec *spec);
HttpServer *http_server_of(const Endpoint *endpoint);   /* NULL: it is none */
bool http_server_is_anywhere(const HttpServer *server); /* at all addresses of this machine */
bool http_server_has_name(const HttpServer *server, const HttpHost *host);
/* An address, or localhost, as it is kept. False: it is none. */
bool http_server_host(const char *said, char out[HTTP_HOST_MAX]);
bool http_host_is_of_this_machine(const char *host); /* one that is kept: only this machine reaches it */
/* As it stands in an address of a page: "127.0.0.1:80", "[::1]:80". */
void http_server_where(const HttpServer *server, char out[HTTP_WHERE_MAX]);
