#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Ring: the last bytes that a hosted process printed, in a file that daemon and shim both map.
 *
 * One of the two reads the terminal at a time: the daemon while it is connected to the shim, else the shim.
 * Whoever reads declares it first (ring_read) by laying a pattern where the bytes may go. If the reader is
 * killed in the middle, the other one sees by what is left of the pattern how many bytes were taken
 * (ring_recover), so none is lost or repeated. The pattern is made of bytes that no UTF-8 text holds (F8 to
 * FF, at random): for text the answer is exact. Other bytes are lost if they are the last ones of that read
 * and equal to the pattern: one byte with probability 1/256 (1/8 if the read before ended in text), two with
 * the square of it.
 * Others of the same user can write the file. So where the output ends and how large the ring is are kept in
 * our own memory; what the header says is taken only when the reader changes (ring_recover), if it can be
 * true. A file that was cut does no harm (base/mapping.h) and is mended by whoever reads.
 * The data area is mapped twice in a row, so every span of it is contiguous. No allocation, no lock, no
 * loop.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/mapping.h"
#include "base/str.h"

enum {
        RING_VERSION = 2,
        RING_HEADER = 4096, /* bytes of the file before the data */
        RING_BYTES_DEFAULT = 2 << 20,
        RING_BYTES_MIN = 64 << 10,
        RING_READ_MAX = 8 << 10, /* most that one ring_read() takes; a terminal never has more than 4 KiB */
};

typedef struct RingHeader {
        char magic[8]; /* "musring1" */
        uint32_t version;
        uint32_t n_header;
        uint64_t n_bytes;           /* of the data area, a power of two */
        _Atomic uint64_t n_written; /* since the beginning; see ring_begin() */
        _Atomic uint32_t n_intent;  /* > 0: a read of at most so many bytes may have taken place */
        uint32_t n_exact;           /* as n_intent: that read takes all of it or nothing */
        uint64_t pattern;           /* laid under it */
        uint64_t intent_at; /* n_written when it was declared: a later n_written means it is committed */
} RingHeader;

typedef struct Ring {
        RingHeader *header;
        char *data; /* n_bytes, twice */
        size_t n_bytes;
        uint64_t end;     /* as n_written; ours */
        uint64_t lost_to; /* what was before this is gone: the file was damaged */
        Mapping *mapping;
} Ring;

/* Makes the file with all its blocks, so that no later write can fail for want of space. n_bytes is rounded
 * up. */
int ring_create(const char *path, size_t n_bytes);
/* The same with a file that ring_create() has made with the same size and that nobody uses; -ESTALE: another
 * size. */
int ring_renew(const char *path, size_t n_bytes);
enum { _RING_E_SUCCESS, RING_E_DAMAGED, RING_E_VERSION };
int ring_open(Ring *ring,
              const char *path); /* conditions: RING_E_DAMAGED, RING_E_VERSION (of another one) */
void ring_close(Ring *ring);

static inline uint64_t ring_end(const Ring *ring) {
        return ring->end;
}
/* The oldest byte that is still there: the place of the next read is not. */
static inline uint64_t ring_begin(const Ring *ring) {
        uint64_t end = ring->end, kept = ring->n_bytes - RING_READ_MAX;
        uint64_t begin = end > kept ? end - kept : 0;
        return begin > ring->lost_to ? begin : ring->lost_to;
}
/* The bytes from..ring_end(); from is moved up to ring_begin() when they are gone already. */
Str ring_span(const Ring *ring, uint64_t from);
/* One read from fd, which must not block. *ret_n: bytes taken. Returns 0, -EAGAIN, or another negative errno
 * (-EIO: the terminal has ended; for a pipe the end is *ret_n == 0). */
int ring_read(Ring *ring, int fd, size_t *ret_n);
/* The same for a pipe that nobody else reads. How much is in it is asked first, so that a read takes all that was
 * declared or nothing: any bytes are settled exactly, unless each of them equals the pattern. */
int ring_read_pipe(Ring *ring, int fd, size_t *ret_n);
/* Whether a read overwrites nothing from this position on. Nonsense has no room. */
static inline bool ring_has_room(const Ring *ring, uint64_t kept) {
        return ring->end - kept <= ring->n_bytes - 2 * (uint64_t)RING_READ_MAX;
}
/* Bytes that come from elsewhere (notices). */
void ring_append(Ring *ring, Str bytes);
/* After another reader: takes over where it has got to, and settles a read that it did not live to finish.
 */
void ring_recover(Ring *ring);
/* The file was cut while we had it. */
static inline bool ring_is_broken(const Ring *ring) {
        return mapping_is_broken(ring->mapping);
}
/* Makes the file at path whole again, or goes on without one, and says so in the output. */
void ring_mend(Ring *ring, const char *path);
/* Mends it if the file is shorter than it was: for who is about to be the only one that has it. */
void ring_mend_if_cut(Ring *ring, const char *path);
