#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The web servers of this daemon as endpoints (dialect/http/http-server.h): those that are kept (core/web/servers.h) are
 * opened at start-up, those that were stopped are freed when their last connection is gone.
 */
#include "core/daemon.h"

/* Opens those that earlier daemons have left; at start-up, when the agents are adopted. */
void web_servers_open(Daemon *daemon);
/* They do not come back; blocks, at the end. */
void web_servers_forget(Daemon *daemon);
/* Those that were removed and whose last connection is gone are freed. */
void web_servers_tidy(Daemon *daemon);
