#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The AIWG dialect: JSON-RPC 2.0 on the Unix socket of a project. Each project is an endpoint of its own.
 */
#include "core/endpoint.h"
#include "dialect/jsonrpc/jsonrpc.h"

extern const JsonRpcDialect aiwg_dialect;
extern const EndpointType aiwg_endpoint;
