/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "daemon/web-servers"

#include "daemon/web-servers.h"

#include <string.h>

#include "core/web/servers.h"
#include "dialect/http/http-server.h"

void web_servers_open(Daemon *daemon) {
        for (const ServerRecord *record = servers_first(daemon->servers); record; record = record->next) {
                HttpServerSpec spec = {.host = record->host,
                                       .port = (uint16_t)record->port,
                                       .scope = record->scope,
                                       .digest = record->digest};
                Endpoint *endpoint = NULL;

                if (http_server_new(&endpoint, daemon, &spec))
                        log_warning(&daemon->log, "-", "a server is not served again host=%s port=%u",
                                    record->host, record->port);
                else
                        (void)endpoint_open(endpoint);
        }
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

                if (!server || !endpoint->is_removed || !LIST_EMPTY(&endpoint->clients) || server->n_away) {
                        at = &endpoint->next;
                        continue;
                }
                *at = endpoint->next;
                endpoint_free(endpoint);
        }
}
