#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Announcing: every event that a group's ledger keeps, ours or another program's, becomes an item of the
 * daemon's feed (core/feed.h), with its line as payload, in the ledger's order and once.
 *
 * The announcer is a follower of the ledger (core/ledger/follower.h). A line that cannot be read, that is no
 * JSON object any more, or is longer than the feed takes, is announced without payload: a reader that wants it
 * asks the ledger. What is in a ledger when the group is loaded is not announced.
 */
#include "collab/parts.h"

extern const CollabPart announce_part;
