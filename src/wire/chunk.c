/* SPDX-License-Identifier: MIT */
#include "wire/chunk.h"

#include <stdlib.h>

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
