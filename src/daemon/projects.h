#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Projects: the AIWG projects that people have added to this daemon, besides those that flags and
 * configuration name; and in which sandbox the tasks of a project run, however it came to be served. Both
 * stand in projects.json in the state folder, where no agent in a sandbox can write; each project is an
 * endpoint.
 */
#include "core/daemon.h"

/* What is said of the sandbox of folders, served or not. Owned by the Daemon. */
typedef struct ProjectWords ProjectWords;

/* Reads the file of a state folder: the words, and the kept list, absolute paths. A file that is not there
 * is an empty list. One that cannot be read is, too, with a warning; and nobody knows then who is to be in a
 * sandbox: each project has a word that is not known. */
int projects_load(Daemon *daemon, const char *home, StrVec *ret);
void projects_free(Daemon *daemon);
/* An endpoint for a folder, at the end of the daemon's list; the one that is there already if there is one.
 */
int projects_endpoint(Daemon *daemon, const char *dir, Endpoint **ret);
/* Gives all endpoints their words. */
int projects_spread(Daemon *daemon);
/* NULL: as it is; "": no longer said. Not kept before projects_text() is. */
int projects_say(Daemon *daemon, Endpoint *endpoint, const char *sandbox, const char *network);
void projects_forget(Daemon *daemon, const char *dir);
/* The file's text, as it is to be now. */
int projects_text(const Daemon *daemon, Buf *ret);
