/* SPDX-License-Identifier: MIT */
#include "cli/term/queue.h"

#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "base/macro.h"

enum { MOVE_AT = 64 * 1024 }; /* the written front is worth moving the rest for */

void queue_deinit(Queue *queue) {
        buf_deinit(&queue->bytes);
        queue->at = 0;
}

Buf *queue_room(Queue *queue) {
        if (queue->at >= MOVE_AT) {
                buf_consume(&queue->bytes, queue->at);
                queue->at = 0;
        }
        return &queue->bytes;
}

int queue_write(Queue *queue, int fd, size_t n_max) {
        ssize_t n;

        if (!queue_pending(queue))
                return 0;
        do
                n = write(fd, queue->bytes.data + queue->at, MIN(queue_pending(queue), n_max));
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return errno == EAGAIN ? 0 : error_origin(-errno);
        queue->at += (size_t)n;
        if (!queue_pending(queue))
                queue->bytes.n = queue->at = 0;
        return 0;
}
