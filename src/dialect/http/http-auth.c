/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "http/auth"

#include "dialect/http/http-auth.h"

#include <stdlib.h>

#include "core/daemon.h"
#include "core/web/news.h"
#include "dialect/http/http-request.h"
#include "dialect/http/http-server.h"
#include "wire/http-host.h"
#include "wire/http-negotiate.h"

/* ---- addresses ------------------------------------------------------------------------------- */

static bool http_peer_is_idle(const HttpPeer *peer, int64_t minute) {
        return !peer->n_visitors && peer->minute != minute;
}

/* Those that nobody needs go when a new one comes. */
static void http_peers_prune(HttpPeers *peers, int64_t minute) {
        HttpPeer **at = &peers->first;

        while (*at) {
                HttpPeer *peer = *at;

                if (!http_peer_is_idle(peer, minute)) {
                        at = &peer->next;
                        continue;
                }
                *at = peer->next;
                peers->n--;
                free(peer);
        }
}

static HttpPeer *http_peers_find(HttpPeers *peers, struct in6_addr network, int64_t minute) {
        HttpPeer *peer = peers->first;

        while (peer && !address_eq(&peer->network, &network))
                peer = peer->next;
        if (peer)
                return peer;
        http_peers_prune(peers, minute);
        if (peers->n >= HTTP_PEERS_MAX)
                return peers->first;
        peer = calloc(1, sizeof(*peer));
        if (!peer)
                return NULL;
        *peer = (HttpPeer){.next = peers->first, .network = network, .minute = minute};
        peers->first = peer;
        peers->n++;
        return peer;
}

void http_peers_deinit(HttpPeers *peers) {
        while (peers->first) {
                HttpPeer *peer = peers->first;

                peers->first = peer->next;
                free(peer);
        }
        peers->n = 0;
}

static int64_t http_auth_minute(const Client *client) {
        return loop_now_ms(client->daemon->loop) / 60000;
}

/* ---- visitors -------------------------------------------------------------------------------- */

static void http_auth_on_delay(Timer *timer);

void http_visitor_init(HttpVisitor *visitor, Client *client) {
        HttpServer *server = http_server_of(client->endpoint);

        *visitor = (HttpVisitor){.client = client};
        timer_init(&visitor->delay, client->daemon->loop, http_auth_on_delay);
        if (!server)
                return;
        (void)principal_be_web(client, NULL); /* until it has shown a token it may call nothing */
        visitor->peer = http_peers_find(&server->peers, address_network(&conn_peer(client->conn)->ip),
                                        http_auth_minute(client));
        if (!visitor->peer)
                return;
        visitor->peer->n_visitors++;
        visitor->peer->n_strangers++;
        visitor->is_stranger = true;
}

static void http_visitor_is_known(HttpVisitor *visitor) {
        if (visitor->is_stranger)
                visitor->peer->n_strangers--;
        visitor->is_stranger = false;
}

static void http_visitor_stop_waiting(HttpVisitor *visitor) {
        if (visitor->is_waiting && visitor->peer)
                visitor->peer->n_waiting--;
        visitor->is_waiting = false;
        timer_clear(&visitor->delay);
}

