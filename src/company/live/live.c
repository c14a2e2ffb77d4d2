/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "company/live"

#include "company/live/live.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "company/visit.h"
#include "core/dialect.h"

typedef struct LiveSubscription {
        struct LiveSubscription *next;
        Arena arena; /* of its words */
        Str id;
        LiveFilter filter;
        int64_t ack_ms;
} LiveSubscription;

/* A trail that the connection is behind in, or was: then it says what was told from the file. */
typedef struct LiveTrail {
        struct LiveTrail *next;
        Workspace *workspace; /* a reference */
        char *path;
        uint64_t next_seq;         /* that is told next */
        uint64_t n_lines, n_bytes; /* passed over or told, of the file */
        bool is_read;
} LiveTrail;

struct Live {
        Client *client; /* NULL: gone while a worker reads */
        Company *company;
        Live *next, **link; /* in company->lives */
        LiveSubscription *first;
        size_t n, n_trails;
        bool is_behind, is_reading;
        LiveTrail *trails;
};

/* ---- telling --------------------------------------------------------------------------------- */

bool live_wants(const LiveFilter *filter, Str project_id, Str run_id, Str type) {
        if (filter->project_id.n && !str_eq(filter->project_id, project_id))
                return false;
        if (filter->run_id.n && !str_eq(filter->run_id, run_id))
                return false;
        for (size_t i = 0; i < filter->types.n; i++)
                if (str_eq(filter->types.items[i], type))
                        return true;
        return !filter->types.n;
}

int live_write(Buf *out, Str subscription_id, Str project_id, Str line) {
        JsonWriter w = JSON_WRITER(out);

        jw_begin_object(&w);
        jw_field_cstr(&w, "jsonrpc", "2.0");
        jw_field_cstr(&w, "method", "events.notification");
        jw_key(&w, "params");
        jw_begin_object(&w);
        jw_field_str(&w, "subscription_id", subscription_id);
        if (project_id.n)
                jw_field_str(&w, "project_id", project_id);
        else
                jw_field_null(&w, "project_id");
        jw_key(&w, "event");
        jw_raw(&w, line);
        jw_end_object(&w);
        jw_end_object(&w);
        return w.failed || buf_append_str(out, STR("\n")) ? error_origin(-ENOMEM) : 0;
}

static void live_push(Live *live, const LiveSubscription *subscription, Str project_id, Str line) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Chunk *chunk =
                live_write(&text, subscription->id, project_id, line) ? NULL : chunk_new(buf_str(&text));

        if (!chunk) {
                conn_abort(live->client->conn, "out of memory");
                return;
        }
        live->client->dialect->push(live->client, chunk);
        conn_flush_soon(live->client->conn);
        chunk_unref(chunk);
}

/* Ids of a trail from its path: work/projects/PROJECT/runs/RUN/events.jsonl. */
static void live_ids(Str path, Str *project_id, Str *run_id) {
        Str parts[6] = {STR_NULL};
        size_t n = 0;

        *project_id = *run_id = STR_NULL;
        while (n < ARRAY_SIZE(parts)) {
                const char *slash = memchr(path.data, '/', path.n);

                parts[n++] = (Str){path.data, slash ? (size_t)(slash - path.data) : path.n};
                if (!slash)
                        break;
                path = (Str){slash + 1, path.n - (size_t)(slash + 1 - path.data)};
        }
        if (n == 6 && str_is(parts[1], "projects") && str_is(parts[3], "runs")) {
                *project_id = parts[2];
                *run_id = parts[4];
        }
}

static void live_tell_all(Live *live, Str path, Str type, Str line) {
        Str project_id, run_id;

        live_ids(path, &project_id, &run_id);
        for (LiveSubscription *one = live->first; one; one = one->next)
                if (live_wants(&one->filter, project_id, run_id, type))
                        live_push(live, one, project_id, line);
}

/* ---- falling behind -------------------------------------------------------------------------- */

static void live_trail_free(Live *live, LiveTrail **at) {
        LiveTrail *trail = *at;

        *at = trail->next;
        live->n_trails--;
        workspace_unref(trail->workspace);
        free(trail->path);
        free(trail);
}

static LiveTrail **live_trail_find(Live *live, const Workspace *workspace, Str path) {
        LiveTrail **at = &live->trails;

        while (*at && ((*at)->workspace != workspace || !str_is(path, (*at)->path)))
                at = &(*at)->next;
        return at;
}

