#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Printer: output of a hosted program on its way to stdout or stderr: as it is, or as plain text.
 *
 * On a terminal, what it would answer is left out, and so are its clipboard and title (unless is_raw); at
 * the end what was done to it is undone and its line ended; so printing an old log neither types into the
 * shell nor leaves it in colours. Anywhere else each byte passes. Owned by the command.
 */
#include <stdio.h>

#include "cli/term/undo.h"
#include "cli/term/queries.h"
#include "core/term/ansi.h"

typedef struct Printer {
        FILE *out;
        bool is_stripped;
        bool is_terminal;
        bool is_raw;         /* asked for: each byte passes */
        bool is_inside_line; /* the last character was no line break */
        bool has_stamps;     /* a time before each line; with is_stripped only */
        bool is_past;        /* … or a dash: when this was printed is not known */
        AnsiState ansi;
        Queries queries;
        Modes modes;
        Buf text;
} Printer;

void printer_init(Printer *printer, FILE *out, bool is_stripped);
void printer_deinit(Printer *printer);
/* Writes and flushes; false: `out` takes no more, or no memory. */
bool printer_put(Printer *printer, Str output);
/* No more comes. */
bool printer_end(Printer *printer);
