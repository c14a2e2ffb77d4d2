#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Transfer: a workspace copied out to a folder, or in from one. Worker.
 *
 * Links are not copied and not followed, nor is what muster keeps for itself (.local/muster). A target that is to be
 * emptied first is refused when that would take away more than was meant: the root, the home folder, the other of the
 * two folders, what lies above or inside it, links, and everything that is neither a workspace nor an export of one.
 */
#include "company/books/validate.h"
#include "core/op.h"

enum { _TRANSFER_E_SUCCESS, TRANSFER_E_REFUSED };

typedef struct Transfer {
        Arena *arena;
        Str from, to;     /* absolute */
        const char *home; /* of the caller; NULL: not known */
        bool has_local, is_forced;
        const _Atomic bool *is_off; /* once it is set: -ECANCELED, and what was copied stays; NULL: never */
        StrList entries;            /* what was copied */
        Str why;                    /* of TRANSFER_E_REFUSED */
} Transfer;

/* The entries of a workspace from one folder to the other, synced. Condition: TRANSFER_E_REFUSED. */
int transfer(Transfer *transfer);
/* What a workspace at `to` has is removed, but for what is ours; a folder that is missing or empty stays so. Condition:
 * TRANSFER_E_REFUSED, for what is no workspace and for places that nobody means. */
int transfer_clear(Transfer *transfer);
int transfer_refuse(Transfer *transfer, const char *format, ...) __attribute__((format(printf, 2, 3)));
