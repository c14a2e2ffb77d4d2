#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * OutQ: what one connection still has to send: a list of shared chunks and owned buffers, and a tail that
 * replies are written into directly. Order is kept. It knows no descriptor policy: bounds and their
 * consequences are the Conn's.
 */
#include "base/buf.h"
#include "wire/chunk.h"

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
} OutQ;

void outq_deinit(OutQ *q);
int outq_push_chunk(OutQ *q, Chunk *chunk); /* takes a reference of its own */
/* Sends as much as the descriptor takes. Returns 0 (all gone or it would block) or a negative errno. */
int outq_send(OutQ *q, int fd);

static inline size_t outq_pending(const OutQ *q) {
        return q->n_bytes + q->tail.n - q->n_sent;
}
