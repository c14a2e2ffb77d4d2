/* SPDX-License-Identifier: MIT */
/*
 * The streams of one group. One follower of its ledger (`live`) tells new lines to all streams that are live; a
 * stream that is behind follows the ledger by itself (`past`) and becomes live when it gets to the end. Positions
 * decide who tells a line, and all happens on the loop, so no line falls between them. A line that `live` gets
 * without its text sends the live streams to the ledger.
 */
#define LOG_MODULE "collab/stream"
#include "collab/stream/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/queue.h>
#include <unistd.h>

#include "base/error.h"
#include "base/loop/loop.h"
#include "base/time.h"
#include "collab/collab.h"
#include "collab/group/lines.h"
#include "collab/message/inbox.h"
#include "core/client.h"
#include "core/ledger/follower.h"
#include "gen/cccc-ops.h"

enum { EVENTS_MAX = 4096 }; /* bytes per read */

typedef struct Streams Streams;
typedef struct EventStream EventStream;

/*
 * LedgerWatch: tells when the file ledger.jsonl in a folder was written to or replaced, by whomever. Only a
 * hint: one call may stand for many writes, and without inotify there is none (the file is then looked at
 * when an operation needs it). Embedded.
 */
typedef struct LedgerWatch LedgerWatch;
struct LedgerWatch {
        void (*changed)(LedgerWatch *watch);
        int fd; /* -1: not open */
        LoopFd *event;
};

struct EventStream {
        Client *client;
        Group *group;
        Streams *streams;
        LIST_ENTRY(EventStream) link;
        unsigned kinds;
        char *viewer; /* NULL: sees everything */
        /* Follows the ledger for this stream alone while it is behind. While it is live this is paused, and what
         * lies before its position was told. */
        LedgerFollower past;
        bool is_live;
        bool is_blocked;  /* its connection takes no more */
        size_t n_stalled; /* bytes that waited when the client was last seen to take some */
        int64_t told_ms;
        Timer heartbeat, stall;
};

typedef struct EventStreamOptions {
        unsigned kinds;    /* bits; 0: all */
        Str viewer;        /* an actor: sees what its inbox would show. Empty: sees everything */
        uint64_t position; /* of the first event to tell */
} EventStreamOptions;

/* One line on its way to streams; what is made of it is made once. */
typedef struct StreamLine {
        unsigned kind; /* bit */
        LedgerLine *line;
        Chunk *chunk; /* NULL: not made yet */
} StreamLine;

/* All streams of one group. */
struct Streams {
        Group *group; /* not counted: its streams hold it */
        LIST_HEAD(, EventStream) all;
        LedgerFollower live; /* every line before its position has been told to the live streams */
        Deferred check;
        LedgerWatch watch;
};

/* What is streamed. */
static const char *const stream_kinds[] = {"chat.ack", "chat.message", "system.notify", "system.notify_ack"};

/* 0: it is not streamed. */
static unsigned stream_kind_bit(Str kind) {
        for (unsigned i = 0; i < ARRAY_SIZE(stream_kinds); i++)
                if (str_is(kind, stream_kinds[i]))
                        return 1U << i;
        return 0;
}

/* ---- telling --------------------------------------------------------------------------------- */

static void stream_give_up(EventStream *stream, const char *reason) {
        conn_abort(stream->client->conn, reason);
}

static void stream_on_heartbeat(Timer *timer) {
        EventStream *stream = container_of(timer, EventStream, heartbeat);
        int64_t quiet_ms = loop_now_ms(timer->loop) - stream->told_ms;
        Conn *conn = stream->client->conn;
        JsonWriter w = JSON_WRITER(conn_out(conn));
        char ts[TIME_TEXT_MAX];

        if (quiet_ms < STREAM_HEARTBEAT_MS) {
                if (timer_set(timer, STREAM_HEARTBEAT_MS - quiet_ms))
                        stream_give_up(stream, "out of memory");
                return;
        }
        time_format_us(loop_wall_us(timer->loop), ts);
        jw_begin_object(&w);
        jw_field_cstr(&w, "t", "heartbeat");
        jw_field_cstr(&w, "ts", ts);
        jw_end_object(&w);
        stream->told_ms = loop_now_ms(timer->loop);
        if (w.failed || conn_write(conn, STR("\n")) || timer_set(timer, STREAM_HEARTBEAT_MS))
                stream_give_up(stream, "out of memory");
}

