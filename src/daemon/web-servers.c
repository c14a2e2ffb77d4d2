/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "daemon/web-servers"

#include "daemon/web-servers.h"

#include <string.h>

#include "core/web/servers.h"
#include "daemon/web-tls.h"
#include "dialect/http/http-server.h"

/* One that was asked for with TLS is not served without it. */
static void web_servers_open_one(Daemon *daemon, const ServerRecord *record) {
        HttpServerSpec spec = {.host = record->host,
                               .port = (uint16_t)record->port,
                               .scope = record->scope,
                               .digest = record->digest};
        char why[TLS_WHY_MAX] = "";
        Endpoint *endpoint = NULL;
        int r = *record->tls ? web_tls_load(&spec.tls, daemon->home, record->tls, record->host, why) : 0;

        if (!r)
                r = http_server_new(&endpoint, daemon, &spec);
        if (!r) {
                (void)endpoint_open(endpoint);
                return;
        }
        tls_server_free(spec.tls);
        log_warning(&daemon->log, "-", "a server is not served again host=%s port=%u: %s", record->host,
                    record->port, why);
}

void web_servers_open(Daemon *daemon) {
        for (const ServerRecord *record = servers_first(daemon->servers); record; record = record->next)
                web_servers_open_one(daemon, record);
}

void web_servers_forget(Daemon *daemon) {
        int r = daemon->servers ? servers_forget_all(daemon->servers) : 0;

        if (r)
                log_warning(&daemon->log, "-", "web servers will be served again: %s", strerror(-r));
}

void web_servers_tidy(Daemon *daemon) {
        Endpoint **at = &daemon->endpoints;

        while (*at) {
                Endpoint *endpoint = *at;
                const HttpServer *server = http_server_of(endpoint);

                if (!server || !endpoint->is_removed || !LIST_EMPTY(&endpoint->clients) ||
                    endpoint->n_away) {
                        at = &endpoint->next;
                        continue;
                }
                *at = endpoint->next;
                endpoint_free(endpoint);
        }
}
