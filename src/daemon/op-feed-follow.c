/* SPDX-License-Identifier: MIT */
/*
 * feed.follow: the daemon's feed for a client of the native socket. The feed's ring is the client's queue:
 * at most FOLLOW_QUEUE bytes (and one item more) wait in its connection, the rest is taken when it has room.
 * One that stays behind for longer than the ring remembers gets a gap, and nothing else happens to it.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "core/client.h"
#include "core/daemon.h"
#include "gen/native-ops.h"

enum {
        FOLLOW_QUEUE = 256 * 1024, /* bytes */
        FOLLOW_TURN = 256,         /* items told in one turn */
};

typedef struct Follower {
        Client *client;
        FeedReader reader;
        Deferred go_on;
} Follower;

/* From the answer to the stream, which is the same turn; in the call's arena. */
typedef struct Opening {
        Carry carry;
        uint64_t after;
        bool is_foreign; /* `after` is of another epoch */
} Opening;

/* ---- telling --------------------------------------------------------------------------------- */

/* Returns where it begins. */
static size_t begin_notification(JsonWriter *w, const char *method) {
        size_t mark = w->out->n;

        jw_begin_object(w);
        jw_field_cstr(w, "jsonrpc", "2.0");
        jw_field_cstr(w, "method", method);
        jw_key(w, "params");
        jw_begin_object(w);
        return mark;
}

static void end_notification(Follower *follower, JsonWriter *w, size_t mark) {
        jw_end_object(w);
        jw_end_object(w);
        if (w->failed)
                conn_abort(follower->client->conn, "out of memory");
        else
                client_end_message(follower->client, w->out, mark);
}

static void tell_gap(Follower *follower, uint64_t from, uint64_t to) {
        JsonWriter w = JSON_WRITER(conn_out(follower->client->conn));
        size_t mark = begin_notification(&w, "feed.gap");

        jw_field_uint(&w, "from", from);
        jw_field_uint(&w, "to", to);
        end_notification(follower, &w, mark);
}

static void tell_item(Follower *follower, const FeedItem *item) {
        JsonWriter w = JSON_WRITER(conn_out(follower->client->conn));
        size_t mark = begin_notification(&w, "feed.item");

        jw_field_uint(&w, "number", item->number);
        jw_field_time_ms(&w, "at", item->at_us);
        jw_field_cstr(&w, "domain", item->place.domain);
        jw_field_cstr(&w, "owner", item->place.owner);
        jw_field_cstr(&w, "kind", item->place.kind);
        if (item->place.position == FEED_NOWHERE)
                jw_field_null(&w, "position");
        else
                jw_field_uint(&w, "position", item->place.position);
        jw_key(&w, "event");
        jw_raw(&w, item->payload ? (Str){item->payload->data, item->payload->n} : STR("null"));
        end_notification(follower, &w, mark);
}

/* False: there is no more. */
static bool tell_next(Follower *follower) {
        uint64_t from = follower->reader.next;
        FeedItem item;
        int r = feed_reader_next(&follower->reader, &item);

        if (r == FEED_E_GAP)
                tell_gap(follower, from, from + item.number - 1);
        else if (!r)
                tell_item(follower, &item);
        return r != FEED_E_EMPTY;
}

static void tell_some(Follower *follower) {
        Conn *conn = follower->client->conn;
        int n = 0;

        while (n < FOLLOW_TURN && conn_pending(conn) <= FOLLOW_QUEUE && tell_next(follower))
                n++;
        if (conn_pending(conn) > FOLLOW_QUEUE)
                conn_want_drained(conn);
        else if (n == FOLLOW_TURN)
                deferred_schedule(&follower->go_on);
        conn_flush_soon(conn);
}

static void feed_follow_on_more(FeedReader *reader) {
        tell_some(container_of(reader, Follower, reader));
}

static void on_go_on(Deferred *deferred) {
        tell_some(container_of(deferred, Follower, go_on));
}

static void feed_follow_on_drained(Client *client) {
        tell_some(client->stream);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void feed_follow_on_closed(Client *client) {
        Follower *follower = client->stream;

        feed_reader_deinit(&follower->reader);
        deferred_cancel(&follower->go_on);
        free(follower);
}

static void feed_follow_begin(Call *call) {
        const Opening *opening = container_of(call->target, Opening, carry);
        Daemon *daemon = call->daemon;
        Follower *follower = calloc(1, sizeof(*follower));

        if (!follower) {
                conn_abort(call->client->conn, "out of memory");
                return;
        }
        follower->client = call->client;
        deferred_init(&follower->go_on, daemon->loop, on_go_on);
        client_stream(call->client, follower, feed_follow_on_closed);
        call->client->stream_drained = feed_follow_on_drained;
        if (opening->is_foreign)
                tell_gap(follower, 0, opening->after);
        feed_reader_init(&follower->reader, daemon->feed, opening->after, feed_follow_on_more);
}

/* ---- the call -------------------------------------------------------------------------------- */

static Opening opening_of(const Feed *feed, const NativeFeedFollowArgs *args) {
        uint64_t after = (uint64_t)args->after;

        if (!args->has_after)
                return (Opening){.after = UINT64_MAX};
        if (args->epoch.n ? str_is(args->epoch, feed_epoch(feed)) : after <= feed_last(feed))
                return (Opening){.after = after};
        return (Opening){.after = feed_oldest(feed) - 1, .is_foreign = true};
}

/* Only as a request of its own: replies of a batch leave together, behind what would be streamed. */
int op_native_feed_follow(Call *call, const NativeFeedFollowArgs *args) {
        const Feed *feed = call->daemon->feed;
        Opening *opening = arena_alloc(&call->arena, sizeof(*opening));
        JsonWriter *w;

        if (!opening)
                return error_origin(-ENOMEM);
        if (call->out != conn_out(call->client->conn))
                return call_fail(call, CALL_E_INVALID_REQUEST,
                                 "feed.follow cannot stand in a batch or be a notification");
        *opening = opening_of(feed, args);
        w = call_result(call);
        jw_begin_object(w);
        jw_field_cstr(w, "epoch", feed_epoch(feed));
        jw_field_uint(w, "number", feed_last(feed));
        jw_field_uint(w, "oldest", feed_oldest(feed));
        jw_end_object(w);
        call->target = &opening->carry;
        call_after(call, feed_follow_begin);
        return 0;
}
