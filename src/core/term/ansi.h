#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Terminal output as text: what a person would read, without controls and escape sequences.
 *
 * Lines keep everything that was printed on them; nothing is moved, erased or overwritten (that is Screen).
 * UTF-8 passes, and so do ill-formed bytes; C1 controls do not, in either spelling a terminal would obey.
 */
#include <stdint.h>

#include "base/buf.h"

/* Where in a sequence the stream stands; ANSI_NULL at its beginning. */
typedef struct AnsiState {
        uint8_t vt;    /* VtState */
        bool has_lead; /* C2 has come, and what follows decides */
} AnsiState;

#define ANSI_NULL ((AnsiState){0})

/* Appends the text of in: printable characters, LF and TAB. However the stream is cut, the text is the same;
 * a lead byte C2 at the end of in waits in the state for the next call. */
int ansi_strip(Buf *out, Str in, AnsiState *state);
