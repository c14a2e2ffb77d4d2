/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "http/endpoint"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "core/daemon.h"
#include "dialect/http/http-request.h"
#include "dialect/http/http-server.h"
#include "dialect/http/http.h"
#include "wire/socket.h"

HttpServer *http_server_of(const Endpoint *endpoint) {
        return endpoint->type == &http_endpoint ? endpoint->context : NULL;
}

bool http_endpoint_is_loopback(const Endpoint *endpoint) {
        const HttpServer *server = http_server_of(endpoint);

        return server && http_host_is_of_this_machine(server->host);
}

bool http_endpoint_is_secure(const Endpoint *endpoint) {
        const HttpServer *server = http_server_of(endpoint);

        return server && server->tls;
}

bool http_server_host(const char *said, char out[HTTP_HOST_MAX]) {
        struct sockaddr_storage address;
        TcpEnd end;

        if (!strcmp(said, "localhost"))
                said = "127.0.0.1";
        if (!address_parse(said, 0, &address) || !address_from_socket(&address, &end))
                return false;
        address_text(&end.ip, out);
        return true;
}

bool http_host_is_of_this_machine(const char *host) {
        struct sockaddr_storage address;
        TcpEnd end;

        return address_parse(host, 0, &address) && address_from_socket(&address, &end) &&
               address_is_loopback(&end.ip);
}

bool http_server_is_anywhere(const HttpServer *server) {
        return !strcmp(server->host, "0.0.0.0") || !strcmp(server->host, "::");
}

void http_server_where(const HttpServer *server, char out[HTTP_WHERE_MAX]) {
        snprintf(out, HTTP_WHERE_MAX, strchr(server->host, ':') ? "[%s]:%u" : "%s:%u", server->host,
                 server->port);
}

/* As its network knows it, too. */
bool http_server_has_name(const HttpServer *server, const HttpHost *host) {
        char local[HTTP_NAME_MAX + 8];

        if (!*server->name)
                return false;
        snprintf(local, sizeof(local), "%s.local", server->name);
        return http_host_name_is(host, str_from(server->name)) || http_host_name_is(host, str_from(local));
}

/* ---- life ------------------------------------------------------------------------------------ */

static int http_bind(HttpServer *server) {
        if (server->fd >= 0)
                return 0;
        return socket_listen_tcp(server->host, server->port, &server->fd, &server->port);
}

static int http_open(Endpoint *endpoint) {
        HttpServer *server = endpoint->context;
        Daemon *daemon = endpoint->daemon;
        char where[HTTP_WHERE_MAX];
        int r = http_bind(server);

        http_server_where(server, where);
        if (r)
                return endpoint_refuse(endpoint, ENDPOINT_E_REFUSED, "cannot listen on %s: %s", where,
                                       strerror(-r));
        if (gethostname(server->name, sizeof(server->name) - 1))
                server->name[0] = 0;
        endpoint_set_address(endpoint, "%s://%s", server->tls ? "https" : "http", where);
        server->token = tokens_begin_server(daemon->tokens, server->scope, str_from(endpoint->where),
                                            server->digest);
        r = server->token ? endpoint_listen(endpoint, server->fd) : -ENOMEM;
        if (r && server->token)
                server->fd = -1; /* endpoint_listen() has closed it */
        if (r) {
                tokens_end_server(daemon->tokens, server->token, "server closed");
                server->token = NULL;
                return error_trace(r);
        }
        server->fd = -1; /* the listener's */
        endpoint_warn(
                endpoint,
                http_endpoint_is_loopback(endpoint) || server->tls
                        ? NULL
                        : "served without TLS at an address that other machines can reach: who reads along "
                          "on the network sees the token");
        return 0;
}

static void http_close(Endpoint *endpoint) {
        HttpServer *server = endpoint->context;

        tokens_end_server(endpoint->daemon->tokens, server->token, "server closed");
        server->token = NULL;
}

static void http_free(Endpoint *endpoint) {
        HttpServer *server = endpoint->context;

        if (!server)
                return;
        close_fd(server->fd);
        http_peers_deinit(&server->peers);
        http_request_drop(server->spare);
        tls_server_free(server->tls);
        free(server);
}

/* Whoever it is: the token decides. */
static bool http_admit(_unused_ Endpoint *endpoint, _unused_ const ConnPeer *peer) {
        return true;
}

static int http_secure(Endpoint *endpoint, Conn *conn) {
        const HttpServer *server = endpoint->context;

        return server->tls ? error_trace(tls_begin(server->tls, conn)) : 0;
}

const EndpointType http_endpoint = {
        .name = "http",
        .dialect = &http_dialect,
        .limits = {.high_water = 256 << 10,
                   .low_water = 64 << 10,
                   .hard_limit = 32 << 20,
                   .handshake_ms = HTTP_HEAD_MS},
        .is_beside = true,
        .served_exit = EXIT_STATUS_BIND,
        .open = http_open,
        .close = http_close,
        .free = http_free,
        .admit = http_admit,
        .secure = http_secure,
};

/* ---- making one ------------------------------------------------------------------------------ */

static bool http_is_taken(const Daemon *daemon, const HttpServer *server) {
        for (const Endpoint *e = daemon->endpoints; e; e = e->next) {
                const HttpServer *other = http_server_of(e);

                if (other && !e->is_removed && server->port && other->port == server->port &&
                    !strcmp(other->host, server->host))
                        return true;
        }
        return false;
}

static int http_bind_now(HttpServer *server) {
        int r = http_bind(server);

        if (!r)
                return 0;
        errno = -r;
        if (r == -EADDRINUSE)
                return HTTP_SERVER_E_IN_USE;
        return r == -EADDRNOTAVAIL || r == -EACCES || r == -EPERM ? HTTP_SERVER_E_ADDRESS : error_trace(r);
}

static int http_enlist(Endpoint **ret, Daemon *daemon, HttpServer *server) {
        Endpoint **end = &daemon->endpoints;
        char where[HTTP_WHERE_MAX];
        int r;

        http_server_where(server, where);
        while (*end)
                end = &(*end)->next;
        r = endpoint_new(end, daemon, &http_endpoint, where);
        if (r)
                return error_trace(r);
        (*end)->context = server;
        *ret = *end;
        return 0;
}

int http_server_new(Endpoint **ret, Daemon *daemon, const HttpServerSpec *spec) {
        HttpServer *server = calloc(1, sizeof(*server));
        int r;

        if (!server)
                return error_origin(-ENOMEM);
        *server = (HttpServer){.port = spec->port, .scope = spec->scope, .fd = -1};
        snprintf(server->digest, sizeof(server->digest), "%s", spec->digest);
        errno = EINVAL;
        r = http_server_host(spec->host, server->host) ? 0 : HTTP_SERVER_E_ADDRESS;
        errno = r ? EINVAL : EADDRINUSE;
        if (!r && http_is_taken(daemon, server))
                r = HTTP_SERVER_E_IN_USE;
        if (!r && spec->is_bound)
                r = http_bind_now(server);
        if (!r)
                r = http_enlist(ret, daemon, server);
        if (r) {
                close_fd(server->fd);
                free(server);
        } else
                server->tls = spec->tls;
        return r;
}
