#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Visit: what one connection means to this contract, for which it is "the server process": the folder that its
 * paths are relative to, and the workspaces that it has named. Its environment is in client->hello.
 *
 * A workspace that was named stays open, and is observed, while the connection is. It hangs on the client
 * (client->visit) and goes with it.
 */
#include "core/client.h"

typedef struct Workspace Workspace;

enum { VISIT_WORKSPACES_MAX = 64 }; /* named by one connection; another one is refused */

/* Absolute, in the call's arena, NUL-terminated; data is NULL without memory. */
Str visit_path(Call *call, Str path);
/* A variable of the client that started the connection; NULL: it has none, or nothing is known of it. */
const char *visit_env(const Call *call, const char *name);
/* Its whole environment, which ends with NULL, copied into the arena: that of the client, or the daemon's own when the client
 * said none, or is NULL. 0 or -ENOMEM. */
int visit_environment(Arena *arena, const Client *client, char ***ret);
/* The call's connection has named it. 0, CALL_E_COMPANY (too many), or negative. */
int visit_name(Call *call, Workspace *workspace);
/* The subscriptions of the connection (live/live.h); NULL: none. */
struct Live *visit_live(const Client *client);
int visit_set_live(Client *client, struct Live *live); /* ends with the visit; 0 or -ENOMEM */
bool visit_has(const Client *client, const Workspace *workspace);

/* Sessions that the connection has launched: it may name them without their workspace. The oldest are forgotten. */
enum { VISIT_SESSIONS_MAX = 1024 };
typedef struct VisitSession {
        Str session_ref;
        Workspace *workspace; /* that it has named */
} VisitSession;
int visit_add_session(Client *client, Workspace *workspace, Str session_ref); /* 0 or -ENOMEM */
Workspace *visit_find_session(const Call *call, Str session_ref);             /* NULL: none */
/* All of them, newest last, copied into the call's arena. 0 or -ENOMEM. */
int visit_sessions(Call *call, VisitSession **ret, size_t *ret_n);
uint64_t visit_number(const Call *call); /* of the connection; 0: it is gone */
/* It has named it, and its interest counts as being there. */
bool visit_is_observing(const Client *client, const Workspace *workspace);
