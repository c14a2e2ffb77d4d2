#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * A WebSocket: the Channel (core/client.h) between a connection that was upgraded and what is spoken on it. What is said
 * at /rpc and /term is also said on data channels of a tunnel (dialect/tunnel), which are another Channel. Frames
 * become messages, pings are answered, a peer that is silent is asked, whoever's token ends is told so and closed.
 *
 * Bounds: a message of WS_MESSAGE_MAX bytes in any number of frames; WS_PING_MS of silence until it is asked,
 * WS_SILENT_MS until it is closed. What is queued is bounded by the connection.
 */
#include "core/client.h"
#include "core/web/tokens.h"
#include "dialect/http/http-request.h"
#include "dialect/jsonrpc/jsonrpc.h"
#include "wire/websocket.h"

enum {
        WS_MESSAGE_MAX = 1 << 20,
        WS_PING_MS = 20000,
        WS_SILENT_MS = 45000,
        WS_CODE_UNSUPPORTED = 1003,
        WS_CODE_REFUSED = 4403,   /* the token does not reach so far */
        WS_CODE_NOT_FOUND = 4404, /* what it was to show is not there */
};

/* Answers the request, if it is an upgrade, and makes the client speak this dialect: true. The request is gone then. */
bool ws_upgrade(HttpRequest *request, const Dialect *dialect);
/* The rest is for dialects, which do not know on which channel they are. In frame(): whether the message being handled is text. */
bool ws_is_text(const Client *client);
/* Says why, and ends the connection; the code arrives, if the peer is there. */
void ws_close(Client *client, unsigned code, const char *reason);
/* Appends a message of text, for what is not written into the connection itself. */
void ws_put_text(Client *client, Buf *out, Str text);
Chunk *ws_frame_bytes(Str bytes); /* HostFrame: a binary message */

void ws_on_eof(Client *client, Str rest);
void ws_on_oversize(Client *client); /* never called: the channel does it */
void ws_on_leaving(Client *client);

/* ws-rpc.c, ws-term.c: the same on a channel of another kind, which the client has. At /term it is the address that
 * says which terminal. */
extern const JsonRpcDialect ws_rpc_dialect;
int ws_term_begin(Client *client, const HttpTarget *target);
