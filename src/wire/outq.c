/* SPDX-License-Identifier: MIT */
#include "wire/outq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/macro.h"

Chunk *chunk_new(Str content) {
        Chunk *chunk = malloc(sizeof(*chunk) + content.n);

        if (!chunk)
                return NULL;
        chunk->n_refs = 1;
        chunk->n = content.n;
        if (content.n)
                memcpy(chunk->data, content.data, content.n);
        return chunk;
}

Chunk *chunk_ref(Chunk *chunk) {
        chunk->n_refs++;
        return chunk;
}

Chunk *chunk_unref(Chunk *chunk) {
        if (chunk && --chunk->n_refs == 0)
                free(chunk);
        return NULL;
}

enum {
        OUTQ_VECTORS = 64,
        OUTQ_TAIL_KEEP = 16 * 1024, /* an idle connection holds no larger tail than this */
};

static Str segment_str(const OutSegment *segment) {
        return segment->chunk ? (Str){segment->chunk->data, segment->chunk->n} : buf_str(&segment->owned);
}

static void segment_deinit(const OutQ *q, OutSegment *segment) {
        chunk_unref(segment->chunk);
        (q->wipes ? buf_wipe : buf_deinit)(&segment->owned);
}

void outq_deinit(OutQ *q) {
        for (size_t i = 0; i < q->n; i++)
                segment_deinit(q, &q->segments[q->first + i]);
        free(q->segments);
        (q->wipes ? buf_wipe : buf_deinit)(&q->tail);
        *q = (OutQ){0};
}

/* Room for n more segments at the end of the array. */
static int outq_reserve(OutQ *q, size_t n) {
        OutSegment *segments;
        size_t cap;

        if (q->first + q->n + n <= q->cap)
                return 0;
        if (q->first) {
                memmove(q->segments, q->segments + q->first, q->n * sizeof(*q->segments));
                q->first = 0;
                if (q->n + n <= q->cap)
                        return 0;
        }
        cap = MAX(q->cap * 2, q->n + n + 6);
        segments = realloc(q->segments, cap * sizeof(*segments));
        if (!segments)
                return error_origin(-ENOMEM);
        q->segments = segments;
        q->cap = cap;
        return 0;
}

static int outq_push(OutQ *q, OutSegment segment) {
        int r = outq_reserve(q, 2);

        if (r)
                return error_trace(r);
        if (q->tail.n) { /* what was written before stays before it */
                q->segments[q->first + q->n++] = (OutSegment){.owned = q->tail};
                q->n_bytes += q->tail.n;
                q->tail = BUF_NULL;
        }
        q->segments[q->first + q->n++] = segment;
        q->n_bytes += segment_str(&segment).n;
        return 0;
}

int outq_push_chunk(OutQ *q, Chunk *chunk) {
        int r = outq_push(q, (OutSegment){.chunk = chunk});

        if (!r)
                chunk_ref(chunk);
        return error_trace(r);
}

int outq_push_buf(OutQ *q, Buf *bytes) {
        int r = bytes->n ? outq_push(q, (OutSegment){.owned = *bytes}) : 0;

        if (bytes->n && !r)
                *bytes = BUF_NULL;
        return error_trace(r);
}

static size_t fill_vectors(const OutQ *q, struct iovec vectors[OUTQ_VECTORS]) {
        size_t n = 0, skip = q->n_sent;

        for (size_t i = 0; i < q->n && n < OUTQ_VECTORS; i++) {
                Str s = segment_str(&q->segments[q->first + i]);
                vectors[n++] = (struct iovec){(char *)s.data + skip, s.n - skip};
                skip = 0;
        }
        if (n < OUTQ_VECTORS && q->tail.n > skip)
                vectors[n++] = (struct iovec){q->tail.data + skip, q->tail.n - skip};
        return n;
}

static void sent(OutQ *q, size_t n) {
        q->n_sent += n;
        while (q->n) {
                OutSegment *front = &q->segments[q->first];
                size_t front_n = segment_str(front).n;
                if (q->n_sent < front_n)
                        return;
                q->n_sent -= front_n;
                q->n_bytes -= front_n;
                segment_deinit(q, front);
                q->first++;
                q->n--;
        }
        q->first = 0;
        if (q->n_sent == q->tail.n) {
                if (q->wipes && q->tail.n)
                        explicit_bzero(q->tail.data, q->tail.n);
                q->tail.n = q->n_sent = 0;
                if (q->tail.cap > OUTQ_TAIL_KEEP)
                        buf_deinit(&q->tail);
        }
}

static ssize_t send_vectors(int fd, struct iovec *vectors, size_t n) {
        struct msghdr message = {.msg_iov = vectors, .msg_iovlen = n};
        ssize_t k;

        if (n == 1)
                k = send(fd, vectors[0].iov_base, vectors[0].iov_len, MSG_NOSIGNAL);
        else
                k = sendmsg(fd, &message, MSG_NOSIGNAL);
        if (k < 0 && errno == ENOTSOCK) /* stdio; SIGPIPE is ignored in every program of ours */
                k = writev(fd, vectors, (int)n);
        return k;
}

int outq_send(OutQ *q, int fd) {
        struct iovec vectors[OUTQ_VECTORS];

        while (outq_pending(q)) {
                ssize_t k = send_vectors(fd, vectors, fill_vectors(q, vectors));
                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return errno == EAGAIN ? 0 : error_origin(-errno);
                sent(q, (size_t)k);
        }
        return 0;
}

int outq_send_by(OutQ *q, OutSend take, void *user) {
        struct iovec vectors[OUTQ_VECTORS];

        while (outq_pending(q)) {
                ssize_t k = take(user, vectors, fill_vectors(q, vectors));
                if (k < 0)
                        return k == -EAGAIN ? 0 : error_origin((int)k);
                sent(q, (size_t)k);
        }
        return 0;
}