static void live_trail_add(Live *live, Workspace *workspace, const StoreTold *told) {
        LiveTrail *trail = live->n_trails < LIVE_TRAILS_MAX ? calloc(1, sizeof(*trail)) : NULL;

        if (trail)
                trail->path = str_dup(told->path);
        if (!trail || !trail->path) {
                free(trail);
                conn_abort(live->client->conn, "too far behind");
                return;
        }
        trail->workspace = workspace_ref(workspace);
        trail->next_seq = told->seq;
        trail->next = live->trails;
        live->trails = trail;
        live->n_trails++;
}

/* What was read to its end before: its events of then have been told since. */
static void live_fall_behind(Live *live) {
        for (LiveTrail **at = &live->trails; *at;)
                if ((*at)->is_read)
                        live_trail_free(live, at);
                else
                        at = &(*at)->next;
        live->is_behind = true;
        conn_want_drained(live->client->conn);
}

static void live_told_one(Live *live, Workspace *workspace, const StoreTold *told) {
        LiveTrail **at = live_trail_find(live, workspace, told->path);

        if (*at && (told->seq < (*at)->next_seq || !(*at)->is_read))
                return; /* told from the file, or will be */
        if (*at)
                live_trail_free(live, at);
        if (!live->is_behind &&
            (client_is_replying(live->client) || conn_pending(live->client->conn) > LIVE_WAITING_MAX))
                live_fall_behind(live);
        if (live->is_behind)
                live_trail_add(live, workspace, told);
        else
                live_tell_all(live, told->path, told->kind, told->line);
}

void live_told(Workspace *workspace, const StoreTold *told) {
        for (Live *live = workspace->company->lives, *next; live; live = next) {
                next = live->next;
                if (live->first && visit_has(live->client, workspace))
                        live_told_one(live, workspace, told);
        }
}

/* ---- reading what was not told --------------------------------------------------------------- */

typedef struct LiveRead { /* a worker's */
        Live *live;
        LiveTrail *trail;
        int root;
        const char *path;
        uint64_t n_bytes;
        Buf text; /* whole lines from there on */
        bool is_end;
} LiveRead;

static void live_read_run(void *user) {
        LiveRead *read = user;
        _cleanup_(closep) int fd = path_open_beneath(read->root, read->path, O_RDONLY | O_CLOEXEC, 0);
        size_t n_want = LIVE_READ_BYTES;

        read->is_end = true;
        while (fd >= 0 && !buf_reserve(&read->text, n_want)) {
                ssize_t n = pread(fd, read->text.data + read->text.n, n_want,
                                  (off_t)(read->n_bytes + read->text.n));
                const char *newline;

                if (n <= 0)
                        break;
                read->text.n += (size_t)n;
                newline = memrchr(read->text.data, '\n', read->text.n);
                if (!newline)
                        continue; /* a line that is longer */
                read->text.n = (size_t)(newline + 1 - read->text.data);
                read->is_end = false;
                return;
        }
        read->text.n = 0;
}

static void live_read_on(Live *live);

static void live_tell_lines(Live *live, LiveTrail *trail, Str text) {
        Arena arena = ARENA_NULL;

        while (text.n && !conn_is_closing(live->client->conn)) {
                const char *newline = memchr(text.data, '\n', text.n);
                const Str whole = {text.data, (size_t)(newline + 1 - text.data)}, line = str_trim(whole);
                Json *json = NULL;

                text = (Str){text.data + whole.n, text.n - whole.n};
                trail->n_bytes += whole.n;
                if (!line.n || ++trail->n_lines < trail->next_seq)
                        continue;
                trail->next_seq = trail->n_lines + 1;
                arena_reset(&arena);
                if (!json_parse(&arena, line.data, line.n, &(JsonLimits){.is_lenient = true}, &json, NULL) &&
                    json_is(json, JSON_OBJECT))
                        live_tell_all(live, str_from(trail->path), json_text_of(json, "type"), line);
        }
        arena_deinit(&arena);
}

static void live_free(Live *live) {
        while (live->trails)
                live_trail_free(live, &live->trails);
        while (live->first) {
                LiveSubscription *one = live->first;

                live->first = one->next;
                arena_deinit(&one->arena);
                free(one);
        }
        free(live);
}

static void live_read_done(void *user) {
        LiveRead *read = user;
        Live *live = read->live;

        live->is_reading = false;
        if (!live->client)
                live_free(live);
        else if (!client_is_replying(live->client)) { /* else it is read once more behind the reply */
                live_tell_lines(live, read->trail, buf_str(&read->text));
                read->trail->is_read = read->is_end;
                live_read_on(live);
        }
        buf_deinit(&read->text);
        free(read);
}

