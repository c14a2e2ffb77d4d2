#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What `muster ledger` does with workspaces of AgentCompany, without the daemon: the chains of their runs are
 * verified, and what a power loss left in the journal is put into the files.
 */
#include "cli/cli.h"

bool workspace_is(const char *path);
/* The events of all runs. An exit status, as of the others. */
int workspace_verify(const Options *options, const char *path);
/* The events of one run, whose chain is inside the lines. name: as the file was given. */
int workspace_verify_trail(const Options *options, const char *path, const char *name, int fd,
                           uint64_t size);
int workspace_repair(const Options *options, const char *path);
