#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What can wait for a person, for Daemon.attention_kinds: a row per kind, given by the domain that asks and answers.
 */
#include "core/attention/attention.h"
#include "core/host/host.h"

extern const AttentionKind *const attention_kinds[]; /* ends with NULL */

extern const AttentionKind attention_budget; /* op-budget.c */
/* attention-process.c: of hosted processes, whatever domain they belong to. */
extern const AttentionKind attention_process;
void attention_process_changed(Hosted *hosted, void *user); /* as HostChangedFn; user: the Daemon */
