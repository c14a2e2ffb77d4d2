/* SPDX-License-Identifier: MIT */
/* Which path is what (docs/console-wire.md). What stands in no row is a file, or it is not there. */
#include <stdio.h>
#include <string.h>

#include "dialect/http/http-request.h"
#include "dialect/http/http.h"

static const HttpRoute http_routes[] = {
        {"GET", {"api", "sessions"}, .access = HTTP_TOKEN, .run = http_rest_list},
        {"POST",
         {"api", "sessions"},
         .access = HTTP_TOKEN,
         .n_body_max = HTTP_BODY_MAX,
         .run = http_rest_create},
        {"DELETE",
         {"api", "sessions", "*"},
         .access = HTTP_TOKEN,
         .n_body_max = HTTP_BODY_MAX,
         .run = http_rest_kill},
        {"POST",
         {"api", "sessions", "*", "shell"},
         .access = HTTP_TOKEN,
         .n_body_max = HTTP_BODY_MAX,
         .run = http_rest_shell},
        {"POST",
         {"api", "sessions", "*", "pty", "*", "resize"},
         .access = HTTP_TOKEN,
         .n_body_max = HTTP_BODY_MAX,
         .run = http_rest_resize},
        {"GET",
         {"api", "sessions", "*", "pty"},
         .access = HTTP_TOKEN,
         .is_of_one = true,
         .is_websocket = true,
         .run = ws_coop_open},
        {"GET", {"ws"}, .access = HTTP_TOKEN, .is_of_one = true, .is_websocket = true, .run = ws_coop_open},
        {"GET",
         {"term"},
         .access = HTTP_TOKEN,
         .is_of_one = true,
         .is_websocket = true,
         .run = ws_term_open},
        {"GET", {"rpc"}, .access = HTTP_TOKEN, .is_of_one = true, .is_websocket = true, .run = ws_rpc_open},
        {"GET", {"recordings", "*"}, .access = HTTP_TOKEN, .run = http_recording_get},
        {"GET", {"metrics"}, .access = HTTP_TOKEN, .run = http_metrics_get},
        {"GET", {"lite"}, .access = HTTP_OPEN, .run = http_lite_get},
        {"POST", {"lite"}, .access = HTTP_OPEN, .n_body_max = HTTP_LOGIN_MAX, .run = http_lite_post},
        {"POST", {"mcp"}, .access = HTTP_TOKEN, .n_body_max = HTTP_BODY_MAX, .run = http_mcp_post},
        {"POST",
         {"api", "tunnel"},
         .access = HTTP_OPEN,
         .n_body_max = HTTP_LOGIN_MAX,
         .run = http_tunnel_redeem},
        {"POST", {"api", "login"}, .access = HTTP_OPEN, .n_body_max = HTTP_LOGIN_MAX, .run = http_login},
};

static const HttpRoute http_files = {"GET", {NULL}, .access = HTTP_OPEN, .run = http_assets_get};

static bool http_route_is_path(const HttpRoute *route, const HttpTarget *target) {
        size_t n = 0;

        while (n < ARRAY_SIZE(route->segments) && route->segments[n])
                n++;
        if (target->is_folder || n != target->n_segments)
                return false;
        for (size_t i = 0; i < n; i++)
                if (strcmp(route->segments[i], "*") != 0 && !str_is(target->segments[i], route->segments[i]))
                        return false;
        return true;
}

static bool http_route_is_method(const HttpRoute *route, const HttpRequest *request) {
        return str_is(request->head.method, route->method) ||
               (request->is_head && !route->is_websocket && !strcmp(route->method, "GET"));
}

static const char *http_route_allowed(const HttpRequest *request) {
        static const char *const sets[] = {"GET, HEAD", "POST", "GET, HEAD, POST", "DELETE"};
        unsigned found = 0;

        for (size_t i = 0; i < ARRAY_SIZE(http_routes); i++) {
                const HttpRoute *route = &http_routes[i];

                if (!http_route_is_path(route, &request->target))
                        continue;
                found |= !strcmp(route->method, "GET") ? 1U : !strcmp(route->method, "POST") ? 2U : 4U;
        }
        return found ? sets[found - 1] : NULL;
}

const HttpRoute *http_route_find(const HttpRequest *request, const char **ret_allowed) {
        for (size_t i = 0; i < ARRAY_SIZE(http_routes); i++)
                if (http_route_is_path(&http_routes[i], &request->target) &&
                    http_route_is_method(&http_routes[i], request))
                        return &http_routes[i];
        *ret_allowed = http_route_allowed(request);
        if (*ret_allowed)
                return NULL;
        if (http_route_is_method(&http_files, request))
                return &http_files;
        *ret_allowed = "GET, HEAD";
        return NULL;
}
