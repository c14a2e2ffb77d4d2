/* SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

struct ArenaChunk {
        ArenaChunk *older;
        size_t n;
        char data[] __attribute__((aligned(8)));
};

void arena_deinit(Arena *arena) {
        while (arena->head) {
                ArenaChunk *older = arena->head->older;
                free(arena->head);
                arena->head = older;
        }
        *arena = ARENA_NULL;
}

static void arena_zero(Arena *arena) {
        char *end = arena->at; /* of the newest; the older ones are full */

        for (ArenaChunk *chunk = arena->head; chunk; chunk = chunk->older) {
                explicit_bzero(chunk->data, end ? (size_t)(end - chunk->data) : chunk->n);
                end = NULL;
        }
}

void arena_wipe(Arena *arena) {
        arena_zero(arena);
        arena_deinit(arena);
}

void arena_reset(Arena *arena) {
        ArenaChunk *keep = arena->head;

        if (!keep)
                return;
        if (keep->older || keep->n > ARENA_KEEP) {
                /* Keep the newest chunk, which is the largest, unless one message made it huge. */
                while (keep->older) {
                        ArenaChunk *older = keep->older;
                        keep->older = older->older;
                        free(older);
                }
                if (keep->n > ARENA_KEEP) {
                        free(keep);
                        *arena = ARENA_NULL;
                        return;
                }
                arena->n_total = keep->n;
        }
        arena->at = keep->data;
        arena->end = keep->data + keep->n;
}

void arena_reset_wiping(Arena *arena) {
        arena_zero(arena);
        arena_reset(arena);
}

void *arena_grow(Arena *arena, size_t n) {
        size_t want = arena->head ? arena->head->n * 2 : ARENA_FIRST - sizeof(ArenaChunk);
        ArenaChunk *chunk;

        if (!n || n > SIZE_MAX / 2) /* 0: rounding it up wrapped around */
                return NULL;
        want = MIN(want, (size_t)1 << 20);
        want = MAX(want, n);
        chunk = malloc(sizeof(*chunk) + want);
        if (!chunk)
                return NULL;
        chunk->older = arena->head;
        chunk->n = want;
        arena->head = chunk;
        arena->n_total += want;
        arena->at = chunk->data + n;
        arena->end = chunk->data + want;
        return chunk->data;
}

Str arena_str(Arena *arena, Str s) {
        char *p = arena_alloc(arena, s.n + 1);

        if (!p)
                return STR_NULL;
        if (s.n)
                memcpy(p, s.data, s.n);
        p[s.n] = 0;
        return (Str){p, s.n};
}

Str arena_printf(Arena *arena, const char *format, ...) {
        va_list ap;
        char *p;
        int n;

        va_start(ap, format);
        n = vsnprintf(NULL, 0, format, ap);
        va_end(ap);
        p = n < 0 ? NULL : arena_alloc(arena, (size_t)n + 1);
        if (!p)
                return STR_NULL;
        va_start(ap, format);
        vsnprintf(p, (size_t)n + 1, format, ap);
        va_end(ap);
        return (Str){p, (size_t)n};
}
