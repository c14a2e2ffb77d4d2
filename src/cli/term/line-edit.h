#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * LineEdit: one line as it is typed at a terminal in raw mode: characters, the usual keys, and the lines
 * before it.
 *
 * It knows no terminal and does not read: bytes go in, events come out, and line_edit_draw() says how the
 * line looks now; so the command can wait for other things meanwhile. A line that is longer than the
 * terminal is wide is shown in part, around the cursor. Owned by the command. Why not libedit:
 * docs/decisions/0032-line-editing.md.
 */
#include <stdio.h>

#include "base/buf.h"

enum { LINE_HISTORY = 100 };

typedef enum LineEvent {
        LINE_MORE,      /* go on */
        LINE_DONE,      /* Enter: text is the line */
        LINE_INTERRUPT, /* Ctrl+C */
        LINE_END,       /* Ctrl+D on an empty line */
} LineEvent;

typedef struct LineEdit {
        Buf text;
        size_t at;                 /* of the cursor in text, between characters */
        Buf history[LINE_HISTORY]; /* oldest first */
        size_t n_history, chosen;  /* chosen == n_history: the new line */
        Buf draft;                 /* the new line while an older one is shown */
        char keys[8];              /* of a key's sequence that is not complete */
        size_t n_keys;
        bool is_pasting; /* the terminal says so (line_edit_mark_pastes): all of it is text */
        bool has_return; /* the last byte of the paste was CR: a LF behind it is the same end of a line */
} LineEdit;

void line_edit_deinit(LineEdit *line);
LineEvent line_edit_byte(LineEdit *line, char byte);
/* Remembers the line and begins a new one. */
void line_edit_next(LineEdit *line);
/* Bytes that show prompt and line on a terminal of so many columns (0: endless), and put the cursor in its
 * place. */
int line_edit_draw(const LineEdit *line, const char *prompt, size_t n_columns, Buf *out);
/* The same, into a file; not at all without memory. */
void line_edit_show(const LineEdit *line, const char *prompt, size_t n_columns, FILE *file);
/* Has the terminal behind a file mark what is pasted, or not any more: a paste of several lines is one line
 * here then, with \n in it. */
void line_edit_mark_pastes(FILE *file, bool on);
