#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The real daemon for fuzzers: one Daemon with a loop and endpoints without listeners; each input is one
 * connection over a socket pair. The first two bytes of an input say how the rest is sent, so that every run
 * of one input is the same:
 *
 *   byte 0   FUZZ_* flags; FUZZ_CHOICE for the fuzzer's own use
 *   byte 1   seed of the sizes of the pieces (1 to FUZZ_PIECE_MAX bytes each)
 *
 * The daemon has no Host and no root that would start programs: an input can run nothing. It has tokens, but no place
 * for web servers: nothing listens.
 * The clock stands still. Files are made in one temporary folder per process (below $TMPDIR), removed at
 * exit.
 */
#include <stdint.h>

#include "core/daemon.h"
#include "fuzz.h"

enum {
        FUZZ_CUT = 1 << 0,    /* close without reading, instead of ending our side and reading the rest */
        FUZZ_LATE = 1 << 1,   /* read nothing before everything is sent */
        FUZZ_WAIT = 1 << 2,   /* half a minute passes before the end */
        FUZZ_RECORD = 1 << 3, /* calls are recorded (to /dev/null) */
        FUZZ_WHOLE = 1 << 4,  /* one piece */
        FUZZ_CHOICE_SHIFT = 5,
        FUZZ_PIECE_MAX = 143,
};

typedef struct FuzzRun {
        uint8_t flags;
        Str sent;
        Str answer; /* valid until the next run; not all of it with FUZZ_CUT */
} FuzzRun;

/* Adds a served endpoint: the type's dialect and limits, but nothing listens and no file is made. */
Endpoint *fuzz_serve(const EndpointType *type);
/* Sends one input to the endpoint and waits until the connection is gone. */
FuzzRun fuzz_run(Endpoint *endpoint, const uint8_t *data, size_t n);

/* ---- what answers must look like
 * -------------------------------------------------------------------------------- */

/* One CCCC reply line, then heartbeats if it was a stream. */
void fuzz_check_cccc(const FuzzRun *run);
/* Lines, each a JSON-RPC response or a batch of them. */
void fuzz_check_jsonrpc(const FuzzRun *run);
/* Length-prefixed JSON objects that say whether they are ok. */
void fuzz_check_coop(const FuzzRun *run);
/* HTTP answers, each with its length; behind an upgrade frames of a WebSocket, whole ones and unmasked. */
void fuzz_check_http(const FuzzRun *run);
