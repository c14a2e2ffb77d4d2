#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Chunk: immutable bytes shared by many output queues. Made once, counted, freed with its last reference.
 * One thread.
 */
#include "base/str.h"

typedef struct Chunk {
        unsigned n_refs;
        size_t n;
        char data[];
} Chunk;

Chunk *chunk_new(Str content); /* one reference; NULL without memory */
Chunk *chunk_ref(Chunk *chunk);
Chunk *chunk_unref(Chunk *chunk); /* NULL is fine; returns NULL */
