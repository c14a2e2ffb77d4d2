#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The shelf: the recordings of one daemon as files, those of processes that are long gone as well. Each has an id, the
 * name of its file without .cast; nothing else is ever made a path of. Everything here may block: for workers.
 */
#include "base/arena.h"
#include "base/buf.h"

enum {
        SHELF_ID_MAX = 128,
        SHELF_READ_MAX = 1 << 20, /* bytes of one answer */
};

typedef struct ShelfItem {
        char *id;
        Str title; /* of the recording: the name of what was recorded */
        int64_t started_s;
        int64_t ms; /* up to its last event */
        uint64_t n_bytes;
} ShelfItem;

/* All of them, by id; texts are in the arena. 0 or negative. */
int shelf_list(const char *home, Arena *arena, ShelfItem **ret, size_t *ret_n);
bool shelf_is_id(Str id);
char *shelf_path(const char *home, Str id); /* NULL: no id, or no memory */
/* Appends at most n bytes from an offset on; *ret_n_all: of the whole file. -ENOENT: there is none. */
int shelf_read(const char *path, uint64_t offset, size_t n, Buf *out, uint64_t *ret_n_all);
