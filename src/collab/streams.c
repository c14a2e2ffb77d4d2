/* SPDX-License-Identifier: MIT */
/*
 * The streams of one group. `edge` divides the ledger: what lies before it has been told to the live
 * streams. Items of the daemon's feed move it, taken by one reader for all groups; a stream that is behind
 * reads the ledger up to it and becomes live when it gets there. Both happen on the loop, so no line falls
 * between them. What the reader misses of the feed, or gets without its line, sends live streams to the
 * ledger.
 */
#define LOG_MODULE "collab/stream"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "collab/announce.h"
#include "collab/collab.h"
#include "collab/stream-internal.h"

size_t stream_batch(const Ledger *ledger, uint64_t from, uint64_t to, unsigned kinds,
                    uint64_t positions[STREAM_BATCH], uint64_t *ret_end) {
        size_t n = 0, n_bytes = 0;
        uint64_t at = from;

        for (; at < to && at - from < STREAM_SCAN && n < STREAM_BATCH && n_bytes < STREAM_BATCH_BYTES;
             at++) {
                LedgerEntry entry = ledger_entry(ledger, at);

                if (!(stream_kind_bit(entry.kind) & kinds))
                        continue;
                n_bytes += entry.n_bytes;
                positions[n++] = at;
        }
        *ret_end = at;
        return n;
}

static unsigned kind_at(const Ledger *ledger, uint64_t position) {
        return stream_kind_bit(ledger_entry(ledger, position).kind);
}

/* ---- the past, for one stream ---------------------------------------------------------------- */

static void tell_past(EventStream *stream, uint64_t position, Str text) {
        _cleanup_(stream_line_deinit)
                StreamLine line = {.kind = kind_at(stream->group->ledger, position), .text = text};

        if (json_text_is_object(text) && event_stream_wants(stream, &line))
                event_stream_tell(stream, stream_line_chunk(&line));
}

/* The lines of the batch from read_from on, which is chosen again: the same, since only a rewrite changes
 * it. */
static void tell_batch(EventStream *stream) {
        uint64_t positions[STREAM_BATCH], end;
        size_t n = stream_batch(stream->group->ledger, stream->read_from, stream->read_end, stream->kinds,
                                positions, &end);

        for (size_t i = 0; i < n && i < stream->read.n; i++)
                tell_past(stream, positions[i], ledger_read_line(&stream->read, i));
        stream->position = stream->read_end;
}

static void streams_go_on(EventStream *stream) {
        if (event_stream_is_full(stream))
                event_stream_block(stream);
        else
                deferred_schedule(&stream->pull);
}

static void on_past_read(LedgerRead *read, int r) {
        EventStream *stream = container_of(read, EventStream, read);
        bool is_gone = !stream->client;

        if (stream->is_stale)
                r = -ESTALE;
        stream->is_stale = false;
        if (!is_gone && !r)
                tell_batch(stream);
        event_stream_read_ended(stream);
        if (is_gone)
                return;
        if (r && r != -ESTALE)
                conn_abort(stream->client->conn, "the ledger cannot be read");
        else
                streams_go_on(stream);
}

static void read_past(EventStream *stream, const uint64_t *positions, size_t n, uint64_t end) {
        int r;

        stream->read_from = stream->position;
        stream->read_end = end;
        stream->read = (LedgerRead){.done = on_past_read};
        stream->is_reading = true;
        r = ledger_read(stream->group->ledger, &stream->read, positions, n);
        if (r != LEDGER_LATER)
                on_past_read(&stream->read, r);
}

void event_stream_pull(Deferred *deferred) {
        EventStream *stream = container_of(deferred, EventStream, pull);
        Streams *streams = stream->streams;
        uint64_t positions[STREAM_BATCH], end;
        size_t n;

        if (stream->is_live || stream->is_reading || stream->is_blocked)
                return;
        if (stream->position >= streams->edge) {
                stream->is_live = true;
                return;
        }
        n = stream_batch(stream->group->ledger, stream->position, streams->edge, stream->kinds, positions,
                         &end);
        if (n) {
                read_past(stream, positions, n, end);
                return;
        }
        stream->position = end;
        deferred_schedule(&stream->pull);
}

/* ---- what is new, for all that are live ------------------------------------------------------ */

/* It looks at the ledger for itself from there on, until it is at the edge again. */
static void go_behind(EventStream *stream, uint64_t position) {
        stream->is_live = false;
        stream->position = MAX(stream->position, position);
        streams_go_on(stream);
}

static void tell_live(Streams *streams, uint64_t position, StreamLine *line) {
        for (EventStream *stream = streams->first; stream; stream = stream->next) {
                if (!stream->is_live || position < stream->position || !(stream->kinds & line->kind))
                        continue;
                if (!line->text.n || event_stream_is_full(stream))
                        go_behind(stream, position);
                else if (event_stream_wants(stream, line))
                        event_stream_tell(stream, stream_line_chunk(line));
        }
}

static void drop_laggards(Streams *streams) {
        for (EventStream *stream = streams->first; stream; stream = stream->next)
                if (stream->is_blocked && streams->edge - MIN(stream->position, streams->edge) > STREAM_LAG)
                        conn_abort(stream->client->conn, "slow subscriber");
}

