/* SPDX-License-Identifier: MIT */
/* web.ls, web.open, web.close: the web servers of this daemon. What opens and closes them is coop's serve (op-serve.c). */
#include <errno.h>

#include "base/error.h"
#include "core/daemon.h"
#include "core/fleet/inner.h"
#include "dialect/http/http-server.h"
#include "gen/coop-ops.h"
#include "gen/native-ops.h"

/* ---- ls -------------------------------------------------------------------------------------- */

static void web_op_write(JsonWriter *w, const Endpoint *endpoint, const HttpServer *server) {
        EndpointView view;

        endpoint_look(endpoint, &view);
        jw_begin_object(w);
        jw_field_cstr(w, "address", endpoint->address ? endpoint->address : endpoint->where);
        jw_field_cstr(w, "host", server->host);
        jw_field_uint(w, "port", server->port);
        jw_field_cstr(w, "state", view.state);
        if (endpoint->state != ENDPOINT_LISTENING && *view.reason)
                jw_field_cstr(w, "reason", view.reason);
        if (endpoint->state == ENDPOINT_LISTENING && endpoint->warning)
                jw_field_cstr(w, "warning", endpoint->warning);
        jw_field_cstr(w, "scope", web_scope_name(server->scope));
        jw_field_cstr(w, "token", server->token ? server->token->id : NULL);
        jw_field_uint(w, "clients", endpoint->n_clients);
        jw_field_time_ms(w, "since", endpoint->since_us);
        jw_end_object(w);
}

int op_native_web_ls(Call *call, _unused_ const NativeWebLsArgs *args) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_key(w, "servers");
        jw_begin_array(w);
        for (const Endpoint *e = call->daemon->endpoints; e; e = e->next) {
                const HttpServer *server = http_server_of(e);

                if (server && !e->is_removed)
                        web_op_write(w, e, server);
        }
        jw_end_array(w);
        jw_end_object(w);
        return 0;
}

/* ---- open ------------------------------------------------------------------------------------ */

static Json *web_op_answer(Call *call, const Call *inner) {
        Str text = arena_str(&call->arena, inner_result(inner));
        Json *answer = NULL;

        return text.data && !json_parse(&call->arena, text.data, text.n, NULL, &answer, NULL) ? answer
                                                                                              : NULL;
}

static int web_op_open(Call *inner, const Carry *carry) {
        const NativeWebOpenArgs *args = container_of(carry, NativeWebOpenArgs, carry);
        CoopServeArgs *serve = arena_alloc(&inner->arena, sizeof(*serve));

        if (!serve)
                return error_origin(-ENOMEM);
        *serve = (CoopServeArgs){.host = args->host,
                                 .port = args->port,
                                 .has_port = true,
                                 .token = args->token,
                                 .tls = args->tls,
                                 .scope = args->scope};
        return op_coop_serve(inner, serve);
}

/* As it listens: with its scheme, and an IPv6 address in brackets. */
static const char *web_op_address(const Daemon *daemon, Str host, int64_t port) {
        for (const Endpoint *e = daemon->endpoints; e; e = e->next) {
                const HttpServer *server = http_server_of(e);

                if (server && !e->is_removed && server->port == port && str_is(host, server->host))
                        return e->address ? e->address : e->where;
        }
        return ""; /* closed again meanwhile */
}

static int web_op_on_opened(Call *call, const Call *inner, _unused_ const Carry *carry) {
        const Json *answer = inner->error ? NULL : web_op_answer(call, inner);
        int64_t port = 0;
        JsonWriter *w;

        if (inner->error)
                return inner_fail(call, inner);
        if (!answer)
                return error_origin(-ENOMEM);
        (void)json_int64(json_get(answer, "port"), &port);
        w = call_result(call);
        jw_begin_object(w);
        jw_field_cstr(w, "address", web_op_address(call->daemon, json_text_of(answer, "host"), port));
        jw_field_str(w, "host", json_text_of(answer, "host"));
        jw_field_int(w, "port", port);
        jw_field_str(w, "token", json_text_of(answer, "token"));
        if (json_get(answer, "fingerprint"))
                jw_field_str(w, "fingerprint", json_text_of(answer, "fingerprint"));
        jw_end_object(w);
        return 0;
}

int op_native_web_open(Call *call, const NativeWebOpenArgs *args) {
        return call_inner(call, web_op_open, web_op_on_opened, &args->carry);
}

/* ---- close ----------------------------------------------------------------------------------- */

static int web_op_close(Call *inner, const Carry *carry) {
        const NativeWebCloseArgs *args = container_of(carry, NativeWebCloseArgs, carry);
        CoopServeArgs *serve = arena_alloc(&inner->arena, sizeof(*serve));

        if (!serve)
                return error_origin(-ENOMEM);
        *serve = (CoopServeArgs){
                .stop = true, .host = args->host, .port = args->port, .has_port = args->has_port};
        return op_coop_serve(inner, serve);
}

static int web_op_on_closed(Call *call, const Call *inner, _unused_ const Carry *carry) {
        const Json *answer = inner->error ? NULL : web_op_answer(call, inner);
        int64_t n = 0;
        JsonWriter *w;

        if (inner->error)
                return inner_fail(call, inner);
        if (!answer)
                return error_origin(-ENOMEM);
        (void)json_int64(json_get(answer, "stopped"), &n);
        w = call_result(call);
        jw_begin_object(w);
        jw_field_int(w, "closed", n);
        jw_end_object(w);
        return 0;
}

int op_native_web_close(Call *call, const NativeWebCloseArgs *args) {
        return call_inner(call, web_op_close, web_op_on_closed, &args->carry);
}
