/* SPDX-License-Identifier: MIT */
/*
 * subscriptions/listen: a connection on which a client is told that resources, or the list of its tools, may have changed.
 * It is told at first which of its wishes hold (an unknown resource, or one that it may not read, does not), then of each
 * change, of one resource at most once in MCP_LISTEN_MS: what changes more often is told once more when that is over.
 *
 * Changes come from the feed; of a screen, which is in no feed, by a look at when its program last printed. A client that
 * does not read is told nothing until it does, and then once. It ends with its connection, and with its daemon: what was
 * missed between two of them the bridge tells (src/bridge/listen.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/daemon.h"
#include "core/fleet/fleet.h"
#include "core/host/host.h"
#include "core/principal/principal.h"
#include "dialect/mcp/mcp-request.h"

enum {
        MCP_LISTEN_MS = 1000,
        MCP_LISTEN_MAX = 64,    /* resources of one connection … */
        MCP_LISTEN_AGENTS = 16, /* … and agents of these, which are looked for among all that is hosted */
        MCP_LISTEN_URI = 4096,  /* bytes of an address; of a longer one nothing is known */
        MCP_LISTEN_QUEUE = 64 << 10, /* bytes that wait for a client that does not read */
        MCP_LISTEN_TURN = 256,       /* items of the feed in one turn */
        MCP_TOOL_WORDS = 4,
};

typedef struct McpWatch {
        Str uri;
        McpTopic topic;
        const McpTool *tool; /* that reads it */
        int64_t told_ms;     /* 0: never */
        int64_t output_us;   /* of a screen: when it was looked at last */
        bool is_changed;
} McpWatch;

typedef struct McpListener {
        Client *client;
        Arena arena; /* all its texts */
        Str id;      /* raw JSON: of the request, which is the name of the subscription */
        FeedReader reader;
        Timer timer;
        Deferred go_on;
        McpWatch watches[MCP_LISTEN_MAX];
        size_t n;
        bool wants_tools;
        uint64_t tools[MCP_TOOL_WORDS]; /* bit n: it may call tool n */
        bool has_screen;
        size_t n_agents;
        size_t mark; /* where the message being written begins */
} McpListener;

/* ---- telling --------------------------------------------------------------------------------- */

static void listen_begin(JsonWriter *w, McpListener *self, const char *method) {
        self->mark = w->out->n;
        jw_begin_object(w);
        jw_field_cstr(w, "jsonrpc", "2.0");
        jw_field_cstr(w, "method", method);
        jw_key(w, "params");
        jw_begin_object(w);
        jw_key(w, "_meta");
        jw_begin_object(w);
        jw_key(w, "io.modelcontextprotocol/subscriptionId");
        jw_raw(w, self->id);
        jw_end_object(w);
}

static void listen_end(McpListener *self, JsonWriter *w) {
        jw_end_object(w);
        jw_end_object(w);
        if (w->failed)
                conn_abort(self->client->conn, "out of memory");
        else
                client_end_message(self->client, w->out, self->mark);
}

static void listen_acknowledge(McpListener *self) {
        JsonWriter w = JSON_WRITER(conn_out(self->client->conn));

        listen_begin(&w, self, "notifications/subscriptions/acknowledged");
        jw_key(&w, "notifications");
        jw_begin_object(&w);
        if (self->wants_tools)
                jw_field_bool(&w, "toolsListChanged", true);
        jw_key(&w, "resourceSubscriptions");
        jw_begin_array(&w);
        for (size_t i = 0; i < self->n; i++)
                jw_str(&w, self->watches[i].uri);
        jw_end_array(&w);
        jw_end_object(&w);
        listen_end(self, &w);
}

static void listen_tell_resource(McpListener *self, McpWatch *watch, int64_t now_ms) {
        JsonWriter w = JSON_WRITER(conn_out(self->client->conn));

        watch->is_changed = false;
        if (!mcp_tool_is_allowed(self->client, watch->tool))
                return; /* its rights were narrowed since */
        watch->told_ms = MAX(now_ms, (int64_t)1);
        listen_begin(&w, self, "notifications/resources/updated");
        jw_field_str(&w, "uri", watch->uri);
        listen_end(self, &w);
}

/* ---- the tools ------------------------------------------------------------------------------- */

