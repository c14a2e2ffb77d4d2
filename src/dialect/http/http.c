/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "http"

#include "dialect/http/http.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/daemon.h"
#include "dialect/coop/coop.h"
#include "dialect/http/http-request.h"
#include "dialect/http/http-server.h"
#include "wire/http-negotiate.h"

enum { HTTP_SPARE_MAX = 16 * 1024 /* bytes of a result, in the memory that is kept for the next request */ };

static const Framing http_framing_head = {.kind = FRAMING_HEAD, .n_max = HTTP_HEAD_MAX};

/* ---- the connection -------------------------------------------------------------------------- */

static void http_on_deadline(Timer *timer) {
        HttpConn *self = container_of(timer, HttpConn, deadline);
        HttpRequest *request = self->request;

        if (request && request->awaits_body)
                http_answer_wrong(request, 408, "the body did not come in time");
        else
                conn_finish(self->client->conn, "no further request");
}

HttpConn *http_conn_of(Client *client) {
        HttpConn *self = client->state ? client->state : calloc(1, sizeof(*self));

        if (!self || client->state)
                return self;
        self->client = client;
        timer_init(&self->deadline, client->daemon->loop, http_on_deadline);
        http_visitor_init(&self->visitor, client);
        conn_send_late(client->conn, true);
        client->state = self;
        return self;
}

static HttpRequest *http_request_new(HttpConn *conn) {
        HttpServer *server = http_server_of(conn->client->endpoint);
        HttpRequest *request = server ? steal(&server->spare) : NULL;
        Arena arena = request ? request->arena : ARENA_NULL;
        Buf out = request ? request->out : BUF_NULL;

        if (!request)
                request = malloc(sizeof(*request));
        if (!request)
                return NULL;
        memset(request, 0, offsetof(HttpRequest, head));
        request->arena = arena;
        request->out = out;
        memset(&request->head, 0, offsetof(HttpHead, fields));
        memset(&request->target, 0, offsetof(HttpTarget, segments));
        request->conn = conn;
        request->client = conn->client;
        conn->request = request;
        return request;
}

void http_request_drop(HttpRequest *request) {
        if (!request)
                return;
        arena_wipe(&request->arena); /* tokens were shown in it */
        buf_wipe(&request->out);
        buf_wipe(&request->page);
        free(request);
}

/* The server keeps the memory of one for the next, with nothing in it. */
static bool http_request_keep(HttpRequest *request) {
        HttpServer *server = http_server_of(request->client->endpoint);
        Buf *out = &request->out;

        if (!server || server->spare || out->cap > HTTP_SPARE_MAX)
                return false;
        arena_reset_wiping(&request->arena);
        if (out->cap)
                explicit_bzero(out->data, out->cap);
        out->n = 0;
        buf_wipe(&request->page);
        server->spare = request;
        return true;
}

static void http_request_free(HttpRequest *request) {
        if (!request)
                return;
        http_login_leave(request->login);
        if (!http_request_keep(request))
                http_request_drop(request);
}

static void http_on_close(Client *client) {
        HttpConn *self = client->state;

        if (!self)
                return;
        timer_clear(&self->deadline);
        http_visitor_deinit(&self->visitor);
        http_request_free(self->request);
        free(self);
        client->state = NULL;
}

void http_leave(HttpRequest *request) {
        conn_send_late(request->client->conn, false);
        http_on_close(request->client);
}

void http_end(HttpRequest *request) {
        HttpConn *self = request->conn;
        Conn *conn = self->client->conn;
        bool closes = request->closes || self->client->daemon->is_stopping;

        self->request = NULL;
        http_request_free(request);
        if (closes)
                conn_finish(conn, "last request");
        else if (timer_set(&self->deadline, HTTP_KEEP_ALIVE_MS))
                conn_abort(conn, "out of memory");
        conn_set_framing(conn, &http_framing_head);
}

/* ---- a request ------------------------------------------------------------------------------- */

static void http_run(HttpRequest *request, Str body) {
        timer_clear(&request->conn->deadline);
        request->awaits_body = false;
        request->is_whole = true;
        request->route->run(request, body);
}

/* 0, or the status that refuses it. */
static unsigned http_check_body(const HttpRequest *request) {
        uint64_t n = request->head.n_body;

        return n > request->route->n_body_max ? 413 : 0;
}

static void http_await_body(HttpRequest *request) {
        Conn *conn = request->client->conn;

        request->awaits_body = true;
        if (request->head.wants_continue && conn_write(conn, STR("HTTP/1.1 100 Continue\r\n\r\n")))
                conn_abort(conn, "out of memory");
        if (timer_set(&request->conn->deadline, HTTP_BODY_MS))
                conn_abort(conn, "out of memory");
        conn_set_framing(conn, &(Framing){.kind = FRAMING_COUNT, .n_max = (size_t)request->head.n_body});
}

