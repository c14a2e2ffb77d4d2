#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Letters beyond ASCII, as far as names of actors need them: which characters make a word, and whether two
 * titles differ by case only. The classes come from the C library, which main() has told to use UTF-8; text
 * is UTF-8 as the JSON reader has checked it.
 */
#include <stdint.h>

#include "base/str.h"

/* Takes the first character off a text that is not empty. A byte that begins none is taken alone. */
uint32_t unicode_take(Str *text);
bool unicode_is_word(uint32_t c); /* letter, digit or underscore of any script */
bool unicode_equal_folded(Str a, Str b);
/* Without white space of any script at its ends. */
Str unicode_trim(Str text);
