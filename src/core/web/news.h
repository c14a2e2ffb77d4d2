#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * News of the web for people: what happened to tokens and servers, who came in and who was refused, as items of the
 * feed (domain "web") and lines of the log. Never a secret, never what was typed or shown.
 *
 *   owner: id of the token, address of the server, or name of the tunnel; kind: created, from_code, revoked, expired,
 *   login, refused, opened, closed; of tunnels also connected, resumed, lost, failed, short_code_spent
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
/* Of a tunnel, by its name: opened, connected, resumed, lost, failed, closed, short_code_spent. from: an address, or ""; why: or "". */
void web_news_tunnel(Daemon *daemon, const char *name, const char *what, const char *session,
                     const char *from, const char *why);
/* A server was opened or closed by somebody. */
void web_news_server(Daemon *daemon, const char *address, const char *what);
