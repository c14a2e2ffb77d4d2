#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Groups that nobody uses are closed: their documents, index and descriptors are given back after
 * GROUP_IDLE_MS without a call, with no actor running, no stream, and nothing queued for delivery. The next
 * call loads them again, as after a start of the daemon; one that comes while the ledger closes waits for
 * that.
 */
#include "collab/parts.h"

enum { GROUP_IDLE_MS = 15 * 60 * 1000, GROUP_LOOK_MS = 60 * 1000 };

extern const CollabPart group_idle_part;
