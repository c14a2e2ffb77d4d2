/* SPDX-License-Identifier: MIT */
/* coop's tunnel, and tunnel.open, tunnel.ls, tunnel.close, tunnel.page: what they work on is dialect/tunnel. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/error.h"
#include "core/daemon.h"
#include "dialect/http/assets.h"
#include "dialect/http/http-server.h"
#include "dialect/tunnel/tunnel.h"
#include "gen/coop-ops.h"
#include "gen/native-ops.h"
#include "sessions/sessions.h"
#include "tunnel/sdp-answer.h"

enum { TUNNEL_PAGE_MAX = 2048, TUNNEL_SERVE_PORT = 8888 };

typedef struct TunnelPage {
        char address[TUNNEL_PAGE_MAX];
        bool is_known; /* somebody said it, or it is served here */
} TunnelPage;

/* ---- where the page is ----------------------------------------------------------------------- */

/* An address of this machine that others can reach, as the tunnel has it. */
static void tunnel_op_own_host(const Tunnel *tunnel, char out[ADDRESS_TEXT_MAX + 2]) {
        const TunnelCode *code = &tunnel->code;

        snprintf(out, ADDRESS_TEXT_MAX + 2, "127.0.0.1");
        for (size_t i = 0; i < code->n_candidates; i++) {
                char ip[ADDRESS_TEXT_MAX];

                if (code->candidates[i].is_reflexive || code->candidates[i].address.family != 4 ||
                    !inet_ntop(AF_INET, code->candidates[i].address.bytes, ip, sizeof(ip)))
                        continue;
                snprintf(out, ADDRESS_TEXT_MAX + 2, "%s", ip);
                return;
        }
}

/* One that others can reach, else one that only this machine can. */
static const Endpoint *tunnel_op_server(const Daemon *daemon) {
        const Endpoint *found = NULL;

        for (const Endpoint *e = daemon->endpoints; e; e = e->next) {
                const HttpServer *server = http_server_of(e);

                if (!server || e->is_removed || e->state != ENDPOINT_LISTENING)
                        continue;
                if (!http_host_is_of_this_machine(server->host))
                        return e;
                found = found ? found : e;
        }
        return found;
}

static void tunnel_op_find_page(const Tunnel *tunnel, Str said, TunnelPage *ret) {
        const char *configured = tunnel->daemon->config.tunnel_page;
        const Endpoint *endpoint = tunnel_op_server(tunnel->daemon);
        const HttpServer *server = endpoint ? http_server_of(endpoint) : NULL;
        char host[ADDRESS_TEXT_MAX + 2], where[HTTP_WHERE_MAX];

        ret->is_known = said.n || configured || server;
        tunnel_op_own_host(tunnel, host);
        if (said.n)
                snprintf(ret->address, sizeof(ret->address), STR_FMT, STR_ARG(said));
        else if (configured)
                snprintf(ret->address, sizeof(ret->address), "%s", configured);
        else if (server && !http_server_is_anywhere(server)) {
                http_server_where(server, where);
                snprintf(ret->address, sizeof(ret->address), "%s://%s/connect",
                         server->tls ? "https" : "http", where);
        } else
                snprintf(ret->address, sizeof(ret->address), "%s://%s:%u/connect",
                         server && server->tls ? "https" : "http", host,
                         server ? server->port : TUNNEL_SERVE_PORT);
}

/* ---- opening --------------------------------------------------------------------------------- */

typedef struct TunnelOp { /* in the call's arena */
        Call *call;
        Str page;
        bool is_held;
} TunnelOp;

static int tunnel_op_answer(Call *call, const Tunnel *tunnel, Str said_page) {
        _cleanup_(buf_deinit) Buf offer = BUF_NULL, offer64 = BUF_NULL, qr = BUF_NULL;
        TunnelPage page;
        JsonWriter *w;
        int r;

        tunnel_op_find_page(tunnel, said_page, &page);
        r = tunnel_code_offer(&tunnel->code, &offer);
        if (!r)
                r = base64_encode(&offer64, buf_str(&offer));
        if (!r)
                r = buf_printf(&qr, "%s#", page.address);
        if (!r)
                r = tunnel_code_encode(&tunnel->code, &qr);
        if (r)
                return error_trace(r);
        w = call_result(call);
        jw_begin_object(w);
        jw_field_str(w, "offer_sdp", buf_str(&offer64));
        jw_field_cstr(w, "short_code", tunnel->short_code);
        jw_field_str(w, "qr_data", buf_str(&qr));
        jw_field_uint(w, "tunnel", tunnel->number);
        jw_field_cstr(w, "page", page.address);
        jw_field_bool(w, "has_page", page.is_known);
        jw_end_object(w);
        explicit_bzero(qr.data, qr.n);
        return 0;
}

/* Whoever asked and is gone again takes it along, if it was to be held. */
static void tunnel_op_on_ready(Tunnel *tunnel, void *user, const char *why) {
        const TunnelOp *op = user;
        int r;

        tunnel->ready_user = NULL;
        r = why ? call_fail(op->call, CALL_E_TUNNEL_FAILED, "%s", why)
                : tunnel_op_answer(op->call, tunnel, op->page);
        call_finish(op->call, r);
}

