#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Autostart: when the daemon starts, what the groups' documents want to run is started, unless it runs
 * already. Leftovers of another daemon (state files of processes that nobody holds) are cleared away first.
 */
#include "collab/group/group.h"
#include "core/config.h"

/* Looks through the home on a worker; the rest follows by itself. 0 or -ENOMEM. */
int autostart_begin(Collab *collab);

/*
 * Leftovers: state files of runners that no daemon holds any more. A process is ended only when it is
 * certain that it is the one that the file means: it is old enough, and its environment names this group and
 * actor. Never by its number alone. Worker.
 */
