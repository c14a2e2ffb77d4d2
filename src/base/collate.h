#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The order of texts for people: letters without case and accents first, then accents, then small before
 * large; marks stand before digits, digits before letters. Exact for Latin letters of the first 256
 * characters; others follow by number. Texts that differ in nothing else are ordered by their bytes.
 */
#include "base/str.h"

int text_compare(Str a, Str b); /* < 0, 0, > 0 */
