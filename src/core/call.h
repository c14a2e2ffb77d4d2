#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Call: one request on its way through the daemon, from the decoded envelope to the reply.
 *
 * A handler gets the call and its typed arguments. It either finishes at once (returns 0 after writing a
 * result, or `return call_fail(…)`), or returns CALL_LATER and calls call_finish() in a later turn.
 * Everything that belongs to the call lives in call->arena. A client has one call at a time; the next frame
 * waits until this one is answered. The call outlives a client that goes away meanwhile: then its reply is
 * dropped. Owned by the Daemon's pool; a handler may keep the pointer until call_finish().
 */
#include "base/json/json-writer.h"
#include "base/macro.h"
#include "core/op.h"
#include "gen/errors.h" /* enum CallError: CALL_E_* */

typedef struct Client Client;
typedef struct Daemon Daemon;

enum { CALL_LATER = -0x7fff }; /* the handler will finish the call in a later turn */

/* Something that may be replaced or thrown away while the call waits, and that it still points into. */
typedef struct CallHold {
        struct CallHold *next;
        void *object;
        void (*release)(void *object);
} CallHold;

struct Call {
        Daemon *daemon;
        Client *client; /* NULL once the client is gone */
        const Op *op;
        const OpTable *ops; /* that it is of */
        Arena arena;        /* reset when the call is done */
        CallHold *holds;    /* released then; in the arena */
        Str id;             /* JSON-RPC: raw text of the request's id, "" for a notification */
        Str request;        /* raw frame while recording, else empty */

        Buf *out;           /* where the reply goes: the connection, a batch in the making, or scratch */
        Buf scratch;        /* of a reply that nobody gets */
        size_t mark;        /* where the reply begins in out */
        size_t result_mark; /* where the result begins in out */
        JsonWriter writer;
        bool has_result; /* call_result() was called */
        bool is_later;   /* the handler returned CALL_LATER */
        bool is_quiet;   /* a notification: no reply leaves */
        bool is_long;    /* its result was sent piece by piece (long-reply.h) */

        int error; /* CALL_E_*, 0: none */
        Str message;
        Buf details; /* raw JSON of the error's details; empty: none */
        JsonWriter details_writer;
        const Carry *target; /* what after() or over() goes on with */
        const Carry *above;  /* of an inner call: the same, since target is its handler's (fleet/inner.h) */
        void (*after)(Call *call); /* runs when the reply is in the output queue; set by call_after() */
        void (*gone)(Call *call);  /* its client has hung up while it waits; may end it */
        void (*over)(Call *call);  /* the call has ended, however it did; its arena is still there */
        Call *next_free;
};

/* Starts the reply; the caller then writes one JSON value (normally an object) in the same turn. */
JsonWriter *call_result(Call *call);
/* A whole result that a worker has made, as text: what is long is not copied, its memory goes with the reply. */
void call_give(Call *call, Buf *result);
/* Remembers an error; returns it, so that handlers can `return call_fail(…)`. */
int call_fail(Call *call, int error, const char *format, ...) _printf_(3, 4);
/* The same for a value that does not fit: INVALID_PARAMS, with the issues as its details. */
int call_fail_issues(Call *call, const Issues *issues);
/* A writer for the error's details: the caller writes one JSON object. */
JsonWriter *call_details(Call *call);
/* For what must happen once the reply is queued (shutdown, turning into a stream). */
void call_after(Call *call, void (*after)(Call *call));
/* Takes a reference of the caller's and releases it when the call has ended, so that spans into the object
 * may be kept as long as the call's own arguments. Held once. 0, or -ENOMEM: it is released at once. */
int call_hold(Call *call, void *object, void (*release)(void *object));
/* The long frame that the arguments are in, and that the call holds; NULL: they are its own. */
struct Request *call_request(const Call *call);
/* Releases all that it holds, for one that is only to be answered any more. */
void call_let_go(Call *call);
/* Ends a call that was left for later: r is 0, a CALL_E_* that was set with call_fail(), or negative. */
void call_finish(Call *call, int r);
/* A step of the call on a worker: run() there, then `then` on the loop, which returns like a handler. What carry
 * belongs to lives as long as the call does, in its arena; the loop does not touch it meanwhile. Returns CALL_LATER,
 * or -ENOMEM with nothing begun. */
typedef void (*CallRunFn)(const Carry *carry);
typedef int (*CallThenFn)(Call *call, const Carry *carry);
int call_work(Call *call, CallRunFn run, CallThenFn then, const Carry *carry);
/* A job of the call. What came in a long frame computes for long: such jobs share one worker, so that nobody's messages
 * wait for them. As loop_work_as(). */
int call_work_queue(const Call *call, const char *what, void (*run)(void *user), void (*done)(void *user),
                    void *user);

/* A call of the daemon's own: nobody gets its reply. over() tells how it ended. NULL without memory. */
Call *call_of_ours(Daemon *daemon, void (*over)(Call *call));

/* For client.c. */
Call *call_get(Daemon *daemon); /* from the pool; NULL without memory */
void call_run(Call *call, const Json *args);
void call_orphan(Call *call); /* its client is gone */
void call_pool_deinit(Daemon *daemon);
