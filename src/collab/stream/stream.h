#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * EventStream: a connection that is told what happens in a group, from a place in the ledger on.
 *
 * The ledger itself is the queue. Streams that have been told everything are live: each new line is made
 * into one chunk, and the chunk is given to all of them. A stream that resumes from the past, or whose client
 * does not keep up, is behind: it follows the ledger at its own pace until it has caught up, and costs no
 * memory meanwhile. So nothing is told twice and nothing is left out.
 *
 *   STREAM_QUEUE   bytes waiting in a connection before its stream falls behind
 *   STREAM_LAG     events that a stream may fall behind while its client takes nothing: then it is closed
 *   STREAM_STALL   time that a client may take nothing at all: then its stream is closed
 *
 * Lines that other programs write are noticed through the file system. Visibility is looked at when an event
 * is told, with the roles of that moment. Streams of a group hang in its slot; each owns itself and ends
 * with its connection.
 */
#include "collab/group/group.h"

enum {
        STREAM_QUEUE = 256 * 1024,
        STREAM_LAG = 2048,
        STREAM_STALL_MS = 5000,
        STREAM_HEARTBEAT_MS = 30000,
};
