/* SPDX-License-Identifier: MIT */
/*
 * The first message on coop-control: who is there shows the token of the code, or what it was given for coming back. Both are good for one time. It is the
 * handshake of coop's contract, too: what follows is spoken as there. And the first message on muster-term, which says which terminal.
 */
#define LOG_MODULE "tunnel/proof"

#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "core/daemon.h"
#include "core/dialect.h"
#include "core/web/news.h"
#include "dialect/coop/coop.h"
#include "dialect/http/assets.h"
#include "dialect/http/ws.h"
#include "dialect/tunnel/tunnel.h"
#include "wire/http-target.h"

enum { TUNNEL_PROOF_VALUES = 16 };

/* ---- the proof ------------------------------------------------------------------------------- */

static bool tunnel_proof_is_token(const Tunnel *tunnel, Str given) {
        char text[BASE64URL_MAX(TUNNEL_CODE_TOKEN)], ours[SHA256_HEX_MAX], theirs[SHA256_HEX_MAX];
        int r;

        if (tunnel->is_spent || !given.n)
                return false;
        base64url_put((Str){(const char *)tunnel->code.token, sizeof(tunnel->code.token)}, text);
        r = token_digest(str_from(text), ours);
        explicit_bzero(text, sizeof(text));
        return !r && !token_digest(given, theirs) && token_digest_eq(ours, theirs);
}

static bool tunnel_proof_is_resume(const Tunnel *tunnel, Str given) {
        char theirs[SHA256_HEX_MAX];

        return tunnel->is_spent && *tunnel->resume && given.n && !token_digest(given, theirs) &&
               token_digest_eq(tunnel->resume, theirs);
}

static bool tunnel_proof_holds(Client *client, Str message) {
        const Tunnel *tunnel = tunnel_channel_tunnel(client);
        Json *json = NULL;

        if (!ws_is_text(client) || message.n > TUNNEL_PROOF_MAX ||
            json_parse(&client->daemon->envelope, message.data, message.n,
                       &(JsonLimits){.n_values = TUNNEL_PROOF_VALUES}, &json, NULL))
                return false;
        return tunnel_proof_is_token(tunnel, json_text_of(json, "token")) ||
               tunnel_proof_is_resume(tunnel, json_text_of(json, "resume"));
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void tunnel_proof_put_console(JsonWriter *w) {
        _cleanup_(buf_deinit) Buf list = BUF_NULL;
        char digest[SHA256_HEX_MAX] = "";

        jw_key(w, "console");
        jw_begin_object(w);
        jw_field_cstr(w, "kind", assets_kind());
        if (!tunnel_file_console(&list, digest))
                jw_field_cstr(w, "sha256", digest);
        jw_end_object(w);
}

static void tunnel_proof_answer(Client *client, const Tunnel *tunnel, const char *resume) {
        JsonWriter w = JSON_WRITER(conn_out(client->conn));
        size_t mark = w.out->n;
        char name[TOKEN_OBJECT_MAX];

        snprintf(name, sizeof(name), "session:%s", tunnel->session);
        jw_begin_object(&w);
        jw_field_int(&w, "version", COOP_VERSION);
        jw_field_bool(&w, "ok", true);
        jw_field_uint(&w, "tunnel", tunnel->number);
        jw_field_cstr(&w, "session", tunnel->session);
        jw_field_cstr(&w, "name", name);
        jw_field_cstr(&w, "scope", web_scope_name(tunnel->scope));
        jw_field_cstr(&w, "resume", resume);
        tunnel_proof_put_console(&w);
        jw_end_object(&w);
        if (w.failed)
                conn_abort(client->conn, "out of memory");
        else
                client_end_message(client, w.out, mark);
}

/* The answer has to arrive before the attempt ends: its connection is closed behind it, which ends it. */
static void tunnel_proof_refuse(Client *client) {
        Tunnel *tunnel = tunnel_channel_tunnel(client);
        char from[ADDRESS_TEXT_MAX + 8] = "";
        Buf *out = conn_out(client->conn);
        size_t mark = out->n;

        tunnel_address_text(&tunnel->from, from);
        web_news_refused(client->daemon, tunnel->name, from);
        if (coop_put_failure(out, CALL_E_PERMISSION_DENIED, STR("this is not the token"), STR_NULL))
                client_end_message(client, out, mark);
        conn_finish(client->conn, "wrong token");
}

static void tunnel_proof_on_message(Client *client, Str message) {
        Tunnel *tunnel = tunnel_channel_tunnel(client);
        char resume[TOKEN_TEXT_MAX] = "";

        if (conn_is_closing(client->conn))
                return;
        if (!tunnel_proof_holds(client, message)) {
                tunnel_proof_refuse(client);
                return;
        }
        tunnel_prove(tunnel, client, resume);
        if (tunnel->phase != TUNNEL_CONNECTED)
                return;
        tunnel_channel_prove(client);
        tunnel_proof_answer(client, tunnel, resume);
        explicit_bzero(resume, sizeof(resume));
        client_switch(client, &coop_dialect, client->endpoint, STR_NULL);
        coop_be_greeted(client);
}

const Dialect tunnel_proof_dialect = {
        .name = "coop",
        .frame = tunnel_proof_on_message,
        .eof = ws_on_eof,
        .oversize = ws_on_oversize,
        .leaving = ws_on_leaving,
};

/* ---- which terminal -------------------------------------------------------------------------- */

static void tunnel_term_on_message(Client *client, Str message) {
        HttpTarget target;
        int r;

        if (!ws_is_text(client)) {
                ws_close(client, WS_CODE_UNSUPPORTED, "the first message says which terminal");
                return;
        }
        r = http_target_parse(&client->daemon->envelope, message, &target);
        if (!r && http_target_is(&target, "term", NULL))
                r = ws_term_begin(client, &target);
        else if (r >= 0) {
                ws_close(client, WS_CODE_NOT_FOUND, "not /term?id=NAME");
                return;
        }
        if (r)
                conn_abort(client->conn, "out of memory");
}

const Dialect tunnel_term_dialect = {
        .name = "native",
        .frame = tunnel_term_on_message,
        .eof = ws_on_eof,
        .oversize = ws_on_oversize,
        .leaving = ws_on_leaving,
};
