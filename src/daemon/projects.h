#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Projects: the AIWG projects that people have added to this daemon, besides those that flags and
 * configuration name. The list is projects.json in the state folder; each is an endpoint.
 */
#include "core/daemon.h"

/* The kept list of a state folder: absolute paths. A file that cannot be read is an empty list. */
int projects_load(const char *home, StrVec *ret);
/* An endpoint for a folder, at the end of the daemon's list; the one that is there already if there is one.
 */
int projects_endpoint(Daemon *daemon, const char *dir, Endpoint **ret);
