#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Spool: a JSON text in the making that may become long. Its writer fills a buffer; whenever that has SPOOL_MEMORY
 * bytes, between two values, they go to a file without a name. So memory is bounded by the longest value, and a text
 * that waits for a slow reader holds none.
 *
 * Not for what must survive: the file goes with its descriptor, and nothing is synced. Made and read by workers;
 * owned by whoever embeds it.
 */
#include <stdint.h>

#include "base/json/json-writer.h"

enum {
        SPOOL_MEMORY_BYTES = 1 << 20,  /* of a text in memory: then they go to a file */
        SPOOL_PIECE_BYTES = 256 << 10, /* of a file, read at a time */
        SPOOL_GIB_MAX = 4,             /* of one text: more fails what makes it */
};

typedef struct Spool {
        JsonWriter w;       /* what writes it */
        Buf text;           /* not in the file yet */
        int fd;             /* -1: it was never long */
        uint64_t n_kept;    /* bytes in the file */
        const char *folder; /* where the file is made; the caller's */
        int r;              /* the first failure */
} Spool;

void spool_init(Spool *spool, const char *folder);
void spool_deinit(Spool *spool);
/* So many bytes will come, as far as is known: their room is made once. */
void spool_expect(Spool *spool, uint64_t n);
/* Nothing more comes: a long text is in its file as a whole. 0, or what went wrong while it was made: -ENOMEM,
 * -EFBIG, -ENOSPC … */
int spool_end(Spool *spool);
/* The values of another one behind those that stand here, as they are: in the same array. */
void spool_take(Spool *spool, const Spool *other);
/* The next piece of one that is in a file; `at` is moved on. Nothing is left: out stays as it is. */
int spool_read(const Spool *spool, uint64_t *at, Buf *out);
