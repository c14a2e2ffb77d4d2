#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Text that goes on in the next line at the same column, broken between words where that is possible.
 */
#include <stdio.h>

#include "base/str.h"

/* The cursor stands at n_indent. A newline ends it. n_cols 0: it is not broken. Control characters are shown
 * as `?`. */
void text_wrap(FILE *out, Str text, size_t n_indent, size_t n_cols);

/* `Usage: muster NAME …` at 80 columns, broken between what stands in brackets. */
void usage_put(FILE *out, const char *name, const char *usage);

/* The help of a command at 80 columns: lines of a paragraph, and of what is said of an option, are put
 * together and broken anew. */
void help_put(FILE *out, const char *text);
