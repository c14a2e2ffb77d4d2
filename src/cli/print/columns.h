#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * How many columns a character takes on a terminal: none when it combines with the one before it, two when
 * it is East Asian and wide or a picture, else one. It does not ask the terminal, and no locale.
 */
#include "base/str.h"

/* character: one, in UTF-8. What is no UTF-8 takes one, and is to be shown as `?`. */
size_t columns_of(Str character);
