#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Queries: takes out of old output what a terminal would answer. A program that asked for the cursor's place
 * or for colours got its answer when it ran; shown again, the question would be answered a second time, and
 * the answer typed into whatever reads the keyboard now.
 */
#include "core/host/vt.h"

typedef struct Queries {
        VtParser vt; /* VT_NULL is all zeros */
        Buf held;    /* a sequence that is not complete yet */
} Queries;

void queries_deinit(Queries *queries);
/* Appends input to out without its queries. */
int queries_drop(Queries *queries, Str input, Buf *out);
/* There is no more old output: what is held goes out as it is. */
int queries_end(Queries *queries, Buf *out);
