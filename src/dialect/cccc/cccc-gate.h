#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * CcccGate: whom of another machine the TCP endpoint lets in.
 *
 * A file cccc.token in the state folder (0600; `muster token new` makes it) holds a word that stands for the
 * user. While there is one, a connection of another machine begins with the line {"token":"…"}; nothing is
 * answered before it, and a connection without it is closed. One of this machine may begin so, too, and is
 * then not taken for an agent in a sandbox. Without the file other machines come in only with
 * cccc.allow_remote, as the contract has it, and people are warned of that. A file that cannot be used, for
 * example since others can read it, lets nobody in.
 *
 * Bounds: CCCC_GATE_WAITING connections that have not said it, CCCC_GATE_MS each, a line of CCCC_GATE_LINE
 * bytes; what is over them is closed and counted. Not here: users of this machine (wire/listener.h). The
 * gate is the context of the CCCC endpoint.
 */
#include "core/endpoint.h"

enum {
        CCCC_GATE_WAITING = 64,
        CCCC_GATE_MS = 10000,
        CCCC_GATE_LINE = 4096,
        CCCC_TOKEN_MIN = 16, /* characters */
        CCCC_TOKEN_MAX = 1024,
};

/* Reads the file; is_remote: other machines may connect without it. Whoever was let in by what was before is
 * sent away. Reads a small file of our own. */
int cccc_gate_load(Endpoint *endpoint, bool is_remote);
void cccc_gate_renew(Endpoint *endpoint); /* the same, after it was loaded once */
void cccc_gate_free(Endpoint *endpoint);

/* For the EndpointType. */
bool cccc_gate_admit(Endpoint *endpoint, const ConnPeer *peer);
const Dialect *cccc_gate_greet(Endpoint *endpoint, const ConnPeer *peer, ConnLimits *limits);

/* A line that says the token, from a connection of this machine. False: it is not such a line, or nobody is
 * asked for one; else the client was let in or sent away. */
bool cccc_gate_hears(Client *client, const Json *json);