/* The caller is known, or need not be. */
static void http_go_on(HttpRequest *request) {
        unsigned status = http_check_body(request);

        if (status)
                http_answer_wrong(request, status, "the body is too long");
        else if (request->head.n_body)
                http_await_body(request);
        else
                http_run(request, STR_NULL);
}

/* What comes behind a refused request is its body, which nobody reads. */
static void http_refuse(HttpRequest *request, unsigned status, const char *more) {
        request->closes |= request->head.n_body > 0;
        http_answer(request, &(HttpReply){.status = status, .more = more});
}

static void http_find_route(HttpRequest *request) {
        const char *allowed = NULL;

        request->route = http_route_find(request, &allowed);
        if (request->route) {
                http_auth(request, http_go_on);
                return;
        }
        if (allowed) {
                char more[64];

                snprintf(more, sizeof(more), "Allow: %s\r\n", allowed);
                http_refuse(request, 405, more);
        } else
                http_refuse(request, 404, NULL);
}

static void http_begin(HttpRequest *request, Str bytes) {
        Str copy = arena_str(&request->arena, bytes);
        int r = copy.data ? http_head_parse(copy, &request->head) : -ENOMEM;

        if (r < 0)
                return conn_abort(request->client->conn, "out of memory");
        if (r)
                return http_answer_wrong(request, http_head_status(r), http_head_reason(r));
        request->closes = request->head.closes;
        request->is_head = str_is(request->head.method, "HEAD");
        if (!http_auth_host(request))
                return http_answer_wrong(request, 421, "no server of this name is here");
        r = http_target_parse(&request->arena, request->head.target, &request->target);
        if (r < 0)
                return conn_abort(request->client->conn, "out of memory");
        if (r)
                return http_answer_wrong(request, 400, http_target_reason(r));
        http_find_route(request);
}

static void http_on_head(HttpConn *self, Str bytes) {
        HttpRequest *request = http_request_new(self);

        timer_clear(&self->deadline);
        if (request)
                http_begin(request, bytes);
        else
                conn_abort(self->client->conn, "out of memory");
}

static void http_on_frame(Client *client, Str frame) {
        HttpConn *self = http_conn_of(client);

        if (!self)
                conn_abort(client->conn, "out of memory");
        else if (self->request && self->request->awaits_body)
                http_run(self->request, frame);
        else
                http_on_head(self, frame);
}

static void http_on_eof(Client *client, _unused_ Str rest) {
        client_leave(client, "end of stream");
}

static void http_on_oversize(Client *client) {
        HttpConn *self = http_conn_of(client);
        HttpRequest *request = self && !self->request ? http_request_new(self) : NULL;
        bool is_wrong = conn_fault(client->conn) == FRAMING_E_WRONG;

        if (!request) {
                conn_abort(client->conn, "out of memory");
                return;
        }
        http_answer_wrong(request, is_wrong ? 400 : 431,
                          is_wrong ? http_head_reason(HTTP_E_LINE) : "the head is too long");
}

/* ---- operations ------------------------------------------------------------------------------ */

void http_run_op(HttpRequest *request, const OpTable *ops, const char *name, const Json *args,
                 void (*done)(HttpRequest *request)) {
        const Op *op = op_find(ops, str_from(name));

        request->error = 0;
        request->done = done;
        client_run_of(request->client, ops, op, args, STR_NULL, false, &request->out);
}

/* The result itself is all that is wanted: the answer is made of it in done(). */
static void http_write_nothing(_unused_ const Call *call, _unused_ Buf *out) {}

static void http_write_error(const Call *call, Buf *out) {
        HttpRequest *request = http_conn_of(call->client)->request;

        out->n = call->mark;
        request->error = call->error;
        coop_put_failure(out, call->error, call->message, buf_str(&call->details));
}

static void http_on_replied(Client *client) {
        HttpConn *self = client->state;
        HttpRequest *request = self ? self->request : NULL;

        if (request && request->done)
                request->done(request);
}

static void http_on_drained(Client *client) {
        HttpConn *self = client->state;
        HttpRequest *request = self ? self->request : NULL;

        if (request && request->drained)
                request->drained(request);
}

static void http_error_word(int error, JsonWriter *w) {
        jw_cstr(w, coop_error_code(error));
}

/* An answer over HTTP is no stream; who wants one opens a WebSocket. */
static void http_no_stream(_unused_ Client *client, _unused_ const StreamTarget *target) {}

const Dialect http_dialect = {
        .name = "http",
        .framing = {.kind = FRAMING_HEAD, .n_max = HTTP_HEAD_MAX},
        .is_secret = true,
        .is_rest = true,
        .frame = http_on_frame,
        .eof = http_on_eof,
        .oversize = http_on_oversize,
        .close = http_on_close,
        .begin_result = http_write_nothing,
        .end_result = http_write_nothing,
        .write_error = http_write_error,
        .error_word = http_error_word,
        .stream = http_no_stream,
        .drained = http_on_drained,
        .replied = http_on_replied,
};
