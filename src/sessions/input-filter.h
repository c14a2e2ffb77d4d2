#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * InputFilter: what somebody at a web page types at an agent, without what would end the agent by mistake: Ctrl+D,
 * Ctrl+\, `exit`, `/exit` and `quit` at the end of a line, the block_sequences of the coopfile, and a Ctrl+C right behind another.
 * A convenience of the contract, not a border: who types slowly enough gets through, and clients of the socket are not asked.
 *
 * Matches are found across messages. Bytes that may begin one are held; those before it are passed on, in their order. Whoever owns the filter calls
 * input_filter_flush() when it holds something and INPUT_FILTER_HOLD_MS have passed without input, and before the viewer goes. One that matched
 * says so to the viewer, once for each message that matches.
 *
 * A pure state machine: the caller has the clock and the timer. One for each viewer of PTY 0, owned by that viewer.
 */
#include "base/buf.h"
#include "sessions/coopfile/coopfile.h"

typedef struct InputFilter InputFilter;

enum { INPUT_FILTER_HOLD_MS = 500 };

/* By [input_filter] of a coopfile, which is copied. 0 or -ENOMEM. */
int input_filter_new(InputFilter **ret, const Coopfile *config);
InputFilter *input_filter_free(InputFilter *filter);
void input_filter_freep(InputFilter **filter);

/* One message. Appends to pass what is for the program, and to say what is for the viewer, in bytes of a terminal. 0 or -ENOMEM. */
int input_filter_push(InputFilter *filter, int64_t now_ms, Str message, Buf *pass, Buf *say);
bool input_filter_holds(const InputFilter *filter);
/* What is held is innocent: appends it to pass. 0 or -ENOMEM, and it is still held. */
int input_filter_flush(InputFilter *filter, Buf *pass);
