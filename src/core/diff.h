#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Unified diffs of texts: made from two of them, and applied to one.
 *
 * Lines are compared byte by byte, their ends included. A patch is of one file; the names in its head say
 * nothing to diff_apply(). Its hunks may have moved, each lands where its lines stand nearest to where they
 * were, behind the hunk before it; every line that it shows has to be there. Nothing is kept; runs on any
 * thread. Texts are the caller's, and the caller bounds them.
 */
#include "base/buf.h"

enum { DIFF_CONTEXT = 4 };
/* Differences in the middle of a text beyond which all of its middle counts as changed. */
enum { DIFF_EDITS_MAX = 1024 };

enum {
        _DIFF_E_SUCCESS,
        DIFF_E_SYNTAX,  /* no unified diff */
        DIFF_E_NO_PLACE /* a hunk's lines do not stand in the text */
};

/* Appends the patch that makes after of before; name stands in its head. Without a difference it has no
 * hunk. */
int diff_make(Buf *out, Str name, Str before, Str after);
/* Appends what the patch makes of before. On failure out is as it was. */
int diff_apply(Buf *out, Str patch, Str before);
