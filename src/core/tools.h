#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Tools and hooks of hosted agents (docs/mcp.md, docs/agents.md): an agent program that can be told of an MCP server and of hooks
 * for one start is started with ours, so that no file of the user has to name them. Which programs can, and how, is a table in tools.c. Not for programs in a
 * sandbox, from where the daemon cannot be reached, and not where MUSTER_TOOLS=off is in the program's environment.
 *
 * Not here: the settings files of programs that are started elsewhere, which `muster setup` changes.
 */
#include <stdbool.h>

#include "base/str.h"
#include "core/host/program.h"

/* Adds what it takes to the command or the environment. Where it cannot be done the program stays as it is. keeps_argv: its
 * contract promises the words of the command line, so they stay unless MUSTER_TOOLS=on is in the environment. 0 or -ENOMEM. */
int tools_register(const Daemon *daemon, Program *program, bool keeps_argv);
/* Whether a program of this name is one of the table. */
bool tools_are_for(Str command);
/* For the programs that read of servers in a file: leaves it in the home of the daemon. Blocks; when the native socket opens. */
int tools_leave_file(const Daemon *daemon, const char *socket);
