/* SPDX-License-Identifier: MIT */
#include "core/request.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "core/daemon.h"
#include "core/dialect.h"

static int64_t request_cpu_us(void) {
        struct timespec ts;

        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
        return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

Request *request_ref(Request *request) {
        request->n_refs++;
        return request;
}

size_t request_n_bytes(const Request *request) {
        return request ? request->bytes.cap + request->arena.n_total : 0;
}

void request_unref(void *object) {
        Request *request = object;

        if (!request || --request->n_refs)
                return;
        if (request->client) {
                request->client->reading = NULL;
                conn_set_lent(request->client->conn, 0);
        }
        arena_deinit(&request->arena);
        buf_deinit(&request->bytes);
        free(request);
}

/* ---- on a worker ----------------------------------------------------------------------------- */

static void request_decode(Request *request) {
        const Dialect *dialect = request->dialect;
        const OpTable *ops = dialect->ops;

        dialect->aim(dialect, request->json, &ops, &request->op, &request->args);
        if (!request->op)
                return;
        request->decoded = arena_alloc(&request->arena, request->op->args_size);
        request->decode_r = -ENOMEM;
        if (request->decoded)
                request->decode_r = op_decode(request->op, ops->convention, request->args, &request->arena,
                                              request->decoded, &request->decode_fault);
}

static void request_read(void *user) {
        Request *request = user;
        int64_t since_us = request_cpu_us();

        request->r = request->dialect->parse(request->dialect, &request->arena, &request->line,
                                             &request->json, &request->fault);
        if (!request->r)
                request_decode(request);
        request->took_us = request_cpu_us() - since_us;
}

/* ---- on the loop ----------------------------------------------------------------------------- */

static void request_handle(Request *request, Client *client) {
        client->request = request;
        client->frame = request->line;
        if (request->is_eof)
                client->dialect->eof(client, request->line);
        else
                client->dialect->frame(client, request->line);
        client->frame = STR_NULL;
        client->request = NULL;
        arena_reset(&request->daemon->envelope);
        client_release(client);
}

static void request_done(void *user) {
        Request *request = user;
        Client *client = request->client;

        turns_come_back(&request->daemon->turns, request->peer, request->took_us);
        if (client) {
                conn_set_lent(client->conn, request_n_bytes(request));
                request_handle(request, client);
        }
        request_unref(request);
}

void request_leave(Request *request) {
        request->client = NULL;
}

bool request_begin(Client *client, Str frame, bool is_eof) {
        Request *request = calloc(1, sizeof(*request));

        if (!request)
                return false;
        *request = (Request){.n_refs = 1,
                             .client = client,
                             .dialect = client->dialect,
                             .daemon = client->daemon,
                             .peer = conn_turn_peer(client->conn),
                             .is_eof = is_eof,
                             .line = frame};
        if (conn_take_frame(client->conn, frame, &request->bytes)) {
                free(request);
                return false;
        }
        if (loop_work_heavy(client->daemon->loop, request_read, request_done, request)) {
                conn_abort(client->conn, "out of memory");
                request_unref(request);
                return true;
        }
        turns_go_away(&client->daemon->turns);
        conn_set_lent(client->conn, request->bytes.cap);
        client->reading = request;
        client_hold(client);
        return true;
}

/* ---- for those who handle it ----------------------------------------------------------------- */

int request_tree(const Request *request, Str *line, Json **ret, JsonFault *fault) {
        *line = request->line;
        *ret = request->json;
        *fault = request->fault;
        return request->r;
}

bool request_has_args(const Request *request, const Op *op, const Json *args) {
        return request->decoded && request->op == op && request->args == args;
}
