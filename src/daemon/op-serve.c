/* SPDX-License-Identifier: MIT */
/* coop's serve: a web server is opened and kept before the answer leaves, or some are stopped and forgotten. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "core/daemon.h"
#include "core/web/news.h"
#include "core/web/servers.h"
#include "core/web/tokens.h"
#include "daemon/web-servers.h"
#include "daemon/web-tls.h"
#include "dialect/http/http-server.h"
#include "gen/coop-ops.h"

enum {
        SERVE_PORT = 8888,
        SERVE_ANSWER_MAX = 4096 /* bytes: so that it does not grow with a secret in it */
};

typedef struct Serve { /* in the call's arena */
        Call *call;
        Endpoint *opened; /* NULL: some were stopped … */
        size_t n_stopped; /* … so many … */
        size_t n_waiting; /* … of which these are still to be forgotten */
        int r;
        Str token;
        bool is_made; /* the token: by us, in the arena */
        /* Of the one that is to be opened. */
        char host[HTTP_HOST_MAX], digest[SHA256_HEX_MAX];
        HttpServerSpec spec;
        Str tls; /* empty: none */
        char why[TLS_WHY_MAX];
} Serve;

static void serve_close(Endpoint *endpoint) {
        web_news_server(endpoint->daemon, endpoint->address ? endpoint->address : endpoint->where, "closed");
        endpoint->is_removed = true;
        endpoint_close(endpoint);
}

/* ---- stop ------------------------------------------------------------------------------------ */

static bool serve_is_meant(const Endpoint *endpoint, const CoopServeArgs *args, const char *host) {
        const HttpServer *server = http_server_of(endpoint);

        return server && !endpoint->is_removed && (!args->has_port || server->port == args->port) &&
               (!*host || !strcmp(server->host, host));
}

static void serve_answer_stopped(const Serve *serve) {
        JsonWriter *w = call_result(serve->call);

        jw_begin_object(w);
        jw_field_uint(w, "stopped", serve->n_stopped);
        jw_end_object(w);
}

/* One that the disk still has would come back: that is said, though it does not listen any more. */
static void serve_on_forgotten(void *user, int r) {
        Serve *serve = user;

        if (r && r != SERVERS_E_MISSING)
                serve->r = r;
        if (--serve->n_waiting)
                return;
        if (!serve->r)
                serve_answer_stopped(serve);
        call_finish(serve->call, serve->r);
}

static void serve_stop_one(Serve *serve, Endpoint *endpoint) {
        const HttpServer *server = http_server_of(endpoint);
        int r = servers_forget(serve->call->daemon->servers, server->host, server->port, serve_on_forgotten,
                               serve);

        serve->n_stopped++;
        if (r)
                serve->r = r;
        else
                serve->n_waiting++;
        serve_close(endpoint);
}

static int serve_stop(const CoopServeArgs *args, Serve *serve) {
        Call *call = serve->call;
        char host[HTTP_HOST_MAX] = "";

        if (args->host.n && !http_server_host(args->host.data, host))
                return call_fail(call, CALL_E_INVALID_ADDRESS, "'" STR_FMT "' is no address",
                                 STR_ARG(args->host));
        for (Endpoint *e = call->daemon->endpoints; e; e = e->next)
                if (serve_is_meant(e, args, host))
                        serve_stop_one(serve, e);
        if (!serve->n_stopped && (args->has_port || *host))
                return call_fail(call, CALL_E_SERVER_NOT_FOUND, "nothing is served there");
        if (serve->n_waiting)
                return CALL_LATER;
        if (!serve->r)
                serve_answer_stopped(serve);
        return serve->r;
}

/* ---- start ----------------------------------------------------------------------------------- */

/* It has to fit into an address and into a field of a request. */
static bool serve_is_token(Str token) {
        for (size_t i = 0; i < token.n; i++)
                if (token.data[i] <= ' ' || token.data[i] >= 0x7f)
                        return false;
        return token.n <= TOKEN_SECRET_MAX;
}

static int serve_token(Call *call, const CoopServeArgs *args, const char *host, Str *ret) {
        char made[TOKEN_TEXT_MAX];
        int r;

        if (args->token.n && !serve_is_token(args->token))
                return call_fail(call, CALL_E_INVALID_PARAMS,
                                 "token has at most %d printable ASCII characters and no blanks",
                                 TOKEN_SECRET_MAX);
        if (args->token.n && args->token.n < TOKEN_GIVEN_MIN && !http_host_is_of_this_machine(host))
                return call_fail(call, CALL_E_INVALID_PARAMS,
                                 "token needs at least %d characters where other machines can connect",
                                 TOKEN_GIVEN_MIN);
        *ret = args->token;
        if (args->token.n)
                return 0;
        r = token_make_secret(TOKEN_SERVER_BYTES, made);
        *ret = r ? STR_NULL : arena_str(&call->arena, str_from(made));
        explicit_bzero(made, sizeof(made));
        return r || ret->data ? r : error_origin(-ENOMEM);
}

static int serve_fail(Call *call, int r, const char *host, unsigned port) {
        if (r == HTTP_SERVER_E_IN_USE)
                return call_fail(call, CALL_E_ADDRESS_IN_USE, "something listens at %s:%u already", host,
                                 port);
        if (r == HTTP_SERVER_E_ADDRESS)
                return call_fail(call, CALL_E_INVALID_ADDRESS, "cannot listen at %s:%u: %s", host, port,
                                 strerror(errno));
        return r;
}

