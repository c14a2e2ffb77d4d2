#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * How many columns a character takes on a terminal: none when it combines with the one before it, two when
 * it is East Asian and wide or a picture, else one. It does not ask the terminal but the C library, which
 * main() has told to use UTF-8, whatever the locale of the environment (docs/decisions/0034-widths.md).
 */
#include "base/str.h"

/* character: one, in UTF-8. What is no UTF-8 takes one, and is to be shown as `?`. */
size_t columns_of(Str character);
size_t columns_of_text(Str text);
/* So much of text as fits into so many columns. */
Str columns_first(Str text, size_t n_columns);
