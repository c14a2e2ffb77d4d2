#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Find: where the daemon listens, and what to say when there is none. Starts nothing.
 */
#include <stddef.h>

/* The usual place (base/place.h); when nobody listens there, what the daemon left in its state folder, if
 * somebody listens there. A MUSTER_SOCKET that was set by hand is the only place. Malloc'd; NULL: cannot be
 * told. */
char *find_socket(void);
/* Processes that were hosted and run on without a daemon, by the records in the state folder. */
size_t find_running(void);
/* Says that no daemon listens at path, what runs all the same, and what to do. Returns CLI_NO_DAEMON. */
int find_complain_absent(const char *path);
