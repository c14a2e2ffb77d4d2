#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Request: a long frame that is parsed, and whose arguments are decoded, on a worker. Short ones never
 * become one: their dialect parses them where they are.
 *
 * It has the bytes of its frame, the tree and the arguments made of them. While it is read its client is
 * held, so requests of a connection stay in order; a client that goes away leaves it behind, and it is
 * dropped when the worker is done. It waited for its turn before that (wire/turns.h) and is charged to its
 * peer; so is its memory, until it is freed. Counted: by the client while it is handled, by the call that uses its arguments, by a batch that
 * uses its tree.
 */
#include "core/client.h"

typedef struct Request {
        unsigned n_refs;
        Client *client; /* NULL: it is gone */
        const Dialect *dialect;
        Daemon *daemon;
        uint32_t peer;
        bool is_eof; /* what stood before the end of the stream */
        Buf bytes;
        Str line; /* in them, or in the arena */

        /* What the worker has made of it. */
        Arena arena;
        Json *json;
        JsonFault fault;
        int r;
        int64_t took_us;

        /* The operation that it will be, if the dialect can tell; decoded: into its arena, with decode_r. */
        const Op *op;
        const Json *args;
        void *decoded;
        OpFault decode_fault;
        int decode_r;
} Request;

/* True: the frame is on its way to a worker, and its dialect will be called later. False: there is no memory for that. */
bool request_begin(Client *client, Str frame, bool is_eof);
void request_leave(Request *request); /* its client goes */
Request *request_ref(Request *request);
void request_unref(void *object); /* a Request; NULL is fine */
size_t request_n_bytes(const Request *request);

/* What the worker made of the line; as json_parse(). */
int request_tree(const Request *request, Str *line, Json **ret, JsonFault *fault);
/* For calls: whether the arguments of this operation are decoded already. */
bool request_has_args(const Request *request, const Op *op, const Json *args);
