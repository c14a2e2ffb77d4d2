#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Standstill: somebody ended all agents (`muster down --stop-agents`), and they stay down until `muster up`
 * or a start of their group says otherwise, however often the daemon is started meanwhile.
 *
 * It is a file in the daemon's state folder, `agents-stopped`: it is there while the standstill lasts, and
 * holds the ids of the groups that were started since, a line each. Sessions and tasks need no mark: they
 * are gone when they are ended. Owned by the Daemon; its file is written by workers and at the stop.
 */
#include "base/buf.h"
#include "base/strvec.h"

typedef struct Standstill {
        bool is_on;
        StrVec released; /* groups */
} Standstill;

int standstill_load(Standstill *standstill, const char *home); /* at start-up */
void standstill_deinit(Standstill *standstill);                /* and it is off */
bool standstill_holds(const Standstill *standstill, const char *group_id);
int standstill_release(Standstill *standstill, const char *group_id); /* … then it is to be written */
int standstill_text(const Standstill *standstill, Buf *out);          /* of the file */

/* These block; what they did is durable when they return. */
int standstill_write(const char *home, Str text);
int standstill_remove(const char *home);
