/* SPDX-License-Identifier: MIT */
#include "core/web/news.h"

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
