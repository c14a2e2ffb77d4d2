#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * PtyInput: what a viewer over the web or a tunnel types, on its way to the terminal, through coop's input filter where that holds
 * (sessions/input-filter.h). What the filter holds is passed on when nothing follows it for INPUT_FILTER_HOLD_MS, or when the viewer goes.
 * Embedded in its owner.
 */
#include "sessions/input-filter.h"
#include "sessions/pty-stream.h"

typedef struct PtyInput {
        PtyStream *stream;
        InputFilter *filter; /* NULL: all is passed on */
        Timer hold;
        void (*say)(PtyStream *stream, Str text); /* what the filter has to say, in bytes of a terminal */
} PtyInput;

/* The filter holds at terminal 0 of a session, if is_filtered. 0 or -ENOMEM. */
int pty_input_init(PtyInput *input, PtyStream *stream, const PtyTarget *target, bool is_filtered,
                   void (*say)(PtyStream *stream, Str text));
void pty_input_deinit(PtyInput *input); /* before the stream's */
/* Whether anything of it was passed on. */
bool pty_input_push(PtyInput *input, Str message);
