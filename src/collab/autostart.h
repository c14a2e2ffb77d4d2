#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Autostart: when the daemon starts, what the groups' documents want to run is started, unless it runs
 * already. Leftovers of another daemon (state files of processes that nobody holds) are cleared away first.
 */
#include "collab/group.h"

/* Looks through the home on a worker; the rest follows by itself. 0 or -ENOMEM. */
int autostart_begin(Collab *collab);
