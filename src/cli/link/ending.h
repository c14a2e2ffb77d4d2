#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Waits for processes that are on their way out: the daemon answers a kill before they are gone,
 * and shows them as ending until they are.
 */
#include "cli/link/coop.h"

/* Those of one session or other object, or the one with this id (NULL: of all sessions), or in a workspace
 * (NULL: in none). Returns an exit status; unless it is CLI_OK, stderr says why. */
int ending_wait(Coop *coop, const char *name, const char *workspace);