/* It has to be an address that can stand before a #. */
static bool tunnel_op_is_page(Str page) {
        for (size_t i = 0; i < page.n; i++)
                if (page.data[i] <= ' ' || page.data[i] >= 0x7f || page.data[i] == '#')
                        return false;
        return page.n < TUNNEL_PAGE_MAX &&
               (str_starts(page, STR("https://")) || str_starts(page, STR("http://")));
}

static int tunnel_op_open(Call *call, Str session, TunnelSpec *spec, Str scope, Str page, Str stun) {
        TunnelOp *op = arena_alloc(&call->arena, sizeof(*op));
        Session *found = NULL;
        Tunnel *tunnel = NULL;
        int r = session_require(call, session, &found);

        if (r || !op)
                return r ? r : error_origin(-ENOMEM);
        if (page.n && !tunnel_op_is_page(page))
                return call_fail(call, CALL_E_INVALID_PARAMS,
                                 "page is no address of http or https without a #");
        if (!call->daemon->tokens)
                return call_fail(call, CALL_E_TUNNEL_FAILED, "this daemon has no place for tunnels");
        *op = (TunnelOp){.call = call, .page = page};
        spec->session = str_from(found->name);
        spec->stun = stun.data ? (stun.n ? stun.data : NULL) : call->daemon->config.tunnel_stun;
        (void)web_scope_from_name(scope, &spec->scope);
        r = tunnel_open(&tunnel, call->daemon, spec, tunnel_op_on_ready, op);
        if (r == TUNNEL_OPEN_E_FULL)
                return call_fail(call, CALL_E_TUNNEL_FAILED, "there are %d tunnels already", TUNNELS_MAX);
        return r ? r : CALL_LATER;
}

int op_native_tunnel_open(Call *call, const NativeTunnelOpenArgs *args) {
        TunnelSpec spec = {.holder = args->held ? call->client : NULL};

        return tunnel_op_open(call, args->session, &spec, args->scope, args->page, args->stun);
}

/* ---- an answer that is handed back ----------------------------------------------------------- */

static int tunnel_op_read_answer(Str text, SdpAnswer *ret) {
        _cleanup_(buf_deinit) Buf plain = BUF_NULL;
        int r;

        if (str_starts(text, STR("v=")))
                return sdp_answer_parse(text, ret);
        r = base64_decode(&plain, str_trim(text));
        return r < 0 ? error_trace(r) : r ? SDP_E_INVALID : sdp_answer_parse(buf_str(&plain), ret);
}

static int tunnel_op_pin(Call *call, const CoopTunnelArgs *args) {
        static const char *const wrong[] = {[SDP_E_INVALID] =
                                                    "it is no description of a session with a data channel",
                                            [SDP_E_FINGERPRINT] = "it has no fingerprint of sha-256",
                                            [SDP_E_SETUP] = "a=setup is not active"};
        Session *session = NULL;
        int r = session_require(call, args->session, &session);
        Tunnel *tunnel;
        SdpAnswer answer;

        if (r)
                return r;
        tunnel = tunnels_find_short(call->daemon, args->short_code);
        if (!tunnel || strcmp(tunnel->session, session->name) != 0)
                return call_fail(call, CALL_E_TUNNEL_FAILED,
                                 "no tunnel of this session has that short_code");
        r = tunnel_op_read_answer(args->answer_sdp, &answer);
        if (r < 0)
                return error_trace(r);
        if (r || answer.sctp_port != 5000)
                return call_fail(call, CALL_E_INVALID_PARAMS, "answer_sdp: %s",
                                 r ? wrong[r] : "its SCTP port is not 5000");
        if (tunnel_pin(tunnel, answer.fingerprint))
                return call_fail(call, CALL_E_TUNNEL_FAILED, "%s", tunnel->why);
        return tunnel_op_answer(call, tunnel, args->page);
}

int op_coop_tunnel(Call *call, const CoopTunnelArgs *args) {
        TunnelSpec spec = {.waits_for_answer = args->wait_for_answer};

        if (args->answer_sdp.n)
                return tunnel_op_pin(call, args);
        return tunnel_op_open(call, args->session, &spec, args->scope, args->page, args->stun);
}

/* ---- the others ------------------------------------------------------------------------------ */

static void tunnel_op_write(JsonWriter *w, const Tunnel *tunnel) {
        char from[ADDRESS_TEXT_MAX + 8];

        jw_begin_object(w);
        jw_field_uint(w, "tunnel", tunnel->number);
        jw_field_cstr(w, "session", tunnel->session);
        jw_field_cstr(w, "state", tunnel_phase_name(tunnel->phase));
        jw_field_cstr(w, "scope", web_scope_name(tunnel->scope));
        jw_field_cstr(w, "token", tunnel->token ? tunnel->token->id : NULL);
        if (tunnel->from.family) {
                tunnel_address_text(&tunnel->from, from);
                jw_field_cstr(w, "address", from);
        }
        if (*tunnel->why)
                jw_field_cstr(w, "reason", tunnel->why);
        if (tunnel->pid)
                jw_field_int(w, "pid", tunnel->pid);
        jw_field_uint(w, "channels", tunnel->n_channels);
        jw_field_uint(w, "failed", tunnel->n_failed);
        jw_field_time_ms(w, "since", tunnel->since_us);
        jw_end_object(w);
}

