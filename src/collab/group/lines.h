#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Lines: how a call reads the ledger of its group. Each function returns what a handler returns and goes on
 * with the call now or in a later turn, when the bytes have come from a worker. What carry belongs to
 * lives as long as the call. A group whose ledger was rewritten meanwhile has other positions, so whoever reads
 * lines names the function that begins anew.
 */
#include "collab/group/group.h"

typedef int (*LinesFn)(Call *call, Group *group, const LedgerRead *lines, const Carry *carry);
typedef int (*EventFn)(Call *call, Group *group, const Json *event, const Carry *carry);

/* fn gets the lines at these positions. */
int lines_read(Call *call, Group *group, const uint64_t *positions, size_t n, LinesFn fn, GroupFn again,
               const Carry *carry);
/* again runs when everything that waits for its commit now is settled. */
int lines_wait(Call *call, Group *group, GroupFn again, const Carry *carry);
/* fn gets the event with this id, as a tree in the call's arena; else the call fails with event_not_found.
 */
int event_find(Call *call, Group *group, Str id, EventFn fn, const Carry *carry);