static bool event_stream_wants(const EventStream *stream, StreamLine *line) {
        const Json *event;

        if (!(stream->kinds & line->kind))
                return false;
        if (!stream->viewer)
                return true;
        event = ledger_line_json(line->line);
        return event && inbox_shows(stream->group->doc, event, str_from(stream->viewer), false);
}

static void event_stream_tell(EventStream *stream, Chunk *chunk) {
        Conn *conn = stream->client->conn;

        stream->told_ms = loop_now_ms(stream->heartbeat.loop);
        if (!chunk || conn_write_chunk(conn, chunk))
                stream_give_up(stream, "out of memory");
        else
                conn_flush_soon(conn);
}

static Chunk *stream_line_chunk(StreamLine *line) {
        static const char head[] = "{\"t\":\"event\",\"event\":", tail[] = "}\n";
        _cleanup_(buf_deinit) Buf text = BUF_NULL;

        if (line->chunk)
                return line->chunk;
        if (buf_append(&text, head, sizeof(head) - 1) || buf_append_str(&text, line->line->text) ||
            buf_append(&text, tail, sizeof(tail) - 1))
                return NULL;
        line->chunk = chunk_new(buf_str(&text));
        return line->chunk;
}

static void stream_line_deinit(StreamLine *line) {
        chunk_unref(line->chunk);
}

/* ---- clients that do not keep up ------------------------------------------------------------- */

/* Something was taken since the last look: another period. */
static void on_stall(Timer *timer) {
        EventStream *stream = container_of(timer, EventStream, stall);
        size_t n_pending = conn_pending(stream->client->conn);

        if (n_pending >= stream->n_stalled)
                stream_give_up(stream, "slow subscriber");
        else if (timer_set(timer, STREAM_STALL_MS))
                stream_give_up(stream, "out of memory");
        stream->n_stalled = n_pending;
}

static bool event_stream_is_full(EventStream *stream) {
        return conn_pending(stream->client->conn) > STREAM_QUEUE;
}

static void event_stream_block(EventStream *stream) {
        stream->is_blocked = true;
        stream->n_stalled = conn_pending(stream->client->conn);
        conn_want_drained(stream->client->conn);
        if (timer_set(&stream->stall, STREAM_STALL_MS))
                stream_give_up(stream, "out of memory");
}

static void stream_on_drained(Client *client) {
        EventStream *stream = client->stream;

        stream->is_blocked = false;
        timer_clear(&stream->stall);
        follower_go_on(&stream->past);
}

/* Either it waits for its client, or it reads on. */
static void streams_go_on(EventStream *stream) {
        if (event_stream_is_full(stream))
                event_stream_block(stream);
        else
                follower_go_on(&stream->past);
}

/* ---- the past, for one stream ---------------------------------------------------------------- */

static bool past_wants(const LedgerFollower *past, const LedgerEntry *entry) {
        return stream_kind_bit(entry->kind) & container_of(past, EventStream, past)->kinds;
}

static void past_tell(LedgerFollower *past, LedgerLine *line) {
        EventStream *stream = container_of(past, EventStream, past);
        _cleanup_(stream_line_deinit)
                StreamLine told = {.kind = stream_kind_bit(line->entry.kind), .line = line};

        if (ledger_line_is_whole(line) && event_stream_wants(stream, &told))
                event_stream_tell(stream, stream_line_chunk(&told));
}

static void past_told(LedgerFollower *past) {
        EventStream *stream = container_of(past, EventStream, past);

        past->is_paused = true;
        streams_go_on(stream);
}

static void past_caught_up(LedgerFollower *past) {
        container_of(past, EventStream, past)->is_live = past->is_paused = true;
}

static bool past_failed(LedgerFollower *past, _unused_ int r) {
        conn_abort(container_of(past, EventStream, past)->client->conn, "the ledger cannot be read");
        return false;
}

