#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Queue: bytes on their way to a descriptor that takes them as it likes. It has no bound of its own: whoever
 * fills it looks at queue_pending() first and stops reading its source when there is enough. Owned by
 * whoever embeds it; QUEUE_NULL is a valid empty one.
 */
#include "base/buf.h"

typedef struct Queue {
        Buf bytes;
        size_t at; /* front that has been written */
} Queue;

#define QUEUE_NULL ((Queue){0})

void queue_deinit(Queue *queue);
/* For who writes into the buffer itself (behind what is there). */
Buf *queue_room(Queue *queue);
/*
 * Writes what the descriptor takes now; 0 also when it takes nothing. One that blocks takes QUEUE_PIPE bytes
 * without blocking once poll() said that it is writable, so that is n_max for those. SIGPIPE is the
 * caller's.
 */
enum { QUEUE_PIPE = 4096, QUEUE_ANY = 256 * 1024 };
int queue_write(Queue *queue, int fd, size_t n_max);

static inline size_t queue_pending(const Queue *queue) {
        return queue->bytes.n - queue->at;
}
