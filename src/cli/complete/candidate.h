#pragma once
/* SPDX-License-Identifier: MIT */
/* One candidate of a completion as a line on stdout; complete.h has the form. */
#include "base/str.h"

/* Prints the name, with what it is, when it goes on from what is written of the word so far. */
void candidate_put(const char *current, Str name, Str summary);
/* Several, with blanks between. */
void candidate_put_words(const char *current, const char *words);
