#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Reads recordings of a terminal in the asciicast v2 format; core/recording/cast.h writes them and says what
 * they look like.
 */
#include <stdint.h>
#include <stdio.h>

#include "core/recording/cast.h"
#include "base/json/json.h"

typedef struct CastReader {
        FILE *in;
        char *line;
        size_t n_line;
        unsigned number; /* of the line, from 1 */
        Arena arena;
        char why[128]; /* CAST_E_WRONG: for people */
} CastReader;

typedef struct CastEvent {
        double seconds; /* since the beginning */
        char kind;
        Str text; /* until the next call */
} CastEvent;

enum { _CAST_E_SUCCESS, CAST_E_END, CAST_E_WRONG };

void cast_deinit(CastReader *cast);
/* The title may be NULL and is there until the next call. max_idle_s: the recording's own; < 0: none.
 * Condition: CAST_E_WRONG. */
int cast_read_header(CastReader *cast, CastHeader *ret, double *ret_max_idle_s);
/* Conditions: CAST_E_END, CAST_E_WRONG. */
int cast_read_event(CastReader *cast, CastEvent *ret);
