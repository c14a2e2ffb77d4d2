#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The daemon's own log as `muster logs --daemon` shows it: musterd.log in the state folder and the older
 * ones beside it, read from the disk, so that it can be read when no daemon runs, too. Followed, it goes on
 * across the change from one file to the next, and looks when the kernel tells of changes in the folder.
 */
#include "cli/cli.h"

int daemon_log_show(const Options *options); /* an exit status */
