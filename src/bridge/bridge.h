#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Bridge: MCP on stdin and stdout for an agent, and the daemon behind it, with one connection per request (muster-mcp, which `muster mcp` becomes).
 *
 * It speaks every revision of the protocol and knows three things only: which revision was agreed on, who the environment says
 * that the agent is, and the requests under way. So it outlives the daemon: what was asked while none runs waits, and what was
 * under way when one died is asked again if that does no harm. One thread, poll(2).
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/json/json-writer.h"
#include "base/macro.h"
#include "dialect/mcp/mcp-era.h"

enum {
        BRIDGE_UNDER_WAY = 64,     /* requests with a connection; further ones wait in order … */
        BRIDGE_LISTENS = 32,       /* subscriptions, each with a connection of its own; more are refused */
        BRIDGE_LOST_MS = 1000,     /* between two looks for a daemon that has been away for long */
        BRIDGE_WAITING_MAX = 1024, /* … and beyond so many nothing is read from the client */
        BRIDGE_LINE_MAX = 16 << 20,
        BRIDGE_ABSENT_MS = 10000, /* how long a request waits for a daemon, unless --wait says otherwise */
        BRIDGE_AGAIN_MS = 100,    /* between two looks for one */
        BRIDGE_END_MS = 2000,     /* for answers that are due when the client has ended its side */
        BRIDGE_PROGRESS_MS = 5000,
};
#define BRIDGE_NEVER INT64_MAX

typedef struct Ask Ask;

/* What stays after its answer, and tells of changes. */
typedef enum AskListen {
        LISTEN_NOT,
        LISTEN_CLIENT,   /* subscriptions/listen of the client: it gets the lines as they are */
        LISTEN_RESOURCE, /* resources/subscribe of an older revision */
        LISTEN_TOOLS,    /* nobody asked: older revisions are told of a changed list of tools anyway */
} AskListen;

/* What was asked, and what may be done with it; texts are the Ask's. */
typedef struct AskSpec {
        Str id;      /* raw JSON */
        Str request; /* the whole line for the daemon */
        Str token;   /* raw JSON: who waits is told that it does; empty: nobody wants to know */
        Str uri;     /* LISTEN_RESOURCE: of which */
        AskListen listen;
        bool is_old; /* answered as revisions before 2026-07-28 want it */
        bool is_tool, is_resource;
        bool is_wait;       /* not worth finishing when the client has gone */
        bool is_repeatable; /* to ask twice is the same as once */
} AskSpec;

typedef struct Bridge {
        const char *socket;       /* where the daemon listens … */
        const char *address_path; /* … or else the file that says where it does; NULL: there is none */
        int64_t absent_ms;        /* how long a request waits for a daemon */
        bool is_verbose;
        const char *
                start; /* the program muster, to start a daemon with at the first request; NULL: not to be started */
        McpSaid said;    /* by the environment */
        bool has_shaken; /* initialize was answered: requests without `_meta` are of an older revision */
        bool has_tools;  /* a client of an older revision has asked for its tools */

        Buf in; /* from the client, not yet handled */
        size_t n_scanned;
        bool is_skipping; /* the rest of a line that was too long */
        bool is_in_over, is_out_over;
        Ask *first, **end; /* in order of arrival */
        size_t n_asks;
} Bridge;

void bridge_init(Bridge *self);
void bridge_deinit(Bridge *self);
/* bridge.c: what the client has sent, up to the end of the last whole line. */
void bridge_take(Bridge *self);
int64_t bridge_now_ms(void); /* monotonic */
/* Writes a message to the client, whole, and waits for that; one that does not listen any more is_out_over. */
void bridge_say(Bridge *self, Str line);
/* The beginning of a message with this id; an answer; a refusal; a request of ours for the daemon, which it gets with
 * what it wants to know of us. */
void bridge_begin(JsonWriter *w, Str id);
void bridge_end(Bridge *self, JsonWriter *w);
void bridge_answer_empty(Bridge *self, Str id);
void bridge_refuse(Bridge *self, Str id, int error, const char *message);
void bridge_put_meta(Bridge *self, JsonWriter *w);
void bridge_log(const Bridge *self, const char *format, ...) _printf_(2, 3);

/* ask.c */
int ask_new(Bridge *self, const AskSpec *spec);
void ask_cancel(Bridge *self, Str id); /* nothing is said for it any more; unknown: fine */
void ask_cancel_waits(Bridge *self);
size_t ask_n_listens(const Bridge *self);
bool ask_has_uri(const Bridge *self, Str uri); /* somebody is subscribed to it */
void ask_drop_uri(Bridge *self, Str uri);
/* Connects, repeats, gives up and tells of progress, as it is due at now_ms; the next time something is due. */
int64_t ask_turn(Bridge *self, int64_t now_ms);
/* For poll(2): the descriptors of those under way, at most BRIDGE_UNDER_WAY + BRIDGE_LISTENS; then what it said of them. */
struct pollfd;
size_t ask_watch(Bridge *self, struct pollfd *ret);
void ask_ready(Bridge *self, const struct pollfd *polled, size_t n);
void ask_free_all(Bridge *self);

/* listen.c */
void listen_subscribe(Bridge *self, Str id, const Json *params);
void listen_unsubscribe(Bridge *self, Str id, const Json *params);
void listen_for_tools(Bridge *self);
/* A line of the daemon for one that listens; *is_known: it was acknowledged before. False: it is over. */
bool listen_take(Bridge *self, const AskSpec *spec, bool *is_known, Str line);
