#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Queries: takes out of a hosted program's output what must not reach the person's own terminal.
 *
 * Old output: what a terminal would answer. A program that asked for the cursor's place or for colours got
 * its answer when it ran; shown again, the question would be answered a second time, and the answer typed
 * into whatever reads the keyboard now. Printed for good (logs), it does not name the window either, since
 * nobody would put that back; and what the person had on the screen is not lost: the first time that the
 * screen is cleared it is moved up, out of sight, and the terminal's memory of past lines is never cleared.
 *
 * Any output, also what is live: the clipboard (OSC 52, read or written), reports of the title, and the C1
 * controls in either spelling, which some terminals obey and the parser does not follow. However the stream
 * is cut, the same is left of it.
 */
#include "core/term/vt.h"

typedef enum QueriesUse {
        QUERIES_PAST,  /* drawn again, before what is live */
        QUERIES_PRINT, /* printed, and no program is there afterwards */
        QUERIES_LIVE,  /* the program waits for its answers, and gets them */
} QueriesUse;

typedef struct Queries {
        VtParser vt;     /* VT_NULL is all zeros */
        Buf held;        /* a sequence that is not complete yet */
        size_t n_broken; /* so much of it is taken out, should what follows ESC not end its string */
        QueriesUse use;
        bool is_dropped; /* the open sequence is too long to hold, and goes nowhere */
        bool has_moved;  /* what the person had on the screen */
        uint8_t n_tail;  /* so many bytes of a character are to come */
        char lead;       /* C2, which waits for the next byte to say what it is; or 0 */
} Queries;

void queries_deinit(Queries *queries);
/* Appends input to out without what is taken out. */
int queries_drop(Queries *queries, Str input, Buf *out);
/* There is no more of it: what is held goes out as it is, unless it would have been taken out. */
int queries_end(Queries *queries, Buf *out);
