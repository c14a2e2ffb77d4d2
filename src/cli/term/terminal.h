#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Terminal: stdin and stdout while a hosted terminal is shown on them. Raw mode and back, the window's size,
 * and what has to be undone at the end.
 *
 * Where they are terminals they are opened anew, so that they never block us and whoever shares them does
 * not notice. Either may be something else: then there is no raw mode, and bytes just pass. If the program
 * crashes in raw mode, a last resort puts the terminal right. Owned by the command; there is one.
 */
#include <stdbool.h>
#include <termios.h>

#include "cli/term/undo.h"

typedef struct Terminal {
        int in, out;
        bool has_in, has_out; /* stdin, stdout is a terminal */
        bool is_raw, is_shown;
        struct termios before;
        Modes modes; /* fed by whoever writes to `out` */
} Terminal;

void terminal_open(Terminal *terminal);
/* Puts everything right first. */
void terminal_close(Terminal *terminal);
int terminal_raw(Terminal *terminal);
/* Undoes what programs did to the screen and leaves raw mode. Waits for a slow terminal, but not for ever.
 */
void terminal_restore(Terminal *terminal);
/* False, and zeros, when none of the two is a terminal that knows. */
bool terminal_size(unsigned *ret_cols, unsigned *ret_rows);
