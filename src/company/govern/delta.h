#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Delta: lines that are to stand below a heading of a file, before they are an artifact.
 */
#include "company/govern/govern.h"
#include "core/op.h" /* StrList */

typedef struct Delta {
        Str project_id, title, visibility, produced_by, run_id, context_pack_id;
        Str target_file; /* empty: the project's memory */
        Str under_heading;
        const StrList *insert_lines, *evidence;

        /* What came of it. */
        Str artifact_id;
        const char *artifact_path, *patch_path;
} Delta;

/* Adds the artifact and its patch to the edit. As decide() returns. */
int delta_propose(Edit *edit, Delta *delta);
