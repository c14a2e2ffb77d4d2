#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * MCP, as `muster mcp` speaks it with the daemon: JSON-RPC lines of the stateless revision 2026-07-28, behind the line
 * "@mcp" on the native socket. Each request says in `_meta` which revision it is of, so nothing is remembered between two
 * of them. Handshakes and older revisions are translated before (mcp-era.h), by the bridge (src/bridge) and by HTTP
 * (dialect/http/http-mcp.c), which is the other way in: there a message is what the client's Channel makes of it.
 *
 * A tool (schema/mcp/) is one or several operations of other dialects, run for this client one after the other, so that
 * rights, errors and commits are those of the operations. What differs is in the files here: who is meant by "I"
 * (mcp-caller.c), which arguments (mcp-bind.c), what of the result is shown (mcp-view.c).
 */
#include "core/dialect.h"

enum {
        MCP_LINE_MAX = 16 * 1024 * 1024,
        MCP_ID_MAX = 4096, /* bytes of an id, which is echoed */
};

extern const Dialect mcp_dialect;
