/* SPDX-License-Identifier: MIT */
/*
 * POST /api/login: a one-time code, which stands in a link, becomes the token of a device (core/web/tokens.h). The body is
 * {"code", "label"}. A code that is nobody's, was used or is too old is refused as a wrong token is.
 */
#define LOG_MODULE "http/login"

#include <errno.h>
#include <stdlib.h>

#include "base/time.h"
#include "core/daemon.h"
#include "core/web/news.h"
#include "dialect/http/http-request.h"

enum { LOGIN_VALUES = 16, LOGIN_ANSWER_MAX = 4096 /* bytes: names in it are bounded */ };

struct HttpLogin {            /* its own, until the tokens have answered */
        HttpRequest *request; /* NULL: the client has gone */
};

static void http_login_answer(HttpRequest *request, const Token *token, const char *secret) {
        _cleanup_(buf_wipe) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        if (buf_reserve(&text, LOGIN_ANSWER_MAX)) { /* so that it does not grow with a secret in it */
                http_answer_status(request, 503);
                return;
        }
        jw_begin_object(&w);
        jw_field_cstr(&w, "id", token->id);
        jw_field_cstr(&w, "token", secret);
        jw_field_cstr(&w, "scope", web_scope_name(token->scope));
        jw_field_cstr(&w, "label", token->label);
        if (*token->object)
                jw_field_cstr(&w, "object", token->object);
        jw_field_time_ms(&w, "expires", token_expires_us(token));
        jw_end_object(&w);
        if (w.failed)
                http_answer_status(request, 500);
        else
                http_answer_json(request, 200, buf_str(&text));
}

static void http_login_tell(const HttpRequest *request, const Token *token) {
        const Client *client = request->client;
        Str agent = STR_NULL;

        (void)http_head_find(&request->head, STR("User-Agent"), &agent);
        web_news_login(client->daemon, token, conn_peer(client->conn), agent);
}

static void http_login_done(void *user, int r, const Token *token, const char *secret) {
        HttpLogin *login = user;
        HttpRequest *request = login->request;
        Client *client = request ? request->client : NULL;

        free(login);
        if (!request)
                return;
        request->login = NULL;
        if (!r) {
                http_login_tell(request, token);
                http_login_answer(request, token, secret);
        } else if (r < 0 || r == TOKENS_E_FULL)
                http_answer_status(request, 503);
        else
                http_auth_refuse(request);
        client_release(client);
}

void http_login_leave(HttpLogin *login) {
        if (login)
                login->request = NULL;
}

void http_login(HttpRequest *request, Str body) {
        Client *client = request->client;
        Str text = arena_str(&request->arena, body);
        Json *json = NULL;
        HttpLogin *login;

        if (!text.data ||
            json_parse(&request->arena, text.data, text.n, &(JsonLimits){.n_values = LOGIN_VALUES}, &json,
                       NULL) ||
            !json_is(json, JSON_OBJECT)) {
                http_answer_wrong(request, 400, "the body is no JSON object");
                return;
        }
        login = malloc(sizeof(*login));
        if (!login || tokens_login(client->daemon->tokens, json_text_of(json, "code"),
                                   json_text_of(json, "label"), http_login_done, login)) {
                free(login);
                http_answer_status(request, 503);
                return;
        }
        *login = (HttpLogin){.request = request};
        request->login = login;
        client_hold(client);
}
