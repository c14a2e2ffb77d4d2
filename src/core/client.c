/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "core/client"

#include "core/client.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/daemon.h"
#include "core/dialect.h"
#include "core/hello.h"
#include "core/long-reply.h"
#include "core/request.h"
#include "wire/websocket.h"

/* A long line: a worker parses it, and its dialect is called when that is done. */
static bool client_is_read_later(Client *client, Str frame, bool is_eof) {
        return frame.n > TURN_BYTES && client->dialect->parse && request_begin(client, frame, is_eof);
}

int client_parse(Client *client, Str *line, Json **ret, JsonFault *fault) {
        return client->request ? request_tree(client->request, line, ret, fault)
                               : client->dialect->parse(client->dialect, &client->daemon->envelope, line,
                                                        ret, fault);
}

void client_hear(Client *client, Str message) {
        if (client->stream)
                return;
        client->frame = message;
        client->dialect->frame(client, message);
        client->frame = STR_NULL;
}

void client_end_message(Client *client, Buf *out, size_t mark) {
        if (client->channel)
                client->channel->end(client, out, mark);
        else if (buf_append_str(out, STR("\n")))
                conn_abort(client->conn, "out of memory");
}

static void client_on_frame(void *user, Str frame) {
        Client *client = user;

        if (client->channel) {
                client->channel->frame(client, frame);
                arena_reset(&client->daemon->envelope);
                return;
        }
        if (client->stream || client_is_read_later(client, frame, false))
                return;
        client->frame = frame;
        client->dialect->frame(client, frame);
        client->frame = STR_NULL;
        arena_reset(&client->daemon->envelope);
}

static void client_on_eof(void *user, Str rest) {
        Client *client = user;

        if (client->stream)
                conn_finish(client->conn, "end of stream");
        else if (!client_is_read_later(client, rest, true)) {
                client->frame = rest;
                client->dialect->eof(client, rest);
                client->frame = STR_NULL;
                arena_reset(&client->daemon->envelope);
        }
}

static void client_on_oversize(void *user) {
        Client *client = user;

        if (client->channel)
                client->channel->oversize(client);
        else
                client->dialect->oversize(client);
}

static void client_on_drained(void *user) {
        Client *client = user;

        if (client->reply)
                long_reply_on_drained(client->reply);
        else if (client->stream_drained)
                client->stream_drained(client);
        else if (client->dialect->drained)
                client->dialect->drained(client);
}

void client_watch(Client *client, ClientWatch *watch, void (*gone)(ClientWatch *watch)) {
        *watch = (ClientWatch){.client = client, .gone = gone};
        LIST_INSERT_HEAD(&client->watches, watch, link);
}

void client_unwatch(ClientWatch *watch) {
        if (watch->client)
                LIST_REMOVE(watch, link);
        watch->client = NULL;
}

static void client_tell_watches(Client *client) {
        ClientWatch *watch;

        while ((watch = LIST_FIRST(&client->watches))) {
                client_unwatch(watch);
                watch->gone(watch);
        }
}

static void client_on_closed(void *user, const char *reason) {
        Client *client = user;
        Daemon *daemon = client->daemon;

        log_debug(&daemon->log, client->endpoint->type->name, "connection closed client=%llu reason=%s",
                  (unsigned long long)client->number, reason);
        if (client->reading)
                request_leave(client->reading);
        if (client->call)
                call_orphan(client->call);
        if (client->reply)
                long_reply_leave(client->reply);
        if (client->stream_closed)
                client->stream_closed(client);
        if (client->dialect->close)
                client->dialect->close(client);
        if (client->channel)
                client->channel->close(client);
        if (client->visit_over)
                client->visit_over(client);
        client_tell_watches(client);
        (void)client_go_home(client);
        hello_free(client->hello);
        principal_deinit(&client->principal);
        LIST_REMOVE(client, link);
        client->endpoint->n_clients--;
        free(client);
        if (daemon->is_stopping)
                daemon_check_stopped(daemon);
}

static const ConnHandler client_handler = {.frame = client_on_frame,
                                           .eof = client_on_eof,
                                           .oversize = client_on_oversize,
                                           .drained = client_on_drained,
                                           .closed = client_on_closed};

static void enlist(Client *client, Endpoint *endpoint) {
        client->endpoint = endpoint;
        LIST_INSERT_HEAD(&endpoint->clients, client, link);
        endpoint->n_clients++;
}