/* Some of the feed was missed: the ledger has it. */
static void streams_catch_up(Streams *streams) {
        uint64_t edge = streams->edge;

        streams->edge = MAX(edge, announce_next(streams->group));
        for (EventStream *stream = streams->first; stream; stream = stream->next)
                if (stream->is_live)
                        go_behind(stream, edge);
}

static void streams_take_item(Collab *collab, const FeedItem *item) {
        const Group *group = group_find(collab, str_from(item->place.owner));
        Streams *streams = group ? group->slots[GROUP_SLOT_STREAMS] : NULL;
        uint64_t position = item->place.position;
        _cleanup_(stream_line_deinit)
                StreamLine line = {.kind = stream_kind_bit(str_from(item->place.kind))};

        if (!streams)
                return;
        if (position > streams->edge)
                streams_catch_up(streams);
        if (position != streams->edge) /* it was in the ledger before the first stream came */
                return;
        if (item->payload)
                line.text = (Str){item->payload->data, item->payload->n};
        streams->edge++;
        if (line.kind)
                tell_live(streams, position, &line);
        drop_laggards(streams);
}

static void catch_up_all(Collab *collab) {
        for (size_t i = 0; i < COLLAB_BUCKETS; i++)
                for (Group *group = collab->groups[i]; group; group = group->next)
                        if (group->slots[GROUP_SLOT_STREAMS])
                                streams_catch_up(group->slots[GROUP_SLOT_STREAMS]);
}

/* Takes all that is there: telling a stream only fills its queue. */
static void on_feed(FeedReader *reader) {
        Collab *collab = container_of(reader, Collab, events);
        FeedItem item;
        int r;

        while ((r = feed_reader_next(reader, &item)) != FEED_E_EMPTY)
                if (r == FEED_E_GAP)
                        catch_up_all(collab);
                else if (str_is(str_from(item.place.domain), "collab"))
                        streams_take_item(collab, &item);
}

/* ---- the ledger ------------------------------------------------------------------------------ */

/* While a commit is under way the file is not looked at; so it is looked at again behind it. */
static void on_check(Deferred *deferred) {
        Streams *streams = container_of(deferred, Streams, check);

        (void)ledger_check(streams->group->ledger);
}

static void on_file_changed(LedgerWatch *watch) {
        Streams *streams = container_of(watch, Streams, watch);

        (void)ledger_check(streams->group->ledger);
}

static void streams_on_committed(Group *group, _unused_ uint64_t first, _unused_ uint64_t n) {
        Streams *streams = group->slots[GROUP_SLOT_STREAMS];

        if (streams)
                deferred_schedule(&streams->check);
}

/* Items with the old positions are taken first; then the edge is where the announcer is. */
static void streams_on_rewritten(Group *group) {
        Streams *streams = group->slots[GROUP_SLOT_STREAMS];
        uint64_t next = announce_next(group), n_gone;

        if (!streams)
                return;
        on_feed(&group->collab->events);
        n_gone = streams->edge - MIN(next, streams->edge);
        streams->edge -= n_gone;
        for (EventStream *stream = streams->first; stream; stream = stream->next) {
                stream->position -= MIN(n_gone, stream->position);
                stream->is_stale = stream->is_reading;
        }
}

/* ---- joining and leaving --------------------------------------------------------------------- */

static Streams *new_streams(Group *group) {
        Streams *streams = calloc(1, sizeof(*streams));
        Loop *loop = group->collab->daemon->loop;

        if (!streams)
                return NULL;
        streams->group = group;
        streams->edge = announce_next(group);
        deferred_init(&streams->check, loop, on_check);
        if (ledger_watch_open(&streams->watch, loop, group->dir, on_file_changed))
                log_warning(&group->collab->daemon->log, group->id,
                            "cannot watch the folder: lines of other programs are noticed later");
        group->slots[GROUP_SLOT_STREAMS] = streams;
        if (!group->collab->n_streamed++)
                feed_reader_init(&group->collab->events, group->collab->daemon->feed, UINT64_MAX, on_feed);
        return streams;
}

static void free_streams(Streams *streams) {
        Collab *collab = streams->group->collab;

        deferred_cancel(&streams->check);
        ledger_watch_close(&streams->watch);
        streams->group->slots[GROUP_SLOT_STREAMS] = NULL;
        free(streams);
        if (!--collab->n_streamed)
                feed_reader_deinit(&collab->events);
}

int streams_add(EventStream *stream) {
        Group *group = stream->group;
        Streams *streams = group->slots[GROUP_SLOT_STREAMS];

        if (!streams)
                streams = new_streams(group);
        if (!streams)
                return error_origin(-ENOMEM);
        stream->streams = streams;
        stream->next = streams->first;
        stream->link = &streams->first;
        if (stream->next)
                stream->next->link = &stream->next;
        streams->first = stream;
        return 0;
}

void streams_remove(EventStream *stream) {
        Streams *streams = stream->streams;

        *stream->link = stream->next;
        if (stream->next)
                stream->next->link = stream->link;
        stream->streams = NULL;
        if (!streams->first)
                free_streams(streams);
}

const CollabPart streams_part = {
        .name = "streams",
        .committed = streams_on_committed,
        .rewritten = streams_on_rewritten,
};
