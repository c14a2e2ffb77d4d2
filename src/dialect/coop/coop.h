#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The coop dialect: every message is 4 bytes of length and one JSON object. The first one is the version
 * handshake; then come commands {cmd, …}, answered {ok, …} one by one. On a data channel of a tunnel a message has no
 * length before it, and terminals are shown on channels of their own.
 */
#include "core/dialect.h"
#include "core/endpoint.h"

enum { COOP_VERSION = 1, COOP_MESSAGE_MAX = 1048576 };

/* The answer of a command that failed, without its length; details: "{…}" or empty. False: out of memory. */
bool coop_put_failure(Buf *out, int error, Str message, Str details);

/* coop-stream.c: the connection carries one terminal from now on (target: that of a PtyTarget). */
void coop_stream(Client *client, const StreamTarget *target);

/* The handshake is over, by another way than its own. */
void coop_be_greeted(Client *client);

extern const Dialect coop_dialect;
extern const EndpointType coop_endpoint;
