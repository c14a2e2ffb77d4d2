#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Feed: everything that happened, numbered, for whoever wants to hear of it.
 *
 * Items get numbers from 1 on. The last FEED_ITEMS (or as many as are configured, or FEED_BYTES_MAX bytes of
 * payload) are remembered, so that a reader that comes back with a number goes on behind it; what it missed
 * beyond that is told as a gap, never passed over in silence. A reader has a cursor and takes items when it
 * can: a slow one costs nothing but its own gap. The feed says only "there is more"; it knows nothing of
 * clients or ledgers, and does not look into payloads. Numbers start anew with each daemon; `epoch` tells
 * one run from another. Loop thread only; owned by the Daemon.
 */
#include "base/loop/loop.h"
#include "base/str.h"
#include "wire/outq.h"

enum {
        FEED_ITEMS = 8192,
        FEED_ITEMS_MAX = 1 << 20, /* that can be configured */
        FEED_BYTES_MAX = 16 * 1024 * 1024,
        FEED_PAYLOAD_MAX = 1024 * 1024, /* a longer one is left out: the item has none */
};
#define FEED_NOWHERE UINT64_MAX /* position of what stands in no ledger */

/* Where something happened. The words are copied, and cut where they do not fit. */
typedef struct FeedPlace {
        char domain[16]; /* "collab", "tasks", "host" */
        char owner[256]; /* group, folder of the project, hosted process */
        char kind[64];
        uint64_t position; /* in the owner's ledger */
} FeedPlace;

typedef struct FeedItem {
        uint64_t number;
        int64_t at_us; /* wall clock */
        FeedPlace place;
        Chunk *payload; /* a JSON text, or NULL; borrowed by readers: ref it to keep it */
} FeedItem;

typedef struct Feed Feed;
typedef struct FeedReader FeedReader;
struct FeedReader {
        Feed *feed;
        uint64_t next;                    /* number that it takes next */
        void (*more)(FeedReader *reader); /* in a later turn; once, until it has taken all there is */
        bool is_told;                     /* private from here */
        FeedReader *before, *after;
};

int feed_new(Feed **ret, Loop *loop, size_t n_items); /* n_items: 0 is FEED_ITEMS */
Feed *feed_free(Feed *feed);                          /* every reader must have left */
uint64_t feed_last(const Feed *feed);                 /* number of the youngest item; 0: none yet */
uint64_t feed_oldest(
        const Feed *feed); /* number of the oldest that is remembered; feed_last() + 1: none is */
const char *feed_epoch(const Feed *feed); /* 16 hex digits */

void feed_place(FeedPlace *place, const char *domain, Str owner, Str kind, uint64_t position);
/* Takes the reference (NULL: none). Returns the item's number. */
uint64_t feed_push(Feed *feed, const FeedPlace *place, Chunk *payload);

/* From behind `after` on; UINT64_MAX: only what comes from now on. One that is ahead of the feed starts at
 * its end. */
void feed_reader_init(FeedReader *reader, Feed *feed, uint64_t after, void (*more)(FeedReader *reader));
void feed_reader_deinit(FeedReader *reader); /* may be called from more() */
enum { _FEED_E_SUCCESS, FEED_E_EMPTY, FEED_E_GAP };
/*
 * 0: *ret is the next item, good until the next push. FEED_E_EMPTY: more() will tell. FEED_E_GAP:
 * ret->number items were forgotten before it could take them; the next call goes on behind them.
 */
int feed_reader_next(FeedReader *reader, FeedItem *ret);
