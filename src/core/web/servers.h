#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Servers: which web servers somebody has asked for, so that the next daemon opens them again when this one was
 * killed or upgraded. <home>/web/servers.json, 0600; of each its address, its certificate, its scope and the SHA-256
 * of its token.
 *
 * A server is kept before it is answered, and forgotten when somebody stops it or the daemon stops in order
 * (servers_forget_all()). Only the records are here: who listens is dialect/http, whose endpoints point to them.
 * Changes are written one after the other; when one cannot be written nothing has changed. Bounds: SERVERS_MAX, then
 * SERVERS_E_FULL; SERVERS_WAITING_MAX changes that wait, then -ENOBUFS. Loop thread; owned by the Daemon.
 */
#include "base/log/log.h"
#include "base/loop/loop.h"
#include "core/web/token.h"

enum {
        SERVERS_MAX = 16,
        SERVERS_WAITING_MAX = 64,
        SERVER_HOST_MAX = 256, /* bytes of an address */
        SERVER_TLS_MAX = 8192, /* of two paths */
};

enum {
        _SERVERS_E_SUCCESS,
        SERVERS_E_TAKEN,   /* there is one at this address */
        SERVERS_E_FULL,    /* there are SERVERS_MAX */
        SERVERS_E_MISSING, /* there is none at this address */
};

typedef struct Servers Servers;
typedef struct ServerRecord ServerRecord;

struct ServerRecord {
        ServerRecord *next;
        char *host;    /* as it was asked for */
        unsigned port; /* that it listens at; never 0 */
        char *tls;     /* "": none; "auto"; CERT:KEY */
        WebScope scope;
        char digest[SHA256_HEX_MAX]; /* of its token */
        int64_t since_us;
};

/* Reads what earlier daemons have left: blocks, for start-up. */
int servers_open(Servers **ret, Loop *loop, Log *log, const char *home);
Servers *servers_free(Servers *servers);
const ServerRecord *servers_first(const Servers *servers); /* those that are kept, oldest first */

/* How it ended: 0, negative (the disk), or a condition. */
typedef void (*ServersFn)(void *user, int r);
/* Each returns 0, and fn is called in a later turn; or negative, and it is not. what is copied; its next counts not. */
int servers_keep(Servers *servers, const ServerRecord *what, ServersFn fn, void *user); /* TAKEN, FULL */
int servers_forget(Servers *servers, const char *host, unsigned port, ServersFn fn,
                   void *user); /* MISSING */
/* At a stop in order; blocks. Nothing can be kept any more. */
int servers_forget_all(Servers *servers);
