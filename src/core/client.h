#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Client: one connection together with the dialect it speaks.
 *
 * It connects the wire (frames) with the op registry (calls): decodes nothing itself, keeps requests of one
 * connection in order, and holds what a dialect remembers per connection. Owned by its Endpoint; freed when
 * the connection is closed.
 */
#include <sys/queue.h>

#include "core/call.h"
#include "core/principal/principal.h"
#include "wire/conn.h"

typedef struct Dialect Dialect;
typedef struct Endpoint Endpoint;
typedef struct Hello Hello;
typedef struct Request Request;
typedef struct StreamTarget StreamTarget;

/* What may lie between a connection and its dialect: messages in a framing of their own (a WebSocket, a data channel of
 * a tunnel). Without one a frame is a message, and what is written is a line. */
typedef struct Channel {
        Framing framing;                          /* of the connection, instead of the dialect's */
        void (*frame)(Client *client, Str frame); /* hands whole messages to client_hear() */
        void (*oversize)(Client *client);         /* a frame over the limit, or none at all */
        /* What was written into out behind mark is one message. Without memory it closes the connection. */
        void (*end)(Client *client, Buf *out, size_t mark);
        void (*close)(Client *client);         /* frees client->channel_state */
        bool (*is_text)(const Client *client); /* the message being handled, or it is bytes */
        Chunk *(*pack)(Str bytes);             /* a message of bytes, or several: a HostFrame */
        /* Says why, by a code of RFC 6455, and ends the connection behind what is queued. NULL: it is ended. */
        void (*leave)(Client *client, unsigned code, const char *reason);
        /* Shows a terminal beside it, for a contract that has that; NULL: the connection becomes one. */
        void (*stream)(Client *client, const StreamTarget *target);
} Channel;

/* Of somebody who has something for a client that may be at another endpoint by then, or gone: gone() is told once, and
 * the client is not to be touched any more. Embedded. */
typedef struct ClientWatch ClientWatch;
struct ClientWatch {
        Client *client; /* NULL: none */
        void (*gone)(ClientWatch *watch);
        LIST_ENTRY(ClientWatch) link;
};

struct Client {
        Daemon *daemon;
        Endpoint *endpoint;
        Endpoint *home; /* of one that belongs to another endpoint while a call lasts; NULL: it is at home */
        const Dialect *dialect;
        Conn *conn;
        const Channel *channel;  /* NULL: none */
        void *channel_state;     /* the channel's */
        LIST_ENTRY(Client) link; /* in endpoint->clients */
        LIST_HEAD(, ClientWatch) watches;
        uint64_t number;         /* counts up from 1 over the daemon's life; the id in logs */
        Str frame;               /* being handled right now */
        Request *reading;        /* a long frame that a worker reads, or a call or a batch holds; or NULL */
        Request *request;        /* … and that is being handled right now */
        Call *call;              /* in flight, or NULL */
        struct LongReply *reply; /* … whose result is being sent piece by piece, or NULL */
        unsigned n_holds;        /* > 0: no frame is handed out */
        Principal principal;     /* who it is, once that was asked: principal_of() */
        bool is_native;          /* it came in by the native socket, whatever it speaks */
        bool is_sandboxed;       /* or nobody can tell: see principal.h */
        bool has_token;          /* it has said the one that stands for the user */
        bool is_leaving;         /* the connection ends once the call under way is answered */
        Hello *hello;            /* what it said of itself, or NULL */
        void *visit;             /* what a domain keeps for as long as the connection lasts; NULL: nothing */
        void (*visit_over)(Client *client); /* the connection ends: frees visit */
        void *state;                        /* the dialect's */
        void *stream;                       /* of an operation that turned the connection into a stream */
        void (*stream_closed)(Client *client);
        void (*stream_drained)(
                Client *client); /* answers conn_want_drained() of a stream; NULL: the dialect does */
};

/* Makes the client of a connection that the listener of this Endpoint accepted, and starts it: both may be gone
 * when this returns. Takes conn. user: the Endpoint. */
void client_start(void *user, Conn *conn);
/* The same in two steps, for a connection that we have made: between them it may be given another dialect, a channel and
 * their states. NULL without memory: conn is closed. */
Client *client_new(Endpoint *endpoint, Conn *conn, ConnLimits *ret_limits);
void client_begin(Client *client, const ConnLimits *limits);
/* For dialects: the tree of the line being handled, parsed now or, of a long one, by a worker before. As
 * json_parse(). */
int client_parse(Client *client, Str *line, Json **ret, JsonFault *fault);

/* For channels: the dialect gets a message; a stream drops it. */
void client_hear(Client *client, Str message);
/* What was written into out (the connection's, or what will be given to it) behind mark is one message. */
void client_end_message(Client *client, Buf *out, size_t mark);

/* Of the process that connected; 0: over TCP, or not known. */
static inline pid_t client_pid(const Client *client) {
        return conn_peer(client->conn)->pid;
}

/* A call of this client, in flight from now on; NULL without memory (the connection is closed then). out:
 * NULL is the connection. */
Call *client_call(Client *client, Str id, bool is_quiet, Buf *out);
/* Runs an operation: decodes args, calls the handler, replies into out (NULL: the connection). id: raw JSON
 * or empty. */
void client_run(Client *client, const Op *op, const Json *args, Str id, bool is_quiet, Buf *out);
/* The same with an operation of another dialect, which this one then answers for in its own way. */
void client_run_of(Client *client, const OpTable *ops, const Op *op, const Json *args, Str id, bool is_quiet,
                   Buf *out);
/* An error reply to something that never became an operation. */
void client_refuse(Client *client, int error, Str id, Buf *out, const char *format, ...) _printf_(5, 6);

/* No frame is handed out between hold and release. */
void client_hold(Client *client);
void client_release(Client *client);
/* Half a reply is queued: nothing else may be written. Dialect.drained() tells when it is over. */
static inline bool client_is_replying(const Client *client) {
        return client->reply;
}
void client_watch(Client *client, ClientWatch *watch, void (*gone)(ClientWatch *watch));
void client_unwatch(ClientWatch *watch); /* fine for one that watches none */
/* Ends the connection behind what is queued, as politely as its channel has it. */
void client_hang_up(Client *client, const char *reason);
/* Ends the connection, after the answer to the call under way if there is one. */
void client_leave(Client *client, const char *reason);
/* The connection is a stream from now on: what the peer sends is dropped, closed() is told when it ends. */
void client_stream(Client *client, void *stream, void (*closed)(Client *client));
/* It belongs to another endpoint from now on; nothing else changes. */
void client_move(Client *client, Endpoint *endpoint);
/* The same until it goes home. False: its home was closed meanwhile. */
void client_visit(Client *client, Endpoint *endpoint);
bool client_go_home(Client *client);
/* Changes the dialect (native socket: recognised by the first bytes); frame is handled by the new one. */
void client_switch(Client *client, const Dialect *dialect, Endpoint *endpoint, Str frame);