/* One that is not kept is not there. */
static void serve_on_kept(void *user, int r) {
        const Serve *serve = user;
        const HttpServer *server = http_server_of(serve->opened);
        char fingerprint[TLS_FINGERPRINT_MAX];
        JsonWriter *w;

        if (r) {
                serve_close(serve->opened);
                if (r < 0)
                        r = call_fail(serve->call, CALL_E_NOT_KEPT,
                                      "not served, since it cannot be kept: %s", strerror(-r));
                else if (r == SERVERS_E_FULL)
                        r = call_fail(serve->call, CALL_E_RESOURCE_LIMIT, "there are %d servers already",
                                      SERVERS_MAX);
                else
                        r = serve_fail(serve->call, HTTP_SERVER_E_IN_USE, server->host, server->port);
                call_finish(serve->call, r);
                return;
        }
        web_news_server(serve->call->daemon, serve->opened->address, "opened");
        if (serve->call->client)
                conn_keep_secret(serve->call->client->conn);
        r = buf_reserve_wiping(serve->call->out, SERVE_ANSWER_MAX);
        w = call_result(serve->call);
        jw_begin_object(w);
        jw_field_uint(w, "port", server->port);
        jw_field_cstr(w, "host", server->host);
        jw_field_str(w, "token", serve->token);
        if (server->tls) {
                tls_server_fingerprint(server->tls, fingerprint);
                jw_field_cstr(w, "fingerprint", fingerprint);
        }
        jw_end_object(w);
        if (serve->is_made)
                explicit_bzero((char *)serve->token.data, serve->token.n);
        call_finish(serve->call, r);
}

static int serve_keep(Serve *serve) {
        Daemon *daemon = serve->call->daemon;
        HttpServer *server = http_server_of(serve->opened);
        ServerRecord record = {.host = server->host,
                               .port = server->port,
                               .tls = serve->tls.n ? (char *)serve->tls.data : (char *)"",
                               .scope = server->scope,
                               .since_us = loop_wall_us(daemon->loop)};
        int r;

        memcpy(record.digest, server->digest, sizeof(record.digest));
        r = servers_keep(daemon->servers, &record, serve_on_kept, serve);
        if (r)
                serve_close(serve->opened);
        return r ? r : CALL_LATER;
}

static int serve_open(Serve *serve) {
        Call *call = serve->call;
        int r = http_server_new(&serve->opened, call->daemon, &serve->spec);

        if (r) {
                r = serve_fail(call, r, serve->host, serve->spec.port);
                serve->spec.tls = tls_server_free(serve->spec.tls);
                return r;
        }
        if (endpoint_open(serve->opened)) {
                r = call_fail(call, CALL_E_INTERNAL, "%s", serve->opened->reason);
                serve_close(serve->opened);
                return r;
        }
        return serve_keep(serve);
}

/* On a worker: certificates are files. */
static void serve_load_tls(void *user) {
        Serve *serve = user;

        serve->r = web_tls_load(&serve->spec.tls, serve->call->daemon->home, serve->tls.data, serve->host,
                                serve->why);
}

static void serve_on_loaded(void *user) {
        Serve *serve = user;
        int r = serve->r;

        if (r == TLS_E_UNUSABLE)
                r = call_fail(serve->call, CALL_E_INVALID_PARAMS, "tls: %s", serve->why);
        else if (!r)
                r = serve_open(serve);
        if (r != CALL_LATER)
                call_finish(serve->call, r);
}

static int serve_start(const CoopServeArgs *args, Serve *serve) {
        const char *said = args->host.n ? args->host.data : "127.0.0.1";
        Call *call = serve->call;
        int r;

        if (!http_server_host(said, serve->host))
                return call_fail(call, CALL_E_INVALID_ADDRESS, "'%.64s' is no address", said);
        if (args->tls.n && !web_tls_is_word(args->tls))
                return call_fail(call, CALL_E_INVALID_PARAMS,
                                 "tls is \"auto\", or CERT:KEY, two absolute paths of at most %d bytes",
                                 SERVER_TLS_MAX);
        r = serve_token(call, args, serve->host, &serve->token);
        serve->is_made = !r && !args->token.n;
        if (!r)
                r = token_digest(serve->token, serve->digest);
        if (r)
                return r;
        serve->spec = (HttpServerSpec){.host = serve->host,
                                       .port = (uint16_t)(args->has_port ? args->port : SERVE_PORT),
                                       .digest = serve->digest,
                                       .is_bound = true};
        (void)web_scope_from_name(args->scope, &serve->spec.scope);
        serve->tls = args->tls;
        if (!serve->tls.n)
                return serve_open(serve);
        r = loop_work(call->daemon->loop, serve_load_tls, serve_on_loaded, serve);
        return r ? error_trace(r) : CALL_LATER;
}

int op_coop_serve(Call *call, const CoopServeArgs *args) {
        Serve *serve = arena_alloc(&call->arena, sizeof(*serve));

        if (!serve)
                return error_origin(-ENOMEM);
        if (!call->daemon->servers)
                return call_fail(call, CALL_E_RESOURCE_LIMIT, "this daemon has no place for web servers");
        *serve = (Serve){.call = call};
        web_servers_tidy(call->daemon);
        return args->stop ? serve_stop(args, serve) : serve_start(args, serve);
}
