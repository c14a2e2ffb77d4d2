#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Adapters: which programs of agents can be used here: by the machine's settings, and by the folder and the PATH of
 * whoever asks. One of them is asked itself, so looking waits for others.
 */
#include "core/call.h"

typedef struct Workspace Workspace;

/* list: the text of the array of adapter.status, in the call's arena. Returns as a handler does. */
typedef int (*AdaptersFn)(Call *call, Workspace *workspace, Str list, const Carry *carry);
/* Loop. Looks on a worker of those that wait for others, then goes on with then(). Settings of the machine that cannot be
 * read fail the call. CALL_LATER, or negative. */
int adapters_look(Call *call, Workspace *workspace, AdaptersFn then, const Carry *carry);
