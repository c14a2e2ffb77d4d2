/* SPDX-License-Identifier: MIT */
/*
 * /rpc: native JSON-RPC over a WebSocket, one message (or batch) per text message. Besides muster's own methods it has
 * the operations of every contract by the names that rpc.discover gives them (cccc.send, coop.kill, aiwg.task.submit
 * with its project among the params). One of another contract runs as if it had been said at that contract's own
 * socket, and fails with that contract's own code, in the error's data.
 *
 * What would make the connection something else is refused, but for what tells in messages (feed.follow).
 */
#include <stdio.h>
#include <string.h>

#include "core/daemon.h"
#include "dialect/agentcompany/agentcompany.h"
#include "dialect/aiwg/aiwg.h"
#include "dialect/cccc/cccc.h"
#include "dialect/coop/coop.h"
#include "dialect/http/ws.h"
#include "dialect/jsonrpc/jsonrpc.h"
#include "dialect/native/native.h"
#include "gen/native-ops.h"

static const Dialect *const ws_rpc_others[] = {&cccc_dialect, &coop_dialect, &aiwg_dialect.dialect,
                                               &agentcompany_dialect.dialect};

static const Dialect *ws_rpc_dialect_of(const OpTable *ops) {
        for (size_t i = 0; i < ARRAY_SIZE(ws_rpc_others); i++)
                if (ws_rpc_others[i]->ops == ops)
                        return ws_rpc_others[i];
        return NULL;
}

/* ---- methods --------------------------------------------------------------------------------- */

/* Behind "DIALECT."; false: it is not of that one. */
static bool ws_rpc_strip(Str method, const char *dialect, Str *ret) {
        size_t n = strlen(dialect);

        if (method.n <= n + 1 || memcmp(method.data, dialect, n) != 0 || method.data[n] != '.')
                return false;
        *ret = (Str){method.data + n + 1, method.n - n - 1};
        return true;
}

static const Op *ws_rpc_find(Str method, const OpTable **ret_ops) {
        const Op *op = op_find(&native_ops, method);
        Str name;

        *ret_ops = &native_ops;
        if (op || ws_rpc_strip(method, "native", &name))
                return op ? op : op_find(&native_ops, name);
        for (size_t i = 0; i < ARRAY_SIZE(ws_rpc_others); i++)
                if (ws_rpc_strip(method, ws_rpc_others[i]->name, &name)) {
                        *ret_ops = ws_rpc_others[i]->ops;
                        return op_find(*ret_ops, name);
                }
        return NULL;
}

/* ---- where it is served ---------------------------------------------------------------------- */

/* By its folder, or the last word of that. */
static bool ws_rpc_is_place(const Endpoint *endpoint, Str name) {
        const char *slash = strrchr(endpoint->where, '/');

        return !name.n || str_is(name, endpoint->where) || (slash && str_is(name, slash + 1));
}

static int ws_rpc_serving(const Client *client, const Dialect *dialect, Str project, Endpoint **ret,
                          char why[JSONRPC_WHY_MAX]) {
        *ret = NULL;
        for (Endpoint *e = client->daemon->endpoints; e; e = e->next) {
                if (e->state != ENDPOINT_LISTENING || e->type->dialect != dialect ||
                    !ws_rpc_is_place(e, project))
                        continue;
                if (*ret) {
                        snprintf(why, JSONRPC_WHY_MAX,
                                 "several projects are served: say which, by its folder");
                        return CALL_E_INVALID_PARAMS;
                }
                *ret = e;
        }
        if (*ret)
                return 0;
        snprintf(why, JSONRPC_WHY_MAX, "not served by this daemon: %s%s%.*s", dialect->name,
                 project.n ? " " : "", (int)MIN(project.n, (size_t)128), project.n ? project.data : "");
        return CALL_E_UNAVAILABLE;
}

/* For as long as the call lasts it is a client of that contract. */
static int ws_rpc_enter(Client *client, const OpTable *ops, const Op *op, const Json *params,
                        char why[JSONRPC_WHY_MAX]) {
        const Dialect *dialect = ws_rpc_dialect_of(ops);
        bool is_aiwg = dialect == &aiwg_dialect.dialect;
        Endpoint *endpoint;
        int error;

        if ((op->flags & OP_STREAMS) && !(op->flags & OP_TELLS)) {
                snprintf(why, JSONRPC_WHY_MAX, "%s makes a stream of its connection: not over a WebSocket",
                         op->name);
                return CALL_E_INVALID_REQUEST;
        }
        if (!dialect || dialect == &agentcompany_dialect.dialect)
                return 0;
        error = ws_rpc_serving(client, dialect, is_aiwg ? json_text_of(params, "project") : STR_NULL,
                               &endpoint, why);
        if (!error)
                client_visit(client, endpoint);
        return error;
}

/* A server that was closed meanwhile has told its other clients. */
static void ws_rpc_on_replied(Client *client) {
        if (!client_go_home(client))
                ws_close(client, WS_CODE_LEAVING, "the server was closed");
        jsonrpc_replied(client);
}

/* ---- messages -------------------------------------------------------------------------------- */

static void ws_rpc_write_foreign(const Call *call, JsonWriter *w) {
        const Dialect *dialect = ws_rpc_dialect_of(call->ops);

        jw_field_int(w, "code", native_error_code(CALL_E_OTHER_CONTRACT));
        jw_field_str(w, "message", call->message);
        jw_key(w, "data");
        jw_begin_object(w);
        jw_field_cstr(w, "dialect", dialect->name);
        jw_key(w, "code");
        dialect->error_word(call->error, w);
        if (call->details.n) {
                jw_key(w, "details");
                jw_raw(w, buf_str(&call->details));
        }
        jw_end_object(w);
}

static void ws_rpc_on_message(Client *client, Str message) {
        if (ws_is_text(client))
                jsonrpc_frame(client, message);
        else
                ws_close(client, WS_CODE_UNSUPPORTED, "only text is spoken here");
}

static int ws_rpc_error_code(int error) {
        return native_error_code(error);
}

static void ws_rpc_error_word(int error, JsonWriter *w) {
        jw_int(w, native_error_code(error));
}

const JsonRpcDialect ws_rpc_dialect = {
        .dialect = {.name = "native",
                    .ops = &native_ops,
                    .parse = jsonrpc_parse,
                    .aim = jsonrpc_aim,
                    .frame = ws_rpc_on_message,
                    .eof = ws_on_eof,
                    .oversize = ws_on_oversize,
                    .close = jsonrpc_close,
                    .leaving = ws_on_leaving,
                    .begin_result = jsonrpc_begin_result,
                    .end_result = jsonrpc_end_result,
                    .write_error = jsonrpc_write_error,
                    .error_word = ws_rpc_error_word,
                    .replied = ws_rpc_on_replied,
                    .notification = jsonrpc_notification,
                    .push = jsonrpc_push},
        .error_code = ws_rpc_error_code,
        .has_batches = true,
        .runs_notifications = true,
        .invalid_keeps_id = true,
        .id_before_result = true,
        .unknown_method = "Method not found: ",
        .find = ws_rpc_find,
        .enter = ws_rpc_enter,
        .write_foreign = ws_rpc_write_foreign,
};

void ws_rpc_open(HttpRequest *request, _unused_ Str body) {
        (void)ws_upgrade(request, &ws_rpc_dialect.dialect);
}
