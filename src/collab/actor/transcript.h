#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Transcript: what a terminal printed, as text for agents and people to read: the lines as they ended up
 * after all moving and erasing, with those that scrolled away.
 *
 * Not Screen: that one models a window exactly and forgets what leaves it; this one keeps all lines, knows
 * the common movements only, and has no colours. The window is the last n_rows lines. Pure; any thread.
 */
#include "base/buf.h"

typedef struct TranscriptOptions {
        unsigned n_rows;  /* of the window that absolute positions mean */
        bool is_compact;  /* repeated lines and blocks once */
        size_t max_chars; /* the last so many characters; 0: all */
} TranscriptOptions;

/* Appends the text. */
int transcript_render(Str bytes, const TranscriptOptions *options, Buf *out);
/* The last max_chars characters; bytes that are no UTF-8 are replaced. */
int transcript_raw(Str bytes, size_t max_chars, Buf *out);
/* How much of the end it looks at. */
size_t transcript_raw_bytes(size_t max_chars);
