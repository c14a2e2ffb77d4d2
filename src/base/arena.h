#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Arena: memory that is given out in small pieces and taken back all at once.
 *
 * Pieces are 8-byte aligned and live until arena_reset() or arena_deinit(). A reset keeps one chunk (up to
 * ARENA_KEEP bytes) so that a steady stream of messages allocates nothing. Owned by whoever embeds it.
 */
#include "base/str.h"

typedef struct ArenaChunk ArenaChunk;
typedef struct Arena {
        ArenaChunk *head; /* chunk being filled, linked to the older ones */
        char *at;         /* next free byte in it */
        char *end;
        size_t n_total; /* bytes held in all chunks */
} Arena;

#define ARENA_NULL ((Arena){0})
enum { ARENA_FIRST = 4096, ARENA_KEEP = 64 * 1024 };

void arena_deinit(Arena *arena);
void arena_reset(Arena *arena);
void arena_wipe(Arena *arena); /* deinit, and what was in it is in no memory any more: it held secrets */
void arena_reset_wiping(Arena *arena);    /* the same with a reset */
void *arena_grow(Arena *arena, size_t n); /* slow path of arena_alloc(); NULL without memory */

static inline void *arena_alloc(Arena *arena, size_t n) {
        n = (n + 7 + !n) & ~(size_t)7; /* 0 bytes have an address, too; 0 now: it wrapped around */
        if (__builtin_expect(n - 1 >= (size_t)(arena->end - arena->at), 0))
                return arena_grow(arena, n);
        void *p = arena->at;
        arena->at += n;
        return p;
}

/* A copy with a NUL behind it; data is NULL only without memory. */
Str arena_str(Arena *arena, Str s);
/* printf into the arena, NUL-terminated; data is NULL only without memory. */
Str arena_printf(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
