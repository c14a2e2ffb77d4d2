#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Listener: one listening socket. Accepts until the kernel has no more, refuses other users of this machine,
 * and other machines unless it is told to take them, charges accounts, and pauses (instead of spinning) when
 * descriptors run out, to go on when one comes back. Owned by an Endpoint; knows no dialect.
 */
#include "wire/conn.h"

typedef struct Listener Listener;

typedef struct ListenerOptions {
        const char *name;   /* for the log */
        bool same_uid_only; /* close connections of other users of this machine at once, also over TCP */
        /* A peer on another machine: whether it may connect; whoever says no has logged it. NULL: none may.
         */
        bool (*admit)(void *user, const ConnPeer *peer);
        Accounts *accounts;
        ConnShared *shared;
} ListenerOptions;

/* Called with a new connection (to be started and owned by the callee). */
typedef void (*ListenerFn)(void *user, Conn *conn);

/* Takes fd (listening, non-blocking, close-on-exec). */
int listener_new(Listener **ret, int fd, const ListenerOptions *options, ListenerFn fn, void *user);
Listener *listener_free(Listener *listener);
void listener_wake(Listener *listener); /* a descriptor came back */
