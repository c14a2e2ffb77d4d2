#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The native socket: muster's own JSON-RPC methods, and a door to every other dialect, recognised by its
 * first bytes:
 *
 *   00 …                    a length prefix: coop
 *   @DIALECT [project=DIR]  one line that names the dialect; it is not answered
 *   {"op": …}               CCCC
 *   {"jsonrpc": …}          the dialect that has the first message's method: native, AIWG or AgentCompany
 *   GET … HTTP/1.1          HTTP, as a web server speaks it (dialect/http)
 *   anything else           native JSON-RPC, which says what is wrong with it
 */
#include "core/endpoint.h"
#include "dialect/jsonrpc/jsonrpc.h"

extern const Dialect door_dialect; /* where every connection to the native socket begins */
extern const JsonRpcDialect native_dialect;
extern const EndpointType native_endpoint;
