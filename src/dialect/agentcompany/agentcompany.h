#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The AgentCompany dialect: JSON-RPC 2.0 lines. Clients reach it through `muster stdio`, which passes their
 * bytes to the native socket unchanged, so it has no socket of its own.
 */
#include "dialect/jsonrpc/jsonrpc.h"

extern const JsonRpcDialect agentcompany_dialect;
