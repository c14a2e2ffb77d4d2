#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * `muster logs` of a run of AgentCompany. Followed, the files of the run are read when they change (inotify);
 * the daemon's feed tells when the run may have ended, and `ps` whether it has: a run is not forgotten before
 * all of its output is kept.
 */
#include "cli/cli.h"

/* *ret_is_run: the operand is one, or can be nothing else. An exit status. */
int logs_of_run(const Options *options, const char *name, bool *ret_is_run);
