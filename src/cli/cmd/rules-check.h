#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * `muster rules check`: a daemon.json read by the daemon's own code, without a daemon.
 */
#include "cli/cli.h"

/* Prints what is wrong with the file and what would be in use; an exit status: CLI_FAILED when a daemon
 * would not take it. */
int rules_check(const char *path, bool json);
