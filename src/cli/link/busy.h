#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What the daemon is busy with while a reply does not come: it reads a large ledger, for example. Told on a
 * terminal, as cli/print/progress.h has it; nothing in the first second.
 */
#include "cli/link/connect.h"

/* Waits for the first byte as link_peek() does. */
int busy_peek(Link *link, char *ret);
