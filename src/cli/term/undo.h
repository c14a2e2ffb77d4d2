#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Undo: the text that gives a terminal back to its owner, whatever a program did to it.
 *
 * Most of it is harmless where it is not needed and always there. Leaving an alternate screen that was never
 * entered moves the cursor, and some sequences mean something else to old terminals: those come only when
 * the modes say so.
 */
#include "core/term/modes.h"

/* The modes are fresh afterwards. */
int undo_append(Buf *out, Modes *modes);
