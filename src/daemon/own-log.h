#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Where the daemon's own log goes: to stderr, as it is. Only if stderr is a file called musterd.log, which
 * is what `muster up` arranges, the daemon takes the file over: it is bounded in size, and so are floods of
 * the same lines (base/log/log-file.h). Whoever else collects stderr (a terminal, journald, a pipe) has own
 * rules.
 *
 * On a terminal the greeting comes first and says what is served: until then only warnings and errors are shown, if
 * no level was asked for.
 */
#include "core/daemon.h"

void own_log_open(Daemon *daemon);    /* the first sink of the log; before there is a loop */
void own_log_greeted(Daemon *daemon); /* everything at its level from now on */
void own_log_follow(Daemon *daemon);  /* the loop is there: what was counted is written in time */
void own_log_close(Daemon *daemon);
