#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Recording: what one hosted terminal shows, kept as an asciicast v2 file in <home>/recordings, for as long
 * as the process runs and over restarts of the daemon.
 *
 * The bytes come from the ring, so a disk that is slow holds up nobody: what left the ring before it was
 * written is missing, and a marker says how much. How far the file goes stands in the process's record; a
 * later daemon cuts what was written beyond it and goes on from there. Writing is done by a worker, one
 * piece at a time. A file ends at RECORDING_BYTES_MAX, said by a marker; of more than RECORDINGS_MAX files
 * those that were not written to for longest are removed when a new one begins. Owned by its Hosted; when
 * that goes, by itself until the rest is written.
 */
#include "base/str.h"
#include "core/host/shim.h"

typedef struct Hosted Hosted;
typedef struct Recording Recording;

enum {
        RECORDING_BYTES_MAX = 64 << 20,
        RECORDINGS_MAX = 64,
};

/* <home>/recordings/<object>-<id>.cast; what a file name should not hold becomes _. Malloc'd. */
char *recording_path(const char *home, const char *title, const char *id);
/* Makes the file with its header, and room for it among the others; a descriptor or negative. For a worker.
 */
int recording_create(const char *path, const char *title, unsigned cols, unsigned rows);
/* Opens one that an earlier daemon made; a descriptor or negative. Blocks. */
int recording_reopen(const char *path, const ShimRecord *record);

int recording_open(Recording **ret, Hosted *hosted, int fd); /* takes fd */
void recording_skip(Recording *recording, uint64_t to);      /* of the ring: is not recorded */
void recording_poke(Recording *recording);                   /* there is output */
void recording_resized(Recording *recording);
void recording_end(Recording *recording,
                   const char *why);       /* the process has ended: writes the rest, then frees */
void recording_drop(Recording *recording); /* the Hosted goes; one that is ending still writes its rest */
bool recording_is_over(const ShimRecord *record);
