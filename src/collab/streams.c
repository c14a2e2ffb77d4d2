/* SPDX-License-Identifier: MIT */
/*
 * The streams of one group. `edge` divides the ledger: what lies before it has been told to the live
 * streams. The pump moves it; a stream that is behind reads up to it and becomes live when it gets there.
 * Both happen on the loop, so no line falls between them. Lists are worked off in batches, one per turn and
 * stream.
 */
#define LOG_MODULE "collab/stream"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
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

        if (event_stream_wants(stream, &line))
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

static void go_on(EventStream *stream) {
        if (event_stream_is_full(stream))
                event_stream_block(stream);
        else
                deferred_schedule(&stream->pull);
}

static void on_past_read(LedgerRead *read, int r) {
        EventStream *stream = container_of(read, EventStream, read);
        bool is_gone = !stream->client;

        if (!is_gone && !r)
                tell_batch(stream);
        event_stream_read_ended(stream);
        if (is_gone)
                return;
        if (r && r != -ESTALE)
                conn_abort(stream->client->conn, "the ledger cannot be read");
        else
                go_on(stream);
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

/* Takes part again once its client has taken what waits. */
static void fall_behind(EventStream *stream, uint64_t position) {
        stream->is_live = false;
        stream->position = position;
        event_stream_block(stream);
}

static void tell_live(Streams *streams, uint64_t position, Str text) {
        _cleanup_(stream_line_deinit)
                StreamLine line = {.kind = kind_at(streams->group->ledger, position), .text = text};

        for (EventStream *stream = streams->first; stream; stream = stream->next) {
                if (!stream->is_live || !event_stream_wants(stream, &line))
                        continue;
                if (event_stream_is_full(stream))
                        fall_behind(stream, position);
                else
                        event_stream_tell(stream, stream_line_chunk(&line));
        }
}

static void drop_laggards(Streams *streams) {
        for (EventStream *stream = streams->first; stream; stream = stream->next)
                if (stream->is_blocked && streams->edge - MIN(stream->position, streams->edge) > STREAM_LAG)
                        conn_abort(stream->client->conn, "slow subscriber");
}

static void tell_new(Streams *streams) {
        uint64_t positions[STREAM_BATCH], end;
        size_t n = stream_batch(streams->group->ledger, streams->read_from, streams->read_end, ~0U,
                                positions, &end);

        for (size_t i = 0; i < n && i < streams->read.n; i++)
                tell_live(streams, positions[i], ledger_read_line(&streams->read, i));
        streams->edge = streams->read_end;
        drop_laggards(streams);
}

static void free_streams(Streams *streams) {
        deferred_cancel(&streams->pump);
        deferred_cancel(&streams->check);
        ledger_watch_close(&streams->watch);
        streams->group->slots[GROUP_SLOT_STREAMS] = NULL;
        free(streams);
}

static void on_new_read(LedgerRead *read, int r) {
        Streams *streams = container_of(read, Streams, read);
        Group *group = streams->group;

        streams->is_reading = false;
        if (!r)
                tell_new(streams);
        else if (r != -ESTALE) /* it will be tried with the next line */
                log_warning(&group->collab->daemon->log, group->id, "cannot read new events: %s",
                            strerror(-r));
        ledger_read_deinit(read);
        if (!streams->first)
                free_streams(streams);
        else if (!r || r == -ESTALE)
                deferred_schedule(&streams->pump);
        group_unref(group);
}

static void on_pump(Deferred *deferred) {
        Streams *streams = container_of(deferred, Streams, pump);
        uint64_t positions[STREAM_BATCH], n_lines = ledger_n_committed(streams->group->ledger);
        size_t n;
        int r;

        if (streams->is_reading || streams->edge >= n_lines)
                return;
        streams->read_from = streams->edge;
        n = stream_batch(streams->group->ledger, streams->edge, n_lines, ~0U, positions, &streams->read_end);
        if (!n) {
                streams->edge = streams->read_end;
                deferred_schedule(&streams->pump);
                return;
        }
        streams->is_reading = true;
        streams->read = (LedgerRead){.done = on_new_read};
        group_ref(streams->group);
        r = ledger_read(streams->group->ledger, &streams->read, positions, n);
        if (r != LEDGER_LATER)
                on_new_read(&streams->read, r);
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

static void on_committed(Group *group, uint64_t first, uint64_t n) {
        Streams *streams = group->slots[GROUP_SLOT_STREAMS];

        if (!streams)
                return;
        streams->n_known = first + n;
        deferred_schedule(&streams->pump);
        deferred_schedule(&streams->check);
}

/* Lines were taken out at the front: what has been told keeps its distance from the end. */
static void on_rewritten(Group *group) {
        Streams *streams = group->slots[GROUP_SLOT_STREAMS];
        uint64_t n_lines, n_gone;

        if (!streams)
                return;
        n_lines = ledger_n_committed(group->ledger);
        n_gone = streams->n_known > n_lines ? streams->n_known - n_lines : 0;
        streams->edge -= MIN(n_gone, streams->edge);
        for (EventStream *stream = streams->first; stream; stream = stream->next)
                stream->position -= MIN(n_gone, stream->position);
        streams->n_known = n_lines;
        deferred_schedule(&streams->pump);
}

/* ---- joining and leaving --------------------------------------------------------------------- */

static Streams *new_streams(Group *group) {
        Streams *streams = calloc(1, sizeof(*streams));
        Loop *loop = group->collab->daemon->loop;

        if (!streams)
                return NULL;
        streams->group = group;
        streams->edge = streams->n_known = ledger_n_committed(group->ledger);
        deferred_init(&streams->pump, loop, on_pump);
        deferred_init(&streams->check, loop, on_check);
        if (ledger_watch_open(&streams->watch, loop, group->dir, on_file_changed))
                log_warning(&group->collab->daemon->log, group->id,
                            "cannot watch the folder: lines of other programs are noticed later");
        group->slots[GROUP_SLOT_STREAMS] = streams;
        return streams;
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
        if (!streams->first && !streams->is_reading)
                free_streams(streams);
}

const CollabPart streams_part = {
        .name = "streams",
        .committed = on_committed,
        .rewritten = on_rewritten,
};