static void listen_look_at_tools(McpListener *self, uint64_t ret[MCP_TOOL_WORDS]) {
        memset(ret, 0, MCP_TOOL_WORDS * sizeof(*ret));
        for (size_t i = 0; i < MIN(n_mcp_tools, (size_t)MCP_TOOL_WORDS * 64); i++)
                if (mcp_tool_is_allowed(self->client, &mcp_tools[i]))
                        ret[i / 64] |= (uint64_t)1 << i % 64;
}

/* What it may call follows from its rights: its group's settings, its role there, and the configuration. */
static void listen_tell_tools(McpListener *self) {
        JsonWriter w = JSON_WRITER(conn_out(self->client->conn));
        uint64_t now[MCP_TOOL_WORDS];

        listen_look_at_tools(self, now);
        if (!memcmp(now, self->tools, sizeof(now)))
                return;
        memcpy(self->tools, now, sizeof(now));
        listen_begin(&w, self, "notifications/tools/list_changed");
        listen_end(self, &w);
}

static bool listen_is_of_rights(const FeedItem *item) {
        return !strcmp(item->place.domain, "daemon") ||
               (!strcmp(item->place.domain, "collab") &&
                (!strncmp(item->place.kind, "group.", 6) || !strncmp(item->place.kind, "actor.", 6)));
}

/* ---- screens --------------------------------------------------------------------------------- */

static int64_t listen_printed_us(const McpListener *self, const McpTopic *topic) {
        const Hosted *hosted = self->client->daemon->host ? host_first(self->client->daemon->host) : NULL;

        while (hosted && !(hosted->state == HOSTED_RUNNING && str_is(topic->owner, hosted->owner) &&
                           str_is(topic->object, hosted->object)))
                hosted = hosted->next;
        return hosted ? hosted->output_us : 0;
}

static void listen_look_at_screens(McpListener *self) {
        for (size_t i = 0; i < self->n; i++) {
                McpWatch *watch = &self->watches[i];
                int64_t printed_us =
                        watch->topic.news == NEWS_OF_SCREEN ? listen_printed_us(self, &watch->topic) : 0;

                watch->is_changed |= printed_us != watch->output_us && watch->topic.news == NEWS_OF_SCREEN;
                watch->output_us = printed_us;
        }
}

/* ---- when ------------------------------------------------------------------------------------ */

static void listen_tell(McpListener *self) {
        int64_t now_ms = loop_now_ms(self->client->daemon->loop),
                due_ms = self->has_screen ? now_ms + MCP_LISTEN_MS : INT64_MAX;

        for (size_t i = 0; i < self->n; i++) {
                McpWatch *watch = &self->watches[i];
                int64_t ready_ms = watch->told_ms ? watch->told_ms + MCP_LISTEN_MS : now_ms;

                if (!watch->is_changed)
                        continue;
                if (conn_pending(self->client->conn) > MCP_LISTEN_QUEUE)
                        conn_want_drained(self->client->conn);
                else if (now_ms >= ready_ms)
                        listen_tell_resource(self, watch, now_ms);
                else
                        due_ms = MIN(due_ms, ready_ms);
        }
        if (due_ms == INT64_MAX)
                timer_clear(&self->timer);
        else if (timer_set(&self->timer, due_ms - now_ms))
                conn_abort(self->client->conn, "out of memory");
        conn_flush_soon(self->client->conn);
}

static void listen_on_timer(Timer *timer) {
        McpListener *self = container_of(timer, McpListener, timer);

        listen_look_at_screens(self);
        listen_tell(self);
}

static void listen_on_drained(Client *client) {
        listen_tell(client->stream);
}

static void listen_note(McpListener *self, const FeedItem *item) {
        for (size_t i = 0; i < self->n; i++)
                self->watches[i].is_changed |= self->watches[i].is_changed || !item ||
                                               mcp_news_is_of(&self->watches[i].topic, item);
}

static void listen_go_on(McpListener *self) {
        bool is_of_rights = false;
        int n = 0;

        for (; n < MCP_LISTEN_TURN; n++) {
                FeedItem item;
                int r = feed_reader_next(&self->reader, &item);

                if (r == FEED_E_EMPTY)
                        break;
                listen_note(self, r ? NULL : &item); /* what was forgotten may have been anything */
                is_of_rights |= r || listen_is_of_rights(&item);
        }
        if (n == MCP_LISTEN_TURN)
                deferred_schedule(&self->go_on);
        if (self->wants_tools && is_of_rights)
                listen_tell_tools(self);
        listen_tell(self);
}