static const LedgerFollowerType past_lines = {
        .n_lines = FOLLOWER_LINES,
        .n_bytes = FOLLOWER_BYTES,
        .wants = past_wants,
        .take = past_tell,
        .taken = past_told,
        .caught_up = past_caught_up,
        .failed = past_failed,
};

/* ---- what is new, for all that are live ------------------------------------------------------ */

/* It looks at the ledger for itself from there on, until it is at the end again. */
static void go_behind(EventStream *stream, uint64_t position) {
        stream->is_live = false;
        stream->past.position = MAX(stream->past.position, position);
        streams_go_on(stream);
}

static bool live_wants(_unused_ const LedgerFollower *live, const LedgerEntry *entry) {
        return stream_kind_bit(entry->kind);
}

static void live_tell(LedgerFollower *live, LedgerLine *line) {
        Streams *streams = container_of(live, Streams, live);
        _cleanup_(stream_line_deinit)
                StreamLine told = {.kind = stream_kind_bit(line->entry.kind), .line = line};

        for (EventStream *stream = LIST_FIRST(&streams->all); stream; stream = LIST_NEXT(stream, link)) {
                if (!stream->is_live || line->position < stream->past.position ||
                    !(stream->kinds & told.kind))
                        continue;
                if (!line->text.n || event_stream_is_full(stream))
                        go_behind(stream, line->position);
                else if (ledger_line_is_whole(line) && event_stream_wants(stream, &told))
                        event_stream_tell(stream, stream_line_chunk(&told));
        }
}

/* While a commit is under way the file is not looked at; so it is looked at behind it. */
static void live_told(LedgerFollower *live) {
        Streams *streams = container_of(live, Streams, live);

        deferred_schedule(&streams->check);
        for (EventStream *stream = LIST_FIRST(&streams->all); stream; stream = LIST_NEXT(stream, link))
                if (stream->is_blocked && live->position > stream->past.position + STREAM_LAG)
                        conn_abort(stream->client->conn, "slow subscriber");
}

/* Each stream finds out by itself whether it can be read. */
static bool live_failed(_unused_ LedgerFollower *live, _unused_ int r) {
        return true;
}

static const LedgerFollowerType live_lines = {
        .n_lines = FOLLOWER_LINES,
        .n_bytes = FOLLOWER_BYTES,
        .n_line_max = FEED_PAYLOAD_MAX,
        .wants = live_wants,
        .take = live_tell,
        .taken = live_told,
        .failed = live_failed,
};

/* ---- the folder, for lines of other programs ------------------------------------------------ */

/* The folder is watched, not the file: a replaced ledger is still found. */
static bool is_about_ledger(const struct inotify_event *event) {
        return (event->mask & IN_Q_OVERFLOW) || (event->len && !strcmp(event->name, "ledger.jsonl"));
}

static void ledger_watch_on_readable(void *user, _unused_ unsigned events) {
        LedgerWatch *watch = user;
        char buffer[EVENTS_MAX] __attribute__((aligned(__alignof__(struct inotify_event))));
        bool is_changed = false;
        ssize_t n = read(watch->fd, buffer, sizeof(buffer));

        for (ssize_t at = 0; at < n;) {
                const struct inotify_event *event = (const void *)(buffer + at);

                is_changed |= is_about_ledger(event);
                at += (ssize_t)(sizeof(*event) + event->len);
        }
        if (is_changed)
                watch->changed(watch);
}

static void ledger_watch_close(LedgerWatch *watch);

