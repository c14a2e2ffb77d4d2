#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Chunk: immutable bytes shared by many output queues. Made once, counted, freed with its last reference.
 * One thread.
 */
#include <sys/types.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/str.h"

typedef struct Chunk {
        unsigned n_refs;
        size_t n;
        char data[];
} Chunk;

Chunk *chunk_new(Str content); /* one reference; NULL without memory */
Chunk *chunk_ref(Chunk *chunk);
Chunk *chunk_unref(Chunk *chunk); /* NULL is fine; returns NULL */

/*
 * OutQ: what one connection still has to send: a list of shared chunks and owned buffers, and a tail that
 * replies are written into directly. Order is kept. It knows no descriptor policy: bounds and their
 * consequences are the Conn's.
 */

typedef struct OutSegment {
        Chunk *chunk; /* shared, or NULL: owned */
        Buf owned;
} OutSegment;

typedef struct OutQ {
        OutSegment *segments; /* [first, first + n) */
        size_t first, n, cap;
        size_t n_sent;  /* of the front */
        Buf tail;       /* behind all segments */
        size_t n_bytes; /* queued in the segments, without the tail */
        bool wipes;     /* what was sent leaves memory, but for shared chunks */
} OutQ;

void outq_deinit(OutQ *q);
int outq_push_chunk(OutQ *q, Chunk *chunk); /* takes a reference of its own */
int outq_push_buf(OutQ *q, Buf *bytes);     /* takes the memory; nothing is copied */
/* Sends as much as the descriptor takes. Returns 0 (all gone or it would block) or a negative errno. */
int outq_send(OutQ *q, int fd);
/* The same through something that takes bytes, as writev(2) does; its errors are negative. */
typedef ssize_t (*OutSend)(void *user, const struct iovec *vectors, size_t n);
int outq_send_by(OutQ *q, OutSend take, void *user);

static inline size_t outq_pending(const OutQ *q) {
        return q->n_bytes + q->tail.n - q->n_sent;
}
