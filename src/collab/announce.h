#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Announcing: every event that a group's ledger keeps, ours or another program's, becomes an item of the
 * daemon's feed (core/feed.h), with its line as payload, in the ledger's order and once.
 *
 * It reads what has just been written, so from the page cache. A line that cannot be read, or is longer than
 * the feed takes, is announced without payload: a reader that wants it asks the ledger. What is in a ledger
 * when the group is loaded is not announced.
 */
#include "collab/parts.h"

uint64_t announce_next(const Group *group); /* position of the next line; all before it are in the feed */

extern const CollabPart announce_part;