Client *client_new(Endpoint *endpoint, Conn *conn, ConnLimits *ret_limits) {
        const EndpointType *type = endpoint->type;
        Client *client = calloc(1, sizeof(*client));

        *ret_limits = type->limits;
        if (!client) {
                conn_abort(conn, "out of memory");
                return NULL;
        }
        client->daemon = endpoint->daemon;
        if (ret_limits->handshake_ms && client->daemon->config.handshake_ms)
                ret_limits->handshake_ms = client->daemon->config.handshake_ms;
        client->dialect = type->greet ? type->greet(endpoint, conn_peer(conn), ret_limits) : type->dialect;
        client->conn = conn;
        client->number = ++endpoint->daemon->n_clients;
        client->is_native = !strcmp(type->name, "native");
        enlist(client, endpoint);
        principal_establish(client);
        return client;
}

static const Framing *client_framing(const Client *client) {
        return client->channel ? &client->channel->framing : &client->dialect->framing;
}

void client_begin(Client *client, const ConnLimits *limits) {
        if (client->dialect->is_secret)
                conn_keep_secret(client->conn);
        conn_start(client->conn, client_framing(client), limits, &client_handler, client);
}

void client_start(void *user, Conn *conn) {
        Endpoint *endpoint = user;
        ConnLimits limits;
        Client *client = client_new(endpoint, conn, &limits);

        if (!client)
                return;
        if (endpoint->type->secure && endpoint->type->secure(endpoint, conn))
                conn_abort(conn, "out of memory");
        client_begin(client, &limits);
}

Call *client_call(Client *client, Str id, bool is_quiet, Buf *out) {
        Call *call = call_get(client->daemon);

        if (!call) {
                conn_abort(client->conn, "out of memory");
                return NULL;
        }
        call->client = client;
        call->is_quiet = is_quiet;
        call->out = is_quiet ? &call->scratch : out ? out : conn_out(client->conn);
        call->id = id.n ? arena_str(&call->arena, id) : STR_NULL;
        if (client->daemon->recorder)
                call->request = arena_str(&call->arena, client->frame);
        client->call = call;
        return call;
}

void client_run(Client *client, const Op *op, const Json *args, Str id, bool is_quiet, Buf *out) {
        client_run_of(client, client->dialect->ops, op, args, id, is_quiet, out);
}

void client_run_of(Client *client, const OpTable *ops, const Op *op, const Json *args, Str id, bool is_quiet,
                   Buf *out) {
        Call *call = client_call(client, id, is_quiet, out);

        if (!call)
                return;
        call->op = op;
        call->ops = ops;
        call_run(call, args);
}

void client_refuse(Client *client, int error, Str id, Buf *out, const char *format, ...) {
        Call *call = client_call(client, id, false, out);
        char text[512];
        va_list ap;

        if (!call)
                return;
        va_start(ap, format);
        vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);
        call_finish(call, call_fail(call, error, "%s", text));
}

void client_hold(Client *client) {
        if (client->n_holds++ == 0)
                conn_pause(client->conn);
}

void client_release(Client *client) {
        if (--client->n_holds)
                return;
        if (client->is_leaving)
                conn_finish(client->conn, "leaving");
        conn_resume(client->conn);
}

void client_hang_up(Client *client, const char *reason) {
        if (client->channel && client->channel->leave)
                client->channel->leave(client, WS_CODE_NORMAL, reason);
        else
                conn_finish(client->conn, reason);
}

void client_leave(Client *client, const char *reason) {
        client->is_leaving = true;
        if (!client->call && !client->n_holds)
                conn_finish(client->conn, reason);
}

void client_stream(Client *client, void *stream, void (*closed)(Client *client)) {
        client->stream = stream;
        client->stream_closed = closed;
        if (!client->channel)
                conn_set_framing(client->conn, &(Framing){.kind = FRAMING_RAW});
}

void client_move(Client *client, Endpoint *endpoint) {
        if (endpoint == client->endpoint)
                return;
        LIST_REMOVE(client, link);
        client->endpoint->n_clients--;
        enlist(client, endpoint);
}

void client_visit(Client *client, Endpoint *endpoint) {
        if (endpoint == client->endpoint)
                return;
        if (!client->home) {
                client->home = client->endpoint;
                client->home->n_away++;
        }
        client_move(client, endpoint);
}

bool client_go_home(Client *client) {
        Endpoint *home = client->home;

        if (home) {
                client->home = NULL;
                home->n_away--;
                client_move(client, home);
        }
        return client->endpoint->state == ENDPOINT_LISTENING;
}

void client_switch(Client *client, const Dialect *dialect, Endpoint *endpoint, Str frame) {
        client_move(client, endpoint);
        client->dialect = dialect;
        conn_set_framing(client->conn, client_framing(client));
        conn_set_limits(client->conn, &endpoint->type->limits);
        if (frame.data)
                dialect->frame(client, frame);
}
