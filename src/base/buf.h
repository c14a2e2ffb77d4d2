#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Buf: a growing run of owned bytes. Not a string: it may hold NULs and has no terminator unless asked for.
 * Owned by whoever embeds it; BUF_NULL is a valid empty one.
 */
#include <stdbool.h>

#include "base/str.h"

typedef struct Buf {
        char *data;
        size_t n;
        size_t cap;
} Buf;

#define BUF_NULL ((Buf){0})

void buf_deinit(Buf *buf);
/* For what may hold secrets: deinit, and more room, that leave nothing of it in memory that was given back. */
void buf_wipe(Buf *buf);
int buf_reserve_wiping(Buf *buf, size_t n);
/* Room for n more bytes behind the content. Returns 0 or -ENOMEM. */
int buf_reserve_slow(Buf *buf, size_t n);
int buf_append(Buf *buf, const void *data, size_t n);
int buf_printf(Buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Drops n bytes at the front. */
void buf_consume(Buf *buf, size_t n);
/* A NUL behind the content (not counted); NULL without memory. */
const char *buf_cstr(Buf *buf);

static inline int buf_reserve(Buf *buf, size_t n) {
        return __builtin_expect(buf->cap - buf->n >= n, 1) ? 0 : buf_reserve_slow(buf, n);
}

static inline int buf_append_str(Buf *buf, Str s) {
        return buf_append(buf, s.data, s.n);
}

static inline Str buf_str(const Buf *buf) {
        return (Str){buf->data, buf->n};
}
