#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Principal: who is calling, as far as it decides what may be asked for. Whoever gets through to a socket of
 * ours as the same user is the user, with two exceptions:
 *
 *   sandboxed   a process in a sandbox that we host, by its PID namespace and its place below a shim; looked
 *               at when it connects, and so it stays
 *   TCP         nobody can tell which process it is; it counts as sandboxed while there is a sandbox, unless
 *               it has said the token, which no sandbox shows
 *
 * Both may look (OP_SCOPE_VIEW without OP_REVEALS) and do nothing else, on every socket and in every
 * dialect. Not here: users (wire/listener.h), and the `by` of CCCC, which is what its caller says.
 */
#include "core/client.h"

/* Looks who has connected, if that can matter: a few reads of /proc, no waiting. */
void principal_establish(Client *client);
/* Why this client may not call the operation, in words; NULL: it may. */
const char *principal_refusal(const Client *client, const Op *op);
