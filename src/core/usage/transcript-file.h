#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * TranscriptFile: a transcript that grows, read on from where the last reading ended. For workers: everything here blocks.
 *
 * Half a line at the end is left for the next time. A file that was cut, replaced, or written anew in place is read from its beginning: who
 * takes the items knows what was told already. Only a regular file of our own user is read, and no link in its place; holes of a sparse file
 * are stepped over. Owned by the UsageBook, which lends it to one worker at a time.
 */
#include "base/buf.h"
#include "core/usage/transcript.h"

enum {
        TRANSCRIPT_BLOCK = 64 << 10, /* bytes that are read at once */
        TRANSCRIPT_ITEMS_MAX = 4096, /* of one reading; the rest is of the next */
        TRANSCRIPT_TAIL = 64 << 10,  /* bytes of its last lines that are told */
        TRANSCRIPT_MARK = 64,        /* bytes before the place, by which it is known again */
};

enum {
        _TRANSCRIPT_E_SUCCESS,
        TRANSCRIPT_E_MISSING, /* there is no such file */
        TRANSCRIPT_E_REFUSED, /* a link, no regular file, somebody else's, or a path that is none */
        TRANSCRIPT_E_MORE,    /* it is to be called again */
};

typedef struct TranscriptFile {
        char *path;
        Transcript reader;
        bool is_document; /* by its name */
        bool is_skipping; /* in a line that is too long */
        uint64_t dev, ino, offset, size;
        uint64_t mark;      /* of the bytes before offset */
        uint64_t n_skipped; /* lines that were too long */
} TranscriptFile;

/* Whether this can be a path of one: absolute, without "..", and .jsonl or .json. */
bool transcript_file_is_path(Str path);
void transcript_file_init(TranscriptFile *file, char *path, TranscriptForm form); /* takes path */
void transcript_file_deinit(TranscriptFile *file);
/* The last lines before the place, the first perhaps without its beginning; of a document nothing. */
int transcript_file_tail(const TranscriptFile *file, Buf *out);
/* 0: all that is there was read. */
int transcript_file_read(TranscriptFile *file, TranscriptFn fn, void *user);
