#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Dialect: what makes one contract differ on the wire: framing, envelope, error map, op table. Constant data
 * and functions; per-connection memory goes into client->state.
 */
#include "core/client.h"
#include "wire/framing.h"

/* For every message from outside: a long line of tiny values must not become a mountain of memory. */
static const JsonLimits message_limits = {.n_values = 1 << 18};

/* What an operation turned a connection into a stream of: a terminal, and how it is wanted. */
struct StreamTarget {
        struct Hosted *hosted; /* valid in this turn; NULL: the struct around this one says where it is */
        unsigned cols, rows;   /* of the client's window; 0: it has none */
        bool is_read_only;
};

struct Dialect {
        const char *name;
        const OpTable *ops;
        Framing framing;
        bool is_secret; /* conn_keep_secret(): who connects has to show a token */
        bool is_rest;   /* coop's sessions have the members of its REST, too */

        /* The tree of a frame, and the operation with its arguments that it asks for (*ops: of which table;
         * *op stays NULL: none, or the frame has to be handled to know). Of a long frame both are called on
         * a worker: they know nothing but what they are given. *line may be moved into the arena. NULL: all
         * frames are handled on the loop. */
        int (*parse)(const Dialect *dialect, Arena *arena, Str *line, Json **ret, JsonFault *fault);
        void (*aim)(const Dialect *dialect, const Json *message, const OpTable **ops, const Op **op,
                    const Json **args);
        /* One whole frame, the end of the peer's side (rest: bytes of an unfinished frame), a frame over the
         * limit. */
        void (*frame)(Client *client, Str frame);
        void (*eof)(Client *client, Str rest);
        void (*oversize)(Client *client);
        void (*close)(Client *client); /* frees client->state; may be NULL */

        /* Envelope of a reply: what stands before and behind the result, and the whole of an error. */
        bool gives; /* end_result() does not look back at the result: it may have left already */
        void (*begin_result)(const Call *call, Buf *out);
        void (*end_result)(const Call *call, Buf *out);
        void (*write_error)(const Call *call, Buf *out);
        /* The tool that a client's call is made for, if the operation is another dialect's: it is recorded as that one's. NULL:
         * there are none. */
        const char *(*tool)(const Client *client);
        /* The contract's own word for an error, as JSON text, for the record. */
        void (*error_word)(int error, JsonWriter *w);
        /* An operation turned the connection into a stream of a terminal. NULL: there are none. */
        void (*stream)(Client *client, const StreamTarget *target);
        /* The output queue is nearly empty again (conn_want_drained()); the daemon is about to close the
         * connection. */
        void (*drained)(Client *client);
        void (*leaving)(Client *client);
        /* Messages that nobody asked for: one text for all, then to each client, behind the reply under way.
         * NULL: the contract has none. */
        Chunk *(*notification)(const char *name, Str params);
        void (*push)(Client *client, Chunk *chunk);
        /* The reply is written (close after it, go on with a batch, …); may be NULL. */
        void (*replied)(Client *client);
};
