#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Asking: messages and notices of groups that a person has to acknowledge, as the list of what waits for one has them
 * (core/attention/attention.h): chat messages of priority "attention" to `user`, and notices that require an ack of `user`
 * or name nobody. An ack of `user`, by whatever way it comes, settles them. When a group is loaded its last ones are
 * looked at again (ASKING_LOOK_MAX), for what other programs wrote meanwhile. Not here: what actors are reminded of
 * (collab/reminder).
 */
#include "collab/parts.h"
#include "core/attention/attention.h"

enum { ASKING_LOOK_MAX = 100, ASKING_WALK_MAX = 10000 /* entries of the index looked at for them */ };

extern const CollabPart asking_part;
extern const AttentionKind attention_message, attention_notice;
