#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Hold: the one gate of everything that begins by itself or by an agent (messages, queued tasks, fleet.start): whether a budget is used up
 * (budget.h), or a limit of its account is reached (core/limits/limits.h). What a person begins by a contract's own operation does not ask
 * here. Pure questions; loop thread only.
 */
#include "core/call.h"
#include "core/host/host.h"

enum { HOLD_WORDS_MAX = 1024 };

typedef enum HoldWhy { HOLD_NOT, HOLD_BUDGET, HOLD_LIMIT } HoldWhy;

/* Of something that has no process now; process: the id of the one that it had, NULL: none. account: empty, it is not known. words: why, for people and models; NULL: not asked for. */
HoldWhy hold_new(Daemon *daemon, Str name, const char *process, Str account, char words[HOLD_WORDS_MAX]);
HoldWhy hold_hosted(Daemon *daemon, const Hosted *hosted);
bool hold_is_any(const Daemon *daemon); /* whether it is worth to ask; cheap */
/* 0, or the call has failed with what holds it; limits hold what agents begin. */
int hold_call(Call *call, Str name, const char *process, Str account);