int op_native_tunnel_ls(Call *call, _unused_ const NativeTunnelLsArgs *args) {
        JsonWriter *w = call_result(call);

        tunnels_tidy(call->daemon, false);
        jw_begin_object(w);
        jw_key(w, "tunnels");
        jw_begin_array(w);
        for (const Endpoint *e = call->daemon->endpoints; e; e = e->next) {
                const Tunnel *tunnel = tunnel_of(e);

                if (tunnel && tunnel->phase != TUNNEL_OVER)
                        tunnel_op_write(w, tunnel);
        }
        jw_end_array(w);
        jw_end_object(w);
        return 0;
}

/* ---- wait ------------------------------------------------------------------------------------ */

typedef struct TunnelOpWait { /* in the call's arena */
        Call *call;
        TunnelWait wait;
} TunnelOpWait;

static void tunnel_op_wait_answer(Call *call, Tunnel *tunnel) {
        JsonWriter *w = call_result(call);
        char from[ADDRESS_TEXT_MAX + 8];

        if (tunnel->phase == TUNNEL_OVER && tunnel->holder.client == call->client)
                client_unwatch(&tunnel->holder);

        jw_begin_object(w);
        jw_field_cstr(w, "state", tunnel_phase_name(tunnel->phase));
        jw_field_uint(w, "changes", tunnel->n_changes);
        if (tunnel->from.family) {
                tunnel_address_text(&tunnel->from, from);
                jw_field_cstr(w, "address", from);
        }
        if (*tunnel->why)
                jw_field_cstr(w, "reason", tunnel->why);
        jw_end_object(w);
}

static void tunnel_op_on_changed(TunnelWait *wait, Tunnel *tunnel) {
        Call *call = container_of(wait, TunnelOpWait, wait)->call;

        tunnel_op_wait_answer(call, tunnel);
        call_finish(call, 0);
}

static void tunnel_op_wait_release(void *object) {
        TunnelOpWait *self = object;

        tunnel_wait_leave(&self->wait);
}

static void tunnel_op_on_gone(Call *call) {
        call_finish(call, 0);
}

int op_native_tunnel_wait(Call *call, const NativeTunnelWaitArgs *args) {
        Tunnel *tunnel = tunnel_find_of(call->client, (unsigned)args->tunnel);
        TunnelOpWait *self = arena_alloc(&call->arena, sizeof(*self));

        if (!self)
                return error_origin(-ENOMEM);
        if (!tunnel)
                return call_fail(call, CALL_E_TUNNEL_NOT_FOUND, "there is no tunnel %lld",
                                 (long long)args->tunnel);
        if (tunnel->n_changes > (uint64_t)args->seen) {
                tunnel_op_wait_answer(call, tunnel);
                return 0;
        }
        *self = (TunnelOpWait){.call = call};
        if (call_hold(call, self, tunnel_op_wait_release))
                return error_origin(-ENOMEM);
        tunnel_wait(tunnel, &self->wait, tunnel_op_on_changed);
        conn_end_with_peer(call->client->conn); /* who hangs up waits no longer */
        call->gone = tunnel_op_on_gone;
        return CALL_LATER;
}

/* ---- close, page ----------------------------------------------------------------------------- */

int op_native_tunnel_close(Call *call, const NativeTunnelCloseArgs *args) {
        JsonWriter *w;
        size_t n = 0;

        for (const Endpoint *e = call->daemon->endpoints; e; e = e->next) {
                Tunnel *tunnel = tunnel_of(e);

                if (!tunnel || tunnel->phase == TUNNEL_OVER ||
                    (args->has_tunnel && tunnel->number != args->tunnel))
                        continue;
                tunnel_end(tunnel, "closed by a person");
                n++;
        }
        if (!n && args->has_tunnel)
                return call_fail(call, CALL_E_TUNNEL_NOT_FOUND, "there is no tunnel %lld",
                                 (long long)args->tunnel);
        w = call_result(call);
        jw_begin_object(w);
        jw_field_uint(w, "closed", n);
        jw_end_object(w);
        return 0;
}

int op_native_tunnel_page(Call *call, _unused_ const NativeTunnelPageArgs *args) {
        const Asset *asset = asset_find(STR("/connect"));
        JsonWriter *w;

        if (!asset || asset->etag.n < 2)
                return call_fail(call, CALL_E_FILE_NOT_FOUND, "this build has no page for tunnels");
        w = call_result(call);
        jw_begin_object(w);
        jw_field_str(w, "sha256", (Str){asset->etag.data + 1, asset->etag.n - 2});
        jw_field_uint(w, "bytes", asset->n_plain);
        jw_end_object(w);
        return 0;
}
