/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "core/web"

#include "core/web/news.h"

#include "base/utf8.h"
#include "core/principal/audit.h"

static void news_write_token(JsonWriter *w, const Token *token) {
        jw_field_cstr(w, "token", token->id);
        jw_field_cstr(w, "token_kind", token_kind_name(token->kind));
        jw_field_cstr(w, "scope", web_scope_name(token->scope));
        jw_field_cstr(w, "label", token->label);
        if (*token->object)
                jw_field_cstr(w, "object", token->object);
}

static void news_push(Feed *feed, Str owner, const char *kind, const Buf *text) {
        FeedPlace place;

        if (!feed)
                return;
        feed_place(&place, "web", owner, str_from(kind), FEED_NOWHERE);
        (void)feed_push(feed, &place, chunk_new(buf_str(text)));
}

void web_news_token(Feed *feed, const Token *token, const char *what) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        jw_begin_object(&w);
        news_write_token(&w, token);
        jw_end_object(&w);
        if (!w.failed)
                news_push(feed, str_from(token->id), what, &text);
}

void web_news_login(Daemon *daemon, const Token *token, const ConnPeer *peer, Str agent) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        char address[ADDRESS_TEXT_MAX] = "-";

        if (peer->is_remote)
                address_text(&peer->ip, address);
        log_notice(&daemon->log, token->id, "login scope=%s address=%s", web_scope_name(token->scope),
                   address);
        jw_begin_object(&w);
        news_write_token(&w, token);
        jw_field_cstr(&w, "address", address);
        jw_field_str(&w, "agent", utf8_first(agent, NEWS_AGENT_MAX));
        jw_end_object(&w);
        if (!w.failed)
                news_push(daemon->feed, str_from(token->id), "login", &text);
}

void web_news_refused(Daemon *daemon, const char *server, const char *address) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        audit_refused(daemon, &(Refused){.code = cccc_error_code(CALL_E_PERMISSION_DENIED),
                                         .principal = "web:-",
                                         .proof = "web",
                                         .dialect = "http",
                                         .op = server,
                                         .right = right_name(RIGHT_READ),
                                         .claimed = str_from(address)});
        jw_begin_object(&w);
        jw_field_cstr(&w, "server", server);
        jw_field_cstr(&w, "address", address);
        jw_end_object(&w);
        if (!w.failed)
                news_push(daemon->feed, str_from(server), "refused", &text);
}

void web_news_server(Daemon *daemon, const char *address, const char *what) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        log_notice(&daemon->log, address, "web server %s", what);
        jw_begin_object(&w);
        jw_field_cstr(&w, "server", address);
        jw_end_object(&w);
        if (!w.failed)
                news_push(daemon->feed, str_from(address), what, &text);
}

void web_news_tunnel(Daemon *daemon, const char *name, const char *what, const char *session,
                     const char *from, const char *why) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        log_notice(&daemon->log, name, "%s session=%s%s%s%s%s", what, session, *from ? " from=" : "", from,
                   *why ? " why=" : "", why);
        jw_begin_object(&w);
        jw_field_cstr(&w, "tunnel", name);
        jw_field_cstr(&w, "session", session);
        if (*from)
                jw_field_cstr(&w, "address", from);
        if (*why)
                jw_field_cstr(&w, "reason", why);
        jw_end_object(&w);
        if (!w.failed)
                news_push(daemon->feed, str_from(name), what, &text);
}
