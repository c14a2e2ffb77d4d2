#pragma once
/* SPDX-License-Identifier: MIT */
/* Inside of GroupChange: what group-change.c and group-commit.c share. */
#include "collab/group-change.h"

void group_commit_done(LedgerChange *ledger, int r);
void group_change_end_line(GroupChange *change); /* the event or feed line being written, if any */
void group_change_free(GroupChange *change);     /* the ledger's part is over */
