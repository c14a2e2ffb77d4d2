#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * HttpServer: one server that somebody asked for (`serve`): its address, its token, who knocks at it. It is the context
 * of its Endpoint and lives as long. Which servers there are, also after a crash: daemon/web-servers.h.
 */
#include "core/endpoint.h"
#include "core/web/tokens.h"
#include "dialect/http/http-auth.h"
#include "wire/http-host.h"

enum { HTTP_HOST_MAX = 16, HTTP_NAME_MAX = 256 };

typedef struct HttpServer {
        char host[HTTP_HOST_MAX]; /* IPv4, as it was said */
        uint16_t port;
        int fd;          /* bound already, for the next opening; -1: none */
        char name[HTTP_NAME_MAX]; /* of this machine */
        WebScope scope;
        char digest[SHA256_HEX_MAX]; /* of its token */
        Token *token;                /* while it listens */
        HttpPeers peers;
        size_t n_away; /* clients of it that belong to another endpoint while a call of theirs lasts */
} HttpServer;

enum { _HTTP_SERVER_E_SUCCESS, HTTP_SERVER_E_IN_USE, HTTP_SERVER_E_ADDRESS };

typedef struct HttpServerSpec {
        const char *host;
        uint16_t port; /* 0: one that is free */
        WebScope scope;
        const char *digest;
        bool is_bound; /* bind it now: what cannot be bound is not made. Else it is when it is opened */
} HttpServerSpec;

/* Makes the endpoint, which is to be opened then. Conditions: HTTP_SERVER_E_IN_USE, HTTP_SERVER_E_ADDRESS; errno
 * says which. */
int http_server_new(Endpoint **ret, Daemon *daemon, const HttpServerSpec *spec);
HttpServer *http_server_of(const Endpoint *endpoint); /* NULL: it is none */
bool http_server_has_name(const HttpServer *server, const HttpHost *host);
/* An IPv4 address, or localhost, as it is kept. False: it is none. */
bool http_server_host(const char *said, char out[HTTP_HOST_MAX]);
