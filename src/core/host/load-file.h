#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The files of load.h: a header, then LOAD_RECORDS places. Everything here blocks: for workers. What cannot be one of ours
 * is made anew.
 */
#include <stddef.h>
#include <stdint.h>

typedef struct LoadRecord {
        uint64_t id;
        uint32_t at_s; /* since 1970: the end of what it is about */
        uint32_t cpu_ms, rss_kb, n_bytes;
} LoadRecord;
_Static_assert(sizeof(LoadRecord) == 24, "as it is in the files");

/* 0 or negative. */
int load_file_append(const char *path, const LoadRecord *records, size_t n);
/* All of them, the oldest first; malloc'd. A file that is not there has none. */
int load_file_read(const char *path, LoadRecord **ret, size_t *ret_n);
