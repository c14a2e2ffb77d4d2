#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * send_cross_group, and Crossings: messages from one group to another that a daemon died over.
 *
 * Two ledgers cannot be changed at once. So the source's record is kept together with a note,
 * daemon/crossings/<event id>.json, which says what the destination is to get and is removed once the call
 * is answered. The notes of an earlier daemon are worked off when the contract is served again, one after
 * the other: a message that the destination has already (tag src:<event id>) or whose record is missing is
 * left, the others are put there. What cannot be put for a reason that will not pass (the group is gone,
 * nobody would read it) is given up and logged; after a failure of the machine the note stays for the next
 * start.
 */
#include "collab/parts.h"
#include "collab/message/post.h"

extern const CollabPart crossing_part;
