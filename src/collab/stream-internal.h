#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What the two halves of the event streams share: one stream (stream.c) and all of a group (streams.c).
 */
#include "collab/ledger-watch.h"
#include "collab/stream.h"
#include "core/client.h"

typedef struct Streams Streams;
typedef struct EventStream EventStream;

struct EventStream {
        Client *client; /* NULL: gone, a read is still under way */
        Group *group;
        Streams *streams;
        EventStream *next, **link;
        unsigned kinds;
        char *viewer;      /* NULL: sees everything */
        uint64_t position; /* of the next line to look at, while it is behind; live: nothing before it */
        bool is_live;
        bool is_blocked; /* its connection takes no more */
        bool is_reading;
        bool is_stale; /* the positions have changed while it was read */
        LedgerRead read;
        uint64_t read_from, read_end; /* what the read is of; read_end: where the next one begins */
        size_t n_stalled;             /* bytes that waited when the client was last seen to take some */
        int64_t told_ms;
        Timer heartbeat, stall;
        Deferred pull;
};

/* One line on its way to streams; what is made of it is made once. */
typedef struct StreamLine {
        unsigned kind; /* bit */
        Str text;
        Arena arena;
        Json *event; /* NULL: not parsed yet */
        Buf item;
        Chunk *chunk;
} StreamLine;
Chunk *stream_line_chunk(StreamLine *line); /* borrowed; NULL without memory */
void stream_line_deinit(StreamLine *line);

bool event_stream_wants(const EventStream *stream, StreamLine *line);
void event_stream_tell(EventStream *stream, Chunk *chunk); /* NULL: there was no memory for it */
bool event_stream_is_full(EventStream *stream);
void event_stream_block(EventStream *stream);
void event_stream_read_ended(EventStream *stream); /* the stream may be gone then */

/* All streams of one group. */
struct Streams {
        Group *group; /* not counted: its streams hold it */
        EventStream *first;
        uint64_t edge; /* every line before it has been told to the live streams */
        Deferred check;
        LedgerWatch watch;
};

int streams_add(EventStream *stream);
void streams_remove(EventStream *stream);
void event_stream_pull(Deferred *deferred);

/* Up to STREAM_BATCH streamable positions from `from` on; *ret_end: where the next batch begins. */
enum { STREAM_BATCH = 64, STREAM_BATCH_BYTES = 256 * 1024, STREAM_SCAN = 4096 };
size_t stream_batch(const Ledger *ledger, uint64_t from, uint64_t to, unsigned kinds,
                    uint64_t positions[STREAM_BATCH], uint64_t *ret_end);
