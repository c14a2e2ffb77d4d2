#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Regex: regular expressions from outside, with bounded work. The grammar is that of PCRE2, which the ones
 * people write for JavaScript nearly always fit; matching is a search, not anchored.
 *
 * A match that would take more than REGEX_STEPS per position, or a text longer than REGEX_TEXT_MAX, ends in
 * a condition, so no expression can hold the loop. Callouts, \C and recursion into verbs are off. Owned by
 * whoever made it.
 */
#include "base/str.h"

typedef struct Regex Regex;

enum { _REGEX_E_SUCCESS, REGEX_E_WRONG, REGEX_E_NO_MATCH, REGEX_E_LIMIT };
enum { REGEX_PATTERN_MAX = 4096, REGEX_TEXT_MAX = 16384, REGEX_STEPS = 5000, REGEX_WHY_MAX = 160 };

/* Condition: REGEX_E_WRONG; reterr says what and where then. */
int regex_new(Regex **ret, Str pattern, char reterr[REGEX_WHY_MAX]);
Regex *regex_free(Regex *regex);
/* 0: found. Conditions: REGEX_E_NO_MATCH, REGEX_E_LIMIT. */
int regex_search(const Regex *regex, Str text);
