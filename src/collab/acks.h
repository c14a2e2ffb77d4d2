#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Acks: who has acknowledged which message, found in the ledger's index.
 */
#include "collab/group-change.h"

typedef enum AckState { ACK_NONE, ACK_KEPT, ACK_PENDING } AckState;

/* ACK_PENDING: something that refers to the event waits for its commit, perhaps the ack: ask again later. */
AckState ack_state(Call *call, const Group *group, Str event_id, Str actor);
/* Adds the chat.ack to a change. by is the actor itself. */
void ack_add(GroupChange *change, Str actor, Str event_id);
/* Adds the chat.read. */
void read_add(GroupChange *change, Str by, Str actor, Str event_id);