static int ledger_watch_open(LedgerWatch *watch, Loop *loop, const char *folder,
                             void (*changed)(LedgerWatch *watch)) {
        int r;

        *watch = (LedgerWatch){.changed = changed, .fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
        if (watch->fd < 0)
                return error_origin(-errno);
        if (inotify_add_watch(watch->fd, folder, IN_MODIFY | IN_MOVED_TO | IN_CREATE) < 0)
                r = error_origin(-errno);
        else
                r = loop_fd_open(loop, watch->fd, ledger_watch_on_readable, watch, &watch->event);
        if (r)
                ledger_watch_close(watch);
        else
                loop_fd_watch(watch->event, LOOP_READ);
        return r;
}

/* also one that is not open */
static void ledger_watch_close(LedgerWatch *watch) {
        if (watch->fd < 0)
                return;
        watch->event = loop_fd_close(watch->event);
        watch->fd = close_fd(watch->fd);
}

/* ---- the ledger ------------------------------------------------------------------------------ */

static void on_check(Deferred *deferred) {
        Streams *streams = container_of(deferred, Streams, check);

        (void)ledger_check(streams->group->ledger);
}

static void on_file_changed(LedgerWatch *watch) {
        Streams *streams = container_of(watch, Streams, watch);

        (void)ledger_check(streams->group->ledger);
}

/* ---- joining and leaving --------------------------------------------------------------------- */

static Streams *new_streams(Group *group) {
        Streams *streams = calloc(1, sizeof(*streams));
        Loop *loop = group->collab->daemon->loop;

        if (!streams)
                return NULL;
        streams->group = group;
        follower_start(&streams->live, &live_lines, group->ledger, ledger_n_committed(group->ledger));
        deferred_init(&streams->check, loop, on_check);
        if (ledger_watch_open(&streams->watch, loop, group->dir, on_file_changed))
                log_warning(&group->collab->daemon->log, group->id,
                            "cannot watch the folder: lines of other programs are noticed later");
        group->slots[GROUP_SLOT_STREAMS] = streams;
        return streams;
}

static void free_streams(Streams *streams) {
        deferred_cancel(&streams->check);
        follower_stop(&streams->live);
        ledger_watch_close(&streams->watch);
        streams->group->slots[GROUP_SLOT_STREAMS] = NULL;
        free(streams);
}

static int streams_add(EventStream *stream, uint64_t position) {
        Group *group = stream->group;
        Streams *streams = group->slots[GROUP_SLOT_STREAMS];

        if (!streams)
                streams = new_streams(group);
        if (!streams)
                return error_origin(-ENOMEM);
        follower_start(&stream->past, &past_lines, group->ledger, position);
        stream->streams = streams;
        LIST_INSERT_HEAD(&streams->all, stream, link);
        return 0;
}

static void streams_remove(EventStream *stream) {
        Streams *streams = stream->streams;

        follower_stop(&stream->past);
        LIST_REMOVE(stream, link);
        stream->streams = NULL;
        if (LIST_EMPTY(&streams->all))
                free_streams(streams);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void free_stream(EventStream *stream) {
        group_unref(stream->group);
        free(stream->viewer);
        free(stream);
}

static void stream_on_closed(Client *client) {
        EventStream *stream = client->stream;

        timer_clear(&stream->heartbeat);
        timer_clear(&stream->stall);
        streams_remove(stream);
        free_stream(stream);
}

static EventStream *new_stream(Client *client, Group *group, const EventStreamOptions *options) {
        EventStream *stream = calloc(1, sizeof(*stream));
        Loop *loop = group->collab->daemon->loop;

        if (!stream)
                return NULL;
        stream->viewer = options->viewer.n ? str_dup(options->viewer) : NULL;
        if (options->viewer.n && !stream->viewer) {
                free(stream);
                return NULL;
        }
        stream->client = client;
        stream->group = group_ref(group);
        stream->kinds = options->kinds ? options->kinds : (1U << ARRAY_SIZE(stream_kinds)) - 1;
        if (stream->viewer)
                stream->kinds &=
                        stream_kind_bit(STR("chat.message")) | stream_kind_bit(STR("system.notify"));
        stream->told_ms = loop_now_ms(loop);
        timer_init(&stream->heartbeat, loop, stream_on_heartbeat);
        timer_init(&stream->stall, loop, on_stall);
        return stream;
}

/* The client's connection becomes the stream; without memory it is aborted. */
static void event_stream_start(Client *client, Group *group, const EventStreamOptions *options) {
        EventStream *stream = new_stream(client, group, options);

        if (!stream) {
                conn_abort(client->conn, "out of memory");
                return;
        }
        if (streams_add(stream, options->position)) {
                free_stream(stream);
                conn_abort(client->conn, "out of memory");
                return;
        }
        client_stream(client, stream, stream_on_closed);
        client->stream_drained = stream_on_drained;
        follower_go_on(&stream->past);
        if (timer_set(&stream->heartbeat, STREAM_HEARTBEAT_MS))
                stream_give_up(stream, "out of memory");
}

/* From the answer to the stream, which is the same turn; in the call's arena. */
typedef struct Opening {
        Carry carry;
        Group *group;
        EventStreamOptions options;
} Opening;

static void events_stream_begin(Call *call) {
        Opening *opening = container_of(call->target, Opening, carry);

        event_stream_start(call->client, opening->group, &opening->options);
        group_unref(opening->group);
}

static unsigned kinds_of(const StrList *kinds) {
        unsigned bits = 0;

        for (size_t i = 0; i < kinds->n; i++)
                bits |= stream_kind_bit(str_trim(kinds->items[i]));
        return bits;
}

static bool events_stream_is_any(const StrList *kinds) {
        for (size_t i = 0; i < kinds->n; i++)
                if (str_trim(kinds->items[i]).n)
                        return true;
        return false;
}

static int refuse_kinds(Call *call) {
        JsonWriter *w = call_details(call);

        jw_begin_object(w);
        jw_key(w, "supported");
        jw_begin_array(w);
        for (size_t i = 0; i < ARRAY_SIZE(stream_kinds); i++)
                jw_cstr(w, stream_kinds[i]);
        jw_end_array(w);
        jw_end_object(w);
        return call_fail(call, CALL_E_INVALID_KINDS, "none of the kinds can be streamed");
}

/* Whether a stream of these kinds would have shown that line. */
static bool events_stream_is_shown(const Group *group, const StrList *kinds, uint64_t position) {
        unsigned wanted = kinds_of(kinds), bit = stream_kind_bit(ledger_entry(group->ledger, position).kind);

        return bit && (!wanted || wanted & bit);
}

/* Where the stream begins. A time that is not known, or an event that is not or that the stream would not
 * have shown, resumes nothing. With since_any every event there is resumes, and none the whole.
 * LEDGER_E_PENDING: ask again. */
static int find_start(const Group *group, const CcccEventsStreamArgs *args, uint64_t *ret) {
        uint64_t position;
        int64_t ts_us;
        int r;

        *ret = ledger_n_committed(group->ledger);
        if (!args->since_event_id.n) {
                if (args->since_any)
                        *ret = 0;
                else if (time_parse(args->since_ts, &ts_us))
                        *ret = ledger_first_after_ts(group->ledger, ts_us);
                return 0;
        }
        r = ledger_find_id(group->ledger, args->since_event_id, &position);
        if (!r && (args->since_any || events_stream_is_shown(group, &args->kinds, position)))
                *ret = position + 1;
        return r == LEDGER_E_PENDING ? r : 0;
}

int op_cccc_events_stream_first(Call *call, const CcccEventsStreamArgs *args) {
        return events_stream_is_any(&args->kinds) && !kinds_of(&args->kinds) ? refuse_kinds(call) : 0;
}

static int events_stream_again(Call *call, Group *group, const Carry *carry) {
        return op_cccc_events_stream(call, group, container_of(carry, CcccEventsStreamArgs, carry));
}

int op_cccc_events_stream(Call *call, Group *group, const CcccEventsStreamArgs *args) {
        Opening *opening = arena_alloc(&call->arena, sizeof(*opening));
        uint64_t position;
        JsonWriter *w;

        if (!opening)
                return error_origin(-ENOMEM);
        if (find_start(group, args, &position) == LEDGER_E_PENDING)
                return lines_wait(call, group, events_stream_again, &args->carry);
        *opening = (Opening){.group = group,
                             .options = {.kinds = kinds_of(&args->kinds), .position = position}};
        if (group_doc_actor(group->doc, args->by))
                opening->options.viewer = args->by;
        w = call_result(call);
        jw_begin_object(w);
        jw_field_cstr(w, "group_id", group->id);
        jw_end_object(w);
        if (!call->client) /* it has left: nothing begins */
                return 0;
        group_ref(group);
        call->target = &opening->carry;
        call_after(call, events_stream_begin);
        return 0;
}