void http_visitor_deinit(HttpVisitor *visitor) {
        http_visitor_stop_waiting(visitor);
        http_visitor_is_known(visitor);
        if (visitor->peer)
                visitor->peer->n_visitors--;
        visitor->peer = NULL;
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void http_auth_on_delay(Timer *timer) {
        HttpVisitor *visitor = container_of(timer, HttpVisitor, delay);
        HttpConn *conn = container_of(visitor, HttpConn, visitor);
        Client *client = visitor->client;

        http_visitor_stop_waiting(visitor);
        http_answer_status(conn->request, 403);
        client_release(client);
}

static void http_auth_log(const HttpRequest *request) {
        char address[ADDRESS_TEXT_MAX];

        address_text(&conn_peer(request->client->conn)->ip, address);
        log_notice(&request->client->daemon->log, request->client->endpoint->address,
                   "requests without a right token are refused address=%s", address);
        web_news_refused(request->client->daemon, request->client->endpoint->address, address);
}

void http_auth_refuse(HttpRequest *request) {
        HttpVisitor *visitor = &request->conn->visitor;
        HttpPeer *peer = visitor->peer;
        int64_t minute = http_auth_minute(request->client);

        request->closes |= request->head.n_body > 0 && !request->is_whole;
        if (!peer) {
                http_answer_status(request, 403);
                return;
        }
        if (peer->minute != minute)
                peer->n_refused = 0;
        peer->minute = minute;
        if (!peer->n_refused++)
                http_auth_log(request);
        if (peer->n_refused <= HTTP_REFUSED_FREE)
                http_answer_status(request, 403);
        else if (peer->n_waiting >= HTTP_REFUSED_WAITING || timer_set(&visitor->delay, HTTP_REFUSED_MS))
                http_answer_status(request, 429);
        else {
                visitor->is_waiting = true;
                peer->n_waiting++;
                client_hold(request->client);
        }
}

/* ---- Host and Origin ------------------------------------------------------------------------- */

static bool http_auth_is_literal(const HttpHost *host) {
        struct sockaddr_storage address;
        char text[ADDRESS_TEXT_MAX];

        if (host->name.n >= sizeof(text))
                return false;
        memcpy(text, host->name.data, host->name.n);
        text[host->name.n] = 0;
        return address_parse(text, 0, &address);
}

/* Names that a proxy or a network has for this machine (web.hosts). */
static bool http_auth_is_listed(const Daemon *daemon, const HttpHost *host) {
        const StrVec *hosts = &daemon->config.web_hosts;

        for (size_t i = 0; i < hosts->n; i++)
                if (http_host_name_is(host, str_from(hosts->items[i])))
                        return true;
        return false;
}

/* A page of somebody else's name that is made to point here (rebinding) names that name. Literal addresses cannot be
 * made to point elsewhere; of a server at one address only that one is ours. */
bool http_auth_host(const HttpRequest *request) {
        const Client *client = request->client;
        const HttpServer *server = http_server_of(client->endpoint);
        const HttpHost *host = &request->head.server;

        if (!server)
                return true; /* a socket of ours has no name */
        if (http_host_name_is(host, str_from(server->host)) || http_server_has_name(server, host) ||
            http_auth_is_listed(client->daemon, host))
                return true;
        if (http_endpoint_is_loopback(client->endpoint))
                return http_host_is_loopback(host);
        return http_server_is_anywhere(server) &&
               (http_auth_is_literal(host) || http_host_is_loopback(host));
}

/* Where a browser says what page it is of, that has to be one of this server. What only reads without a WebSocket is
 * let through: other pages cannot see the answer. */
static bool http_auth_origin(const HttpRequest *request) {
        Str origin;

        if (!http_head_find(&request->head, STR("Origin"), &origin))
                return true;
        if (!request->head.wants_websocket && (request->is_head || str_is(request->head.method, "GET")))
                return true;
        return http_origin_is_host(origin, request->head.host,
                                   http_endpoint_is_secure(request->client->endpoint));
}

/* ---- tokens ---------------------------------------------------------------------------------- */

/* In the order in which they are meant; the first that is there counts. */
static bool http_auth_secret(const HttpRequest *request, Str *ret) {
        HttpItems items = http_items(&request->head, STR("Sec-WebSocket-Protocol"));
        Str item;

        if (http_bearer(&request->head, ret) || http_target_find(&request->target, STR("token"), ret))
                return true;
        while (request->route->is_websocket && http_items_next(&items, &item))
                if (str_starts(item, STR("token."))) {
                        *ret = (Str){item.data + 6, item.n - 6};
                        return true;
                }
        return false;
}

Token *http_auth_token(const HttpRequest *request) {
        return request->token;
}

bool http_auth_show(HttpRequest *request, Str secret) {
        Client *client = request->client;
        const HttpServer *server = http_server_of(client->endpoint);

        if (tokens_check(client->daemon->tokens, secret, server ? server->token : NULL, &request->token))
                return false;
        if (*request->token->object && !request->route->is_of_one)
                return false;
        if (principal_be_web(client, request->token)) {
                conn_abort(client->conn, "out of memory");
                return false;
        }
        http_visitor_is_known(&request->conn->visitor);
        return true;
}

static bool http_auth_take(HttpRequest *request) {
        Str secret;

        return http_auth_secret(request, &secret) && http_auth_show(request, secret);
}

bool http_auth_holds(HttpRequest *request) {
        return request->client->is_native || http_auth_take(request);
}

void http_auth(HttpRequest *request, void (*then)(HttpRequest *request)) {
        const HttpPeer *peer = request->conn->visitor.peer;
        Client *client = request->client;

        request->token = NULL;
        if (!http_auth_origin(request)) {
                request->closes |= request->head.n_body > 0;
                http_answer_status(request, 403);
        } else if (client->is_native || request->route->access == HTTP_OPEN) {
                if (peer && peer->n_strangers > HTTP_STRANGERS_MAX) {
                        request->closes = true;
                        http_answer_status(request, 429);
                } else
                        then(request);
        } else if (http_auth_take(request))
                then(request);
        else
                http_auth_refuse(request);
}
