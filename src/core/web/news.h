#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * News of the web for people: what happened to tokens and servers, who came in and who was refused, as items of the
 * feed (domain "web") and lines of the log. Never a secret, never what was typed or shown.
 *
 *   owner: id of the token, or address of the server; kind: created, from_code, revoked, expired, login, refused,
 *   opened, closed
 */
#include "core/daemon.h"
#include "core/web/token.h"

enum { NEWS_AGENT_MAX = 80 /* characters of what a browser says of itself */ };

/* Of a token, for the feed; feed may be NULL. */
void web_news_token(Feed *feed, const Token *token, const char *what);
/* A device has got this token for a code. agent: what it says it is. */
void web_news_login(Daemon *daemon, const Token *token, const ConnPeer *peer, Str agent);
/* The first of a burst of requests without a right token, from that address: also a line in the ledger of refusals. */
void web_news_refused(Daemon *daemon, const char *server, const char *address);
/* A server was opened or closed by somebody. */
void web_news_server(Daemon *daemon, const char *address, const char *what);
