#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * HTTP/1.1 as a server: one request at a time per connection, keep-alive, bodies of a known length, WebSockets.
 * Requests are taken apart in wire/http-head.h and its neighbours, strictly: what could be read in two ways is refused.
 * What is served is a table of routes (http-route.c). Operations are run as those of their contract, so rights,
 * errors and commits are theirs; nothing of a contract is decided here.
 *
 *   http-endpoint.c   a server: an address, its token, who knocks at it
 *   http.c            from the head to the answer; keep-alive, deadlines
 *   http-reply.c      heads of answers
 *   http-auth.c       Host, Origin, tokens; refusals that are slowed
 *   http-route.c      which path is what
 *   http-rest.c       coop's REST
 *   http-mcp.c        MCP over streamable HTTP
 *   http-recording.c  recordings as files
 *   http-lite.c       the fleet as a page without a script
 *   http-assets.c     the embedded files
 *   ws.c              WebSockets: upgrade, ping, close; a Channel (core/client.h)
 *   ws-coop.c …       what is spoken on them
 *
 * Bounds: see HTTP_… below and in http-auth.h, ws.h.
 */
#include "core/dialect.h"
#include "core/endpoint.h"

enum {
        HTTP_BODY_MAX = 1 << 20, /* bytes of a request's body; more: 413 */
        HTTP_LOGIN_MAX = 4096,   /* … of one that asks for a device token */
        HTTP_HEAD_MS = 10000,    /* to the end of the first head; then closed */
        HTTP_BODY_MS = 10000,    /* from there to the end of its body; then 408 */
        HTTP_MCP_PROGRESS_MS =
                5000, /* between two words to a client of MCP that waits and wants to know … */
        HTTP_MCP_SILENT_MS = 15000, /* … and that does not: a comment, for those between */
        HTTP_KEEP_ALIVE_MS = 75000, /* from an answer to the end of the next head; then closed */
};

extern const Dialect http_dialect;
extern const EndpointType http_endpoint;
