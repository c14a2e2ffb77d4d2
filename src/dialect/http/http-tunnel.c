/* SPDX-License-Identifier: MIT */
/*
 * POST /api/tunnel: a short code, which somebody has typed at /connect, becomes the code of its tunnel (dialect/tunnel). The body is {"short_code"}. One
 * that is nobody's, was used or is too old is refused as a wrong token is, and counts against all that are out.
 */
#include "core/daemon.h"
#include "dialect/http/http-request.h"
#include "dialect/tunnel/tunnel.h"

enum { HTTP_TUNNEL_VALUES = 16 };

static void http_tunnel_answer(HttpRequest *request, const Tunnel *tunnel) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL, code = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        int r = tunnel_code_encode(&tunnel->code, &code);

        jw_begin_object(&w);
        jw_field_str(&w, "code", buf_str(&code));
        jw_field_cstr(&w, "session", tunnel->session);
        jw_end_object(&w);
        if (w.failed || r)
                http_answer_status(request, 500);
        else
                http_answer_json(request, 200, buf_str(&text));
        if (code.data)
                explicit_bzero(code.data, code.n);
}

void http_tunnel_redeem(HttpRequest *request, Str body) {
        Str text = arena_str(&request->arena, body);
        const Tunnel *tunnel;
        Json *json = NULL;

        if (!text.data ||
            json_parse(&request->arena, text.data, text.n, &(JsonLimits){.n_values = HTTP_TUNNEL_VALUES},
                       &json, NULL) ||
            !json_is(json_get(json, "short_code"), JSON_STRING)) {
                http_answer_wrong(request, 400, "the body is no JSON object with short_code");
                return;
        }
        tunnel = tunnels_redeem(request->client->daemon, json_text_of(json, "short_code"));
        if (tunnel)
                http_tunnel_answer(request, tunnel);
        else
                http_auth_refuse(request);
}