/* The next piece, unless enough waits to be sent; all is told: live again. */
static void live_read_on(Live *live) {
        LiveTrail *trail = live->trails;
        LiveRead *read;

        if (conn_is_closing(live->client->conn) || conn_is_deaf(live->client->conn))
                return;
        while (trail && trail->is_read)
                trail = trail->next;
        live->is_behind = trail;
        if (!trail)
                return;
        if (client_is_replying(live->client) || conn_pending(live->client->conn) > LIVE_WAITING_MAX / 2) {
                conn_want_drained(live->client->conn);
                return;
        }
        read = calloc(1, sizeof(*read));
        if (read) {
                *read = (LiveRead){.live = live,
                                   .trail = trail,
                                   .root = trail->workspace->root,
                                   .path = trail->path,
                                   .n_bytes = trail->n_bytes};
                live->is_reading =
                        !loop_work(live->company->daemon->loop, live_read_run, live_read_done, read);
        }
        if (!live->is_reading) {
                free(read);
                conn_abort(live->client->conn, "out of memory");
        }
}

void live_drained(Client *client) {
        Live *live = visit_live(client);

        if (live && live->is_behind && !live->is_reading)
                live_read_on(live);
}

/* ---- subscriptions --------------------------------------------------------------------------- */

static Live *live_of(Call *call) {
        Live *live = visit_live(call->client);
        Company *company = call->daemon->company;

        if (live)
                return live;
        live = calloc(1, sizeof(*live));
        if (!live || visit_set_live(call->client, live)) {
                free(live);
                return NULL;
        }
        live->client = call->client;
        live->company = company;
        live->next = company->lives;
        live->link = &company->lives;
        if (live->next)
                live->next->link = &live->next;
        company->lives = live;
        return live;
}

void live_end(Live *live) {
        if (!live)
                return;
        *live->link = live->next;
        if (live->next)
                live->next->link = live->link;
        live->client = NULL;
        if (!live->is_reading)
                live_free(live);
}

static LiveSubscription **live_find(Live *live, Str id) {
        LiveSubscription **at = &live->first;

        while (*at && !str_eq((*at)->id, id))
                at = &(*at)->next;
        return at;
}

static int live_copy(LiveSubscription *one, Str id, const LiveFilter *filter) {
        Arena *arena = &one->arena;
        Str *types = arena_alloc(arena, (filter->types.n + 1) * sizeof(*types));

        one->id = arena_str(arena, id);
        if (!types || !one->id.data)
                return error_origin(-ENOMEM);
        for (size_t i = 0; i < filter->types.n; i++)
                types[i] = arena_str(arena, filter->types.items[i]);
        one->filter = (LiveFilter){.project_id = arena_str(arena, filter->project_id),
                                   .run_id = arena_str(arena, filter->run_id),
                                   .types = {.items = types, .n = filter->types.n}};
        return 0;
}

int live_subscribe(Call *call, Str subscription_id, const LiveFilter *filter) {
        Live *live = live_of(call);
        LiveSubscription **at, *one = live ? calloc(1, sizeof(*one)) : NULL;

        if (!one || live_copy(one, subscription_id, filter)) {
                if (one)
                        arena_deinit(&one->arena);
                free(one);
                return error_origin(-ENOMEM);
        }
        at = live_find(live, subscription_id);
        if (!*at && live->n == LIVE_SUBSCRIPTIONS_MAX) {
                arena_deinit(&one->arena);
                free(one);
                return call_fail(call, CALL_E_COMPANY, "this connection has %d subscriptions already",
                                 LIVE_SUBSCRIPTIONS_MAX);
        }
        if (*at) { /* the new one takes its place in the order */
                one->next = (*at)->next;
                arena_deinit(&(*at)->arena);
                free(*at);
        } else
                live->n++;
        *at = one;
        return 0;
}

bool live_unsubscribe(Client *client, Str subscription_id) {
        Live *live = visit_live(client);
        LiveSubscription **at = live ? live_find(live, subscription_id) : NULL, *one = at ? *at : NULL;

        if (!one)
                return false;
        *at = one->next;
        live->n--;
        arena_deinit(&one->arena);
        free(one);
        return true;
}

bool live_ack(Client *client, Str subscription_id, int64_t at_ms) {
        Live *live = visit_live(client);
        LiveSubscription *one = live ? *live_find(live, subscription_id) : NULL;

        if (one)
                one->ack_ms = at_ms;
        return one;
}
