#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The eras of MCP, told apart and turned into each other: revisions up to 2025-11-25 begin with `initialize`, 2026-07-28 has
 * no handshake and says in `_meta` of each request what it is. The daemon's tools know the newer era only, so whoever has
 * clients of both (src/bridge on stdin and stdout, dialect/http/http-mcp.c) translates here. Texts in, texts out: no
 * connection, no state.
 */
#include "base/json/json-writer.h"
#include "gen/mcp-tools.h"

#define MCP_REVISION "2026-07-28" /* the one that is spoken behind this */

enum {
        MCP_REVISION_CODE = -32022, /* of a revision that is not spoken; the others are those of JSON-RPC */
        MCP_NO_RESOURCE = -(32 * 1000 + 2), /* as older revisions say that there is no such resource */
};

extern const char mcp_instructions[]; /* for the model */

/* Whose environment, or address, the requests come from; empty: it does not say. */
typedef struct McpSaid {
        Str group, actor;
} McpSaid;

/* The revision of the older era that this one gets: the same, or the newest. */
const char *mcp_era_agree(Str wanted);
bool mcp_era_is_old(Str revision); /* a revision with a handshake that is known */
bool mcp_era_says_new(const Json *params);
/* The whole answer to initialize. tells: the client is told of changes. */
void mcp_era_put_initialize(JsonWriter *w, Str id, const Json *params, bool tells);
void mcp_era_put_empty(JsonWriter *w, Str id); /* an answer that says nothing */

/* A request for the daemon, with what it wants to know in `_meta`; what the client says of itself stays, but not what only
 * we say. has_key: with a new key, under which it is done once. */
void mcp_era_put_meta(JsonWriter *w, const McpSaid *said, const Json *meta, bool is_old, bool has_key);
typedef struct McpAsked {
        Str id, method; /* id: raw JSON */
        const Json *params;
        bool is_old, has_key;
} McpAsked;
void mcp_era_put_request(JsonWriter *w, const McpSaid *said, const McpAsked *asked);

/* Appends the daemon's answer as older clients want it, who do not know what new results begin with. */
int mcp_era_put_old(Buf *out, Str id, bool is_resource, Str line);
/* The code of the error that a line answers this id with; 0: it is none. */
int mcp_era_error(Str id, Str line);

const McpTool *mcp_era_tool(Str name); /* NULL: there is none */
/* Whether the step that will be taken has a key: of several the first is, whose parameter is given. */
bool mcp_era_is_keyed(const McpTool *tool, const Json *args);
