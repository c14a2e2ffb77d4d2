#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Colours of states: green is well, yellow waits, red wants somebody to look, dim is over. Only for people:
 * on a terminal that is not `dumb`, unless NO_COLOR has a value; MUSTER_COLOR=always or never has the last
 * word. What is coloured is readable without.
 */
#include <stdio.h>

#include "base/str.h"

/* Whether what goes to this stream is coloured. */
bool colour_is_wanted(FILE *out);
/* The sequence for a state as tables show it, by its first word; "" when it has no colour. */
const char *colour_of_state(Str state);
/* What ends it. */
extern const char colour_end[];
/* The state as text_put() puts it, coloured where that is wanted. */
void colour_put_state(FILE *out, Str state);
