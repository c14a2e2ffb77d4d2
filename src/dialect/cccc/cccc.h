#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The CCCC dialect: one line {v, op, args}, one line {v, ok, result, error} back, then the connection is
 * closed (unless the operation turned it into a stream). Bytes behind the first line are ignored; the end of
 * the stream ends a line too.
 */
#include "core/dialect.h"
#include "core/endpoint.h"

enum { CCCC_LINE_MAX = 2000000 };

extern const Dialect cccc_dialect;
/* cccc-term.c: target is a Runner. */
void cccc_term_stream(Client *client, const StreamTarget *target);
extern const EndpointType cccc_endpoint;
