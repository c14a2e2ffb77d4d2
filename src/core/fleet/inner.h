#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Inner calls: a step of a call that is an operation, of its own or of another contract. It has a call of its own
 * without a client, so what it answers and fails with is told to the outer one, which makes its own answer of it.
 * The outer call lives until the inner one is over; both are the pool's.
 */
#include "core/call.h"

typedef int (*InnerRun)(Call *inner, const Carry *carry); /* as a handler */
/* inner->error and inner->message say how it ended; returns what a handler of the outer call returns. */
typedef int (*InnerThen)(Call *call, const Call *inner, const Carry *carry);

/* As a handler returns. */
int call_inner(Call *call, InnerRun run, InnerThen then, const Carry *carry);
/* What it has answered, as JSON text; good until `then` returns. */
Str inner_result(const Call *inner);
/* Fails the call with what the inner one failed with; a condition that the dialect has no word for is
 * CALL_E_OWNER_REFUSED. */
int inner_fail(Call *call, const Call *inner);
