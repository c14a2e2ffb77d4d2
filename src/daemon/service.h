#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The service manager, when there is one: readiness messages to $NOTIFY_SOCKET and sockets passed as
 * LISTEN_FDS. Both are a few lines of protocol; without the variables every call does nothing.
 */
#include "core/daemon.h"

void service_notify(const char *state); /* "READY=1", "STOPPING=1", … */
int service_take_sockets(Daemon *daemon);
