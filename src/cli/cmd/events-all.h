#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * `muster events --all`: the daemon's feed (native method feed.follow), of all groups, projects and hosted
 * processes.
 */
#include "cli/cli.h"

int events_all(const Options *options); /* exit status */
