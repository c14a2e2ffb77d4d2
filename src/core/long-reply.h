#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * LongReply: the result of a call that is too long to be queued at once. It lies in a Spool, and its pieces are read and
 * queued as the connection takes them. So a slow reader waits alone: it holds a piece of memory, and nothing that other
 * calls wait for.
 *
 * What is pushed to the client meanwhile would stand inside the reply: whoever pushes looks at client_is_replying()
 * first, and goes on when the dialect's drained() is told. Owned by its call; loop thread.
 */
#include "core/call.h"
#include "core/spool.h"

enum { LONG_REPLIES_GIB_MAX = 16 }; /* of all that wait: one more is refused */

typedef struct LongReply LongReply;

/* The last step of a call: what the spool holds (spool_end() was told) is its result. Takes the spool; the call lets go of
 * all that it holds. Returns as a handler does: CALL_LATER, or a failure. */
int long_reply_send(Call *call, Spool *spool);

/* For client.c: the connection has taken what was queued; it is gone. */
void long_reply_on_drained(LongReply *reply);
void long_reply_leave(LongReply *reply);
