#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Nearest: of the candidates offered, the one that a mistyped word was probably meant to be.
 *
 * Distance is the number of letters added, left out, replaced or swapped with their neighbour; a candidate
 * counts when a third of the word's letters or fewer differ (one may always, unless nothing would be left).
 * A longer candidate that begins with the word counts too. Borrows what it is given.
 */
#include <stdbool.h>

typedef struct Nearest {
        const char *word;
        const char *best; /* NULL: none is near */
        unsigned distance;
} Nearest;

#define NEAREST(w) ((Nearest){.word = (w)})
enum { NEAREST_WORD_MAX = 64 }; /* longer words are never near */

/* Whether candidate is the best so far. The first of equals stays. */
bool nearest_offer(Nearest *nearest, const char *candidate);
