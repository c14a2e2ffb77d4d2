#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * WsInput: what a viewer over the web types, on its way to the terminal, through coop's input filter where that holds
 * (sessions/input-filter.h). What the filter holds is passed on when nothing follows it for INPUT_FILTER_HOLD_MS, or when the viewer goes.
 * Embedded in its owner.
 */
#include "sessions/input-filter.h"
#include "sessions/pty-stream.h"

typedef struct WsInput {
        PtyStream *stream;
        InputFilter *filter; /* NULL: all is passed on */
        Timer hold;
        void (*say)(PtyStream *stream, Str text); /* what the filter has to say, in bytes of a terminal */
} WsInput;

/* The filter holds at terminal 0 of a session, if is_filtered. 0 or -ENOMEM. */
int ws_input_init(WsInput *input, PtyStream *stream, const PtyTarget *target, bool is_filtered,
                  void (*say)(PtyStream *stream, Str text));
void ws_input_deinit(WsInput *input); /* before the stream's */
/* Whether anything of it was passed on. */
bool ws_input_push(WsInput *input, Str message);
