#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What waits for a decision in a workspace, among all that waits for people (core/attention): an item for each artifact, asked when the index
 * finds it, settled when it waits no more, whoever has decided it. An answer there is inbox.resolve by a human, with its text as notes. Of a
 * workspace that nobody uses nothing new is found.
 */
#include "company/workspace.h"
#include "core/attention/attention.h"

void inbox_on_waiting(Workspace *workspace, const IndexWaitingList *list);

extern const AttentionKind attention_company;
