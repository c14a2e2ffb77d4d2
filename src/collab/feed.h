#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Feed: daemon/ccccd.events.jsonl, the global list of changes to groups that the web port follows. A hint to
 * look again, not a record: it is appended to under its lock file and not synced.
 */
#include "base/str.h"

typedef struct Collab Collab;

/* lines end with newlines and must live until appended(), which follows in a later turn. -ENOMEM: it does
 * not.
 */
int feed_append(Collab *collab, Str lines, void (*appended)(void *user, int r), void *user);
