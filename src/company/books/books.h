#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The books of a workspace: making one, and its default documents. Worker.
 */
#include "base/json/json.h"

/* What a new .local/machine.yaml holds; NULL without memory. */
Json *books_machine(Arena *arena);

typedef struct BooksInit {
        Str path; /* absolute */
        Str company_name;
        bool is_forced;
        int64_t wall_us;
        Arena *arena;
        Str why; /* of BOOKS_E_REFUSED */
} BooksInit;

enum { _BOOKS_E_SUCCESS, BOOKS_E_REFUSED };
/* The tree and the three documents that every workspace has; company.yaml comes last. What else lies there
 * stays. Condition: BOOKS_E_REFUSED (not empty and not forced, no folder, a link in the way). */
int books_init(BooksInit *init);
