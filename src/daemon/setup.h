#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What musterd does before and after its loop runs: choose the endpoints, take the state folder's lock, open
 * everything and decide what a partial success means.
 */
#include "core/daemon.h"

/* Makes the endpoints that the configuration asks for; none is opened yet. */
int setup_endpoints(Daemon *daemon);
/*
 * The state folder and its lock. A daemon that serves the native socket uses the state home itself; one that
 * was told
 * --only to serve something else has a folder of its own there, named after what it serves, so that several
 * stand-ins for several originals run side by side. Returns an exit status; 0: go on.
 */
int setup_home(Daemon *daemon);
/* The hosted processes of earlier daemons, and the domains that they belong to. Returns an exit status; 0:
 * go on. */
int setup_host(Daemon *daemon);
void setup_unhost(Daemon *daemon); /* lets go of them; they run on */
/* Opens the endpoints. Returns an exit status; 0: at least one listens and the daemon should run. */
int setup_open(Daemon *daemon);
LogLevel setup_log_level(const Config *config);
/* Another try for an endpoint that its clients do not find us at; false: there was nothing to do. */
bool setup_reopen(Endpoint *endpoint);
/* SIGHUP: configuration file, endpoints' own files, and another try for endpoints that do not listen. */
void setup_reload(Daemon *daemon);
