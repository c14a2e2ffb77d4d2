#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Feed: daemon/ccccd.events.jsonl, the global list of changes to groups that the web port follows. A hint to
 * look again, not a record: it is appended to under its lock file and not synced. One that has grown to
 * EVENTS_FILE_MAX bytes is cut in place (who follows it keeps his descriptor and sees it shrink) and begins
 * with the last lines of before, about EVENTS_FILE_KEEP bytes.
 */
#include "base/str.h"

typedef struct Collab Collab;

enum { EVENTS_FILE_MAX = 4 << 20, EVENTS_FILE_KEEP = 64 << 10, EVENTS_FILE_LOCK_MS = 1000 };

/* lines end with newlines and must live until appended(), which follows in a later turn. -ENOMEM: it does
 * not.
 */
int events_file_append(Collab *collab, Str lines, void (*appended)(void *user, int r), void *user);
