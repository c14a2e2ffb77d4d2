#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Inbox: what an actor has not read yet, found in the ledger's index without reading a line.
 *
 * Whether something is read is decided by its place in the ledger: everything up to the event that the
 * actor's cursor names is. A cursor whose event is no longer there (archived, or written by hand) counts by
 * its time. So a clock that is set back hides nothing. A walk costs what it finds, not what the ledger
 * holds.
 *
 * Messages to more recipients than the index has room for are found for everybody (collab/group/events.h);
 * who shows lines looks at those (inbox_is_certain(), inbox_shows()).
 */
#include "collab/group/group-change.h"
#include "collab/parts.h"

/* 0 when `by` may look into the actor's inbox, else the call has failed with permission_denied. */
int inbox_require(Call *call, const Group *group, Str by, Str actor);

typedef enum InboxFilter { INBOX_ALL, INBOX_CHAT, INBOX_NOTIFY } InboxFilter;
InboxFilter inbox_filter(Str word); /* anything unknown is INBOX_ALL */

typedef struct Inbox {
        const Group *group;
        LedgerTag by; /* own messages are left out */
        LedgerTag mine[6];
        size_t n_mine;
        LedgerCursor cursor;
} Inbox;

/* First position behind the cursor. */
uint64_t inbox_start(const Group *group, Str actor);
/* Both are good for this turn. Backwards: newest first, down to the start. */
int inbox_open(Inbox *inbox, const Group *group, Str actor, InboxFilter filter, uint64_t start);
bool inbox_next(Inbox *inbox, uint64_t *ret_position); /* false: at the end */
/* Whether the index alone can tell that this is the actor's. */
bool inbox_is_certain(const Inbox *inbox, uint64_t position);
/* The newest one that is not read; false: none. */
bool inbox_newest(const Group *group, Str actor, InboxFilter filter, uint64_t *ret_position);

/* Whether an event (chat.message or system.notify) is for this actor. `has_own`: its own messages, too. */
bool inbox_shows(const GroupDoc *doc, const Json *event, Str actor, bool has_own);

extern const CollabPart inbox_part;

/*
 * Acks: who has acknowledged which message, found in the ledger's index.
 */

typedef enum AckState { ACK_NONE, ACK_KEPT, ACK_PENDING } AckState;

/* ACK_PENDING: something that refers to the event waits for its commit, perhaps the ack: ask again later. */
AckState ack_state(Call *call, const Group *group, Str event_id, Str actor);
/* Whether there is one of this kind (chat.ack, system.notify_ack), as far as lines are kept. */
bool ack_is_kept(const Group *group, const char *kind, Str event_id, Str actor);
/* Adds the chat.ack to a change. by is the actor itself. */
void ack_add(GroupChange *change, Str actor, Str event_id);
/* Adds the chat.read. */
void read_add(GroupChange *change, Str by, Str actor, Str event_id);
