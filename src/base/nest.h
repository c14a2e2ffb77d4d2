#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Nest: whether this program runs inside a process that muster hosts, for the command line and the daemon.
 * A daemon that is started there is below that process's shim and ends with it.
 *
 * Three variables that every hosted process gets say where it is: MUSTER_HOSTED names its folder,
 * MUSTER_SOCKET the daemon's socket, MUSTER_SANDBOXED (only in one) the kind of sandbox, in which that
 * socket is covered. An environment can be cleaned, so the shim is also looked for among the parents.
 */
#include <stdbool.h>

bool nest_is_marked(void); /* by MUSTER_HOSTED */
bool nest_is_hosted(void); /* marked, or below a shim */
/* MUSTER_NESTED says that a daemon may be started here all the same: muster's own tests, run in a session.
 */
bool nest_is_allowed(void);
const char *nest_sandbox(void); /* NULL: none */
