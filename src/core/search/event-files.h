#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * EventFiles: events that were kept, found in files of JSON lines (ledgers of groups, histories of tasks) and among texts
 * in memory, the youngest first. Files are read from their end, without an index and without a lock: a line that is being
 * written is passed over. One search, filled on the loop, run by a worker, read on the loop.
 *
 * A line is an object with ts and kind. Bounds: EVENTS_BYTES of files, the time of the Query, lines of EVENTS_LINE_MAX;
 * is_cut says that one of them was reached. What stands in an environment (`env`) is not looked at: it may be a secret.
 */
#include "core/search/query.h"
#include "wire/outq.h"

enum {
        EVENTS_BYTES = 256 << 20,
        EVENTS_BLOCK = 256 << 10,    /* read at once */
        EVENTS_LINE_MAX = 4 << 20,   /* a longer one is passed over */
        EVENTS_SHOWN_MAX = 64 << 10, /* of a hit: a longer one is told without it */
        EVENTS_FILES_MAX = 4096,
};

/* Where a page ends: what is older comes next. number: of the feed; of files 0. */
typedef struct EventPlace {
        int64_t ts_us;
        uint64_t number;
} EventPlace;

typedef struct EventHit {
        EventPlace place;
        const char *domain;
        char *owner, *kind;
        char *line; /* JSON; NULL: it is too long to be shown */
        char *part; /* of the text that fits */
} EventHit;

typedef struct EventFile {
        const char *domain; /* lives as long as the program */
        char *owner, *path;
        int64_t changed_us;
} EventFile;

/* A text in memory: an item of the feed. */
typedef struct EventText {
        EventPlace place;
        char domain[16];
        char *owner, *kind;
        Chunk *text; /* a reference; NULL: none */
} EventText;

typedef struct EventFiles {
        Query query;
        Str kind; /* empty: any; of the caller */
        EventPlace before;
        size_t n_limit;
        EventFile *files;
        size_t n_files, n_files_max;
        char *folder; /* each folder in it has a file of that name: more files, found by the worker; NULL: none */
        const char *folder_domain, *folder_file;
        EventText *texts;
        size_t n_texts;

        EventHit *hits; /* out: the youngest first */
        size_t n_hits;
        uint64_t n_searched;
        bool is_cut;
        bool is_over; /* private: a bound was reached */
        int r;
} EventFiles;

int event_files_add(EventFiles *files, const char *domain, Str owner, Str path); /* copied */
void event_files_run(EventFiles *self);                                          /* on a worker */
void event_files_deinit(EventFiles *self);                                       /* on the loop */
