#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The tools of an actor (docs/mcp.md): an agent program that takes MCP servers on its command line is started with ours, so that
 * no file of the user has to name it. Which programs do is a table here. Not for actors in a sandbox, from where the daemon
 * cannot be reached, nor where MUSTER_TOOLS=off is in the actor's environment.
 */
#include "base/strvec.h"
#include "core/daemon.h"

/* Adds the arguments to the command. 0, or -ENOMEM; where it cannot be done the command stays as it is. */
int tools_register(const Daemon *daemon, StrVec *argv, const StrVec *env);