static void listen_on_more(FeedReader *reader) {
        listen_go_on(container_of(reader, McpListener, reader));
}

static void listen_on_deferred(Deferred *deferred) {
        listen_go_on(container_of(deferred, McpListener, go_on));
}

/* ---- life ------------------------------------------------------------------------------------ */

static void listen_free(McpListener *self) {
        arena_deinit(&self->arena);
        free(self);
}

static void listen_on_closed(Client *client) {
        McpListener *self = client->stream;

        feed_reader_deinit(&self->reader);
        timer_clear(&self->timer);
        deferred_cancel(&self->go_on);
        listen_free(self);
}

/* What a word of an agent's address means: one thing, that the caller may look at. */
static bool listen_find_agent(McpListener *self, McpTopic *topic) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        FleetSearch search;
        const FleetThing *thing;

        if (self->n_agents++ >= MCP_LISTEN_AGENTS ||
            fleet_search(self->client->daemon, &arena, topic->words[0], &search) || search.n_found != 1 ||
            !search.found->owner)
                return false;
        thing = search.found;
        if (topic->news == NEWS_OF_SCREEN && !principal_may(self->client, RIGHT_LOOK, thing->name))
                return false;
        topic->owner = str_from(thing->owner->owner);
        topic->object = !strcmp(thing->owner->kind, "actor")
                                ? arena_printf(&self->arena, STR_FMT "/" STR_FMT, STR_ARG(thing->place),
                                               STR_ARG(thing->object))
                                : arena_str(&self->arena, thing->object);
        return topic->object.data;
}

static void listen_add(McpListener *self, Str uri) {
        McpWatch watch = {.uri = uri.n <= MCP_LISTEN_URI ? arena_str(&self->arena, uri) : STR_NULL};
        McpFound found;

        if (!watch.uri.data || !mcp_resource_find(&self->arena, watch.uri, &found) || !found.tool ||
            !mcp_tool_is_allowed(self->client, found.tool))
                return;
        watch.tool = found.tool;
        watch.topic.news = found.news;
        memcpy(watch.topic.words, found.words, sizeof(found.words));
        if ((found.news == NEWS_OF_SCREEN || found.news == NEWS_OF_STATE) &&
            !listen_find_agent(self, &watch.topic))
                return;
        self->has_screen |= found.news == NEWS_OF_SCREEN;
        self->watches[self->n++] = watch;
}

static McpListener *listen_new(Client *client, const McpMessage *message, const Json *wishes) {
        McpListener *self = calloc(1, sizeof(*self));
        bool wants_tools = false;

        if (!self)
                return NULL;
        self->client = client;
        self->id = arena_str(&self->arena, message->id);
        json_bool(json_get(wishes, "toolsListChanged"), &wants_tools);
        self->wants_tools = wants_tools;
        json_each (uri, json_get(wishes, "resourceSubscriptions"))
                listen_add(self, json_str(uri));
        return self;
}

const char *mcp_listen(Client *client, const McpMessage *message) {
        const Json *wishes = json_get(message->params, "notifications"),
                   *uris = json_get(wishes, "resourceSubscriptions");
        McpListener *self;

        if (!json_is(wishes, JSON_OBJECT) || (uris && !json_is(uris, JSON_ARRAY)))
                return "notifications must say what to listen for";
        if (json_count(uris) > MCP_LISTEN_MAX)
                return "more than 64 resources for one subscription";
        self = listen_new(client, message, wishes);
        if (!self || !self->id.data) {
                if (self)
                        listen_free(self);
                conn_abort(client->conn, "out of memory");
                return NULL;
        }
        timer_init(&self->timer, client->daemon->loop, listen_on_timer);
        deferred_init(&self->go_on, client->daemon->loop, listen_on_deferred);
        listen_acknowledge(self);
        client_stream(client, self, listen_on_closed);
        client->stream_drained = listen_on_drained;
        feed_reader_init(&self->reader, client->daemon->feed, UINT64_MAX, listen_on_more);
        if (self->wants_tools)
                listen_look_at_tools(self, self->tools);
        listen_look_at_screens(self);
        for (size_t i = 0; i < self->n; i++)
                self->watches[i].is_changed = false;
        listen_tell(self);
        return NULL;
}
