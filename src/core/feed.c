/* SPDX-License-Identifier: MIT */
#include "core/feed.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/id.h"

struct Feed {
        Loop *loop;
        FeedItem *items; /* a ring: number n is at n % n_items */
        size_t n_items;
        uint64_t oldest, next;
        size_t n_bytes;
        char epoch[17];
        FeedReader *readers;
        FeedReader *telling; /* whom feed_tell() comes to next */
        Deferred tell;
};

static FeedItem *feed_item_at(const Feed *feed, uint64_t number) {
        return &feed->items[number % feed->n_items];
}

static bool is_wanting(const FeedReader *reader) {
        return !reader->is_told && reader->next < reader->feed->next;
}

/* A reader may leave, and others with it, while it is told. */
static void feed_tell(Deferred *deferred) {
        Feed *feed = container_of(deferred, Feed, tell);
        FeedReader *reader;

        for (feed->telling = feed->readers; (reader = feed->telling);) {
                feed->telling = reader->after;
                if (is_wanting(reader)) {
                        reader->is_told = true;
                        reader->more(reader);
                }
        }
}

int feed_new(Feed **ret, Loop *loop, size_t n_items) {
        Feed *feed = calloc(1, sizeof(*feed));

        if (feed) {
                feed->n_items = n_items ? MIN(n_items, (size_t)FEED_ITEMS_MAX) : FEED_ITEMS;
                feed->items = calloc(feed->n_items, sizeof(*feed->items));
        }
        if (!feed || !feed->items || id_hex(feed->epoch, sizeof(feed->epoch) - 1)) {
                if (feed)
                        free(feed->items);
                free(feed);
                return error_origin(-ENOMEM);
        }
        feed->loop = loop;
        feed->oldest = feed->next = 1;
        deferred_init(&feed->tell, loop, feed_tell);
        *ret = feed;
        return 0;
}

static void forget_oldest(Feed *feed) {
        FeedItem *item = feed_item_at(feed, feed->oldest++);

        if (item->payload)
                feed->n_bytes -= item->payload->n;
        item->payload = chunk_unref(item->payload);
}

Feed *feed_free(Feed *feed) {
        if (!feed)
                return NULL;
        while (feed->oldest < feed->next)
                forget_oldest(feed);
        deferred_cancel(&feed->tell);
        free(feed->items);
        free(feed);
        return NULL;
}

uint64_t feed_last(const Feed *feed) {
        return feed->next - 1;
}

uint64_t feed_oldest(const Feed *feed) {
        return feed->oldest;
}

const char *feed_epoch(const Feed *feed) {
        return feed->epoch;
}

static void copy_word(char *out, size_t n_max, Str word) {
        size_t n = MIN(word.n, n_max - 1);

        if (n)
                memcpy(out, word.data, n);
        out[n] = 0;
}

void feed_place(FeedPlace *place, const char *domain, Str owner, Str kind, uint64_t position) {
        copy_word(place->domain, sizeof(place->domain), str_from(domain));
        copy_word(place->owner, sizeof(place->owner), owner);
        copy_word(place->kind, sizeof(place->kind), kind);
        place->position = position;
}

uint64_t feed_push(Feed *feed, const FeedPlace *place, Chunk *payload) {
        size_t n;

        if (payload && payload->n > FEED_PAYLOAD_MAX)
                payload = chunk_unref(payload);
        n = payload ? payload->n : 0;
        if (feed->next - feed->oldest == feed->n_items)
                forget_oldest(feed);
        while (feed->oldest < feed->next && feed->n_bytes + n > FEED_BYTES_MAX)
                forget_oldest(feed);
        *feed_item_at(feed, feed->next) = (FeedItem){.number = feed->next,
                                                     .at_us = loop_wall_us(feed->loop),
                                                     .place = *place,
                                                     .payload = payload};
        feed->n_bytes += n;
        if (feed->readers)
                deferred_schedule(&feed->tell);
        return feed->next++;
}

void feed_reader_init(FeedReader *reader, Feed *feed, uint64_t after, void (*more)(FeedReader *reader)) {
        *reader = (FeedReader){.feed = feed,
                               .next = after < feed->next ? after + 1 : feed->next,
                               .more = more,
                               .after = feed->readers};
        if (feed->readers)
                feed->readers->before = reader;
        feed->readers = reader;
        if (is_wanting(reader))
                deferred_schedule(&feed->tell);
}

void feed_reader_deinit(FeedReader *reader) {
        Feed *feed = reader->feed;

        if (!feed)
                return;
        if (feed->telling == reader)
                feed->telling = reader->after;
        if (reader->before)
                reader->before->after = reader->after;
        else
                feed->readers = reader->after;
        if (reader->after)
                reader->after->before = reader->before;
        reader->feed = NULL;
}

int feed_reader_next(FeedReader *reader, FeedItem *ret) {
        const Feed *feed = reader->feed;

        if (reader->next >= feed->next) {
                reader->is_told = false;
                return FEED_E_EMPTY;
        }
        if (reader->next < feed->oldest) {
                *ret = (FeedItem){.number = feed->oldest - reader->next};
                reader->next = feed->oldest;
                return FEED_E_GAP;
        }
        *ret = *feed_item_at(feed, reader->next++);
        return 0;
}
