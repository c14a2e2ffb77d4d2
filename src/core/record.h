#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Recorder: writes every answered call to a file, one JSON line each, so that the test suite can hold all
 * replies of all tests against the declared schemas. Switched on by MUSTER_RECORD only; it writes from the
 * loop and holds message bodies, so it is for tests and for bug reports made on purpose.
 */
#include "core/call.h"

typedef struct Recorder Recorder;

int recorder_new(Recorder **ret, const char *path);
Recorder *recorder_free(Recorder *recorder);
/* Called when the result is written and its envelope not yet closed, or before an error is written. */
void record_call(Recorder *recorder, const Call *call);
