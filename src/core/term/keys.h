#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Keys: the bytes that a terminal sends for a key, by the names that tmux gives them.
 *
 *   Enter Tab BTab Escape Space BSpace Up Down Left Right Home End PageUp PageDown Insert Delete F1 … F12
 *   C-a … C-z, C-[ and its like (also ^a); M-x: Escape and then x; C-, M- and S- before an arrow or the like
 */
#include "base/buf.h"

enum { _KEYS_E_SUCCESS, KEYS_E_UNKNOWN };

/* Condition: KEYS_E_UNKNOWN: it is no name of a key, so probably a text. */
int keys_append(Buf *out, const char *name);
