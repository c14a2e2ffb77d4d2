/* SPDX-License-Identifier: MIT */
#include "core/host/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

static const char ring_magic[8] = "musring1";
#define RING_END_MAX ((uint64_t)1 << 62) /* nobody prints so much */

static size_t round_up(size_t n) {
        size_t size = RING_BYTES_MIN;

        while (size < n && size < (size_t)1 << 40)
                size *= 2;
        return size;
}

int ring_create(const char *path, size_t n_bytes) {
        RingHeader header = {.version = RING_VERSION, .n_header = RING_HEADER, .n_bytes = round_up(n_bytes)};
        _cleanup_(closep) int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        int r;

        if (fd < 0)
                return error_origin(-errno);
        memcpy(header.magic, ring_magic, sizeof(header.magic));
        r = posix_fallocate(fd, 0, (off_t)(RING_HEADER + header.n_bytes));
        if (!r && pwrite(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header))
                r = errno ? errno : EIO;
        if (r) {
                (void)unlink(path);
                return error_origin(-r);
        }
        return 0;
}

int ring_renew(const char *path, size_t n_bytes) {
        RingHeader header = {.version = RING_VERSION, .n_header = RING_HEADER, .n_bytes = round_up(n_bytes)};
        _cleanup_(closep) int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        struct stat st;

        if (fd < 0 || fstat(fd, &st))
                return error_origin(-errno);
        if (st.st_size != (off_t)(RING_HEADER + header.n_bytes))
                return -ESTALE;
        memcpy(header.magic, ring_magic, sizeof(header.magic));
        return pwrite(fd, &header, sizeof(header), 0) == (ssize_t)sizeof(header) ? 0 : error_origin(-EIO);
}

/* The data area twice in a row behind the header. */
static int ring_map_at(char *base, int fd, size_t n_bytes) {
        const int prot = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_FIXED;

        if (mmap(base, RING_HEADER + n_bytes, prot, flags, fd, 0) == MAP_FAILED ||
            mmap(base + RING_HEADER + n_bytes, n_bytes, prot, flags, fd, RING_HEADER) == MAP_FAILED)
                return error_origin(-errno);
        /* A fault would read ahead 128 kB of zeros, which is most of what a short agent costs. */
        (void)madvise(base, RING_HEADER + 2 * n_bytes, MADV_RANDOM);
        return 0;
}

static int map(Ring *ring, int fd, size_t n_bytes) {
        size_t n_all = RING_HEADER + 2 * n_bytes;
        char *base = mmap(NULL, n_all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        Mapping *mapping;
        int r;

        if (base == MAP_FAILED)
                return error_origin(-errno);
        r = ring_map_at(base, fd, n_bytes);
        mapping = r ? NULL : mapping_add(base, n_all);
        if (!mapping) {
                (void)munmap(base, n_all);
                return r ? error_trace(r) : error_origin(-ENOSPC);
        }
        *ring = (Ring){.header = (RingHeader *)base,
                       .data = base + RING_HEADER,
                       .n_bytes = n_bytes,
                       .mapping = mapping};
        return 0;
}

/* Takes over what the header says, if it can be true: output does not get less. */
static void ring_sync(Ring *ring) {
        uint64_t end = atomic_load_explicit(&ring->header->n_written, memory_order_acquire);

        if (end >= ring->end && end < RING_END_MAX)
                ring->end = end;
}

/* The header as it has to be, whatever has become of it. */
static void ring_put_header(Ring *ring) {
        RingHeader *header = ring->header;

        memcpy(header->magic, ring_magic, sizeof(header->magic));
        header->version = RING_VERSION;
        header->n_header = RING_HEADER;
        header->n_bytes = ring->n_bytes;
        atomic_store_explicit(&header->n_written, ring->end, memory_order_release);
}

static bool ring_is_sound(const RingHeader *header, off_t size) {
        uint64_t n = header->n_bytes;

        return header->n_header == RING_HEADER && n >= RING_BYTES_MIN && (n & (n - 1)) == 0 &&
               (uint64_t)size >= RING_HEADER + n;
}

int ring_open(Ring *ring, const char *path) {
        _cleanup_(closep) int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        RingHeader header;
        struct stat st;
        int r;

        if (fd < 0 || fstat(fd, &st))
                return error_origin(-errno);
        if (pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
            memcmp(header.magic, ring_magic, sizeof(ring_magic)) != 0)
                return RING_E_DAMAGED;
        if (header.version != RING_VERSION)
                return RING_E_VERSION;
        if (!ring_is_sound(&header, st.st_size))
                return RING_E_DAMAGED;
        r = map(ring, fd, (size_t)header.n_bytes);
        if (!r)
                ring_sync(ring);
        return error_trace(r);
}

void ring_close(Ring *ring) {
        if (ring->header)
                (void)munmap(ring->header, RING_HEADER + 2 * ring->n_bytes);
        (void)mapping_remove(ring->mapping);
        *ring = (Ring){0};
}

Str ring_span(const Ring *ring, uint64_t from) {
        uint64_t begin = ring_begin(ring), end = ring_end(ring);

        if (!ring->header)
                return STR_NULL; /* of a process that is being started */
        if (from < begin)
                from = begin;
        if (from > end)
                from = end;
        return (Str){ring->data + (from & (ring->n_bytes - 1)), (size_t)(end - from)};
}

static char *write_place(Ring *ring) {
        return ring->data + (ring_end(ring) & (ring->n_bytes - 1));
}

static void ring_commit(Ring *ring, size_t n) {
        ring->end += n;
        ring_put_header(ring);
        ring->header->n_exact = 0;
        atomic_store_explicit(&ring->header->n_intent, 0, memory_order_release);
}

/* ---- the declared read ----------------------------------------------------------------------- */

static void lay_pattern(char *place, size_t n, uint64_t pattern) {
        for (size_t i = 0; i < n; i += sizeof(pattern))
                memcpy(place + i, &pattern, sizeof(pattern));
}

/* How many bytes were read over the pattern: all up to the last one that differs from it. */
static size_t count_taken(const char *place, size_t n, uint64_t pattern) {
        char laid[sizeof(pattern)];

        memcpy(laid, &pattern, sizeof(laid));
        while (n && place[n - 1] == laid[(n - 1) % sizeof(laid)])
                n--;
        return n;
}

/* Whether the output is text as far as it goes: only its last byte can be mistaken for a pattern's. */
static bool ends_in_text(const Ring *ring) {
        uint64_t end = ring_end(ring);

        return !end || (unsigned char)ring->data[(end - 1) & (ring->n_bytes - 1)] < 0xf8;
}

/* A new pattern for each read: a counter through a mixer, seeded once by the kernel. After text every byte
 * is between F8 and FF, where no text is; after other bytes it may be any. */
static uint64_t next_pattern(const Ring *ring) {
        uint64_t z = ring->header->pattern;

        if (!z && getrandom(&z, sizeof(z), GRND_NONBLOCK) != (ssize_t)sizeof(z))
                z = (uint64_t)(uintptr_t)&z;
        z += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        z ^= z >> 31;
        return ends_in_text(ring) ? z | 0xf8f8f8f8f8f8f8f8u : z;
}

static void declare(Ring *ring, char *place, size_t n, bool is_exact) {
        RingHeader *header = ring->header;

        header->pattern = next_pattern(ring);
        header->intent_at = ring_end(ring);
        header->n_exact = is_exact ? (uint32_t)n : 0;
        lay_pattern(place, n, header->pattern);
        atomic_store_explicit(&header->n_intent, (uint32_t)n, memory_order_release);
}

static int ring_read_declared(Ring *ring, int fd, size_t n, bool is_exact, size_t *ret_n) {
        char *place = write_place(ring);
        ssize_t k;
        int r = 0;

        declare(ring, place, n, is_exact);
        *ret_n = 0;
        if (ring_is_broken(ring))
                return -EAGAIN; /* to be mended first, so that nothing is lost */
        k = read(fd, place, n);
        if (k < 0)
                r = errno == EFAULT ? -EAGAIN : -errno; /* cut in this instant: the next one finds memory */
        ring_commit(ring, k > 0 ? (size_t)k : 0);
        *ret_n = k > 0 ? (size_t)k : 0;
        return r;
}

int ring_read(Ring *ring, int fd, size_t *ret_n) {
        return ring_read_declared(ring, fd, RING_READ_MAX, false, ret_n);
}

/* An empty pipe is not read: what came in that instant would not have been declared. */
int ring_read_pipe(Ring *ring, int fd, size_t *ret_n) {
        struct pollfd state = {.fd = fd, .events = POLLIN};
        int n = 0;

        *ret_n = 0;
        if (ioctl(fd, FIONREAD, &n))
                return -errno;
        if (n > 0)
                return ring_read_declared(ring, fd, MIN((size_t)n, (size_t)RING_READ_MAX), true, ret_n);
        return poll(&state, 1, 0) == 1 && !(state.revents & POLLIN) ? 0 : -EAGAIN;
}

/* What of a declared read of n bytes took place. */
static size_t ring_count_read(Ring *ring, size_t n) {
        size_t n_taken = count_taken(write_place(ring), n, ring->header->pattern);

        return n_taken && ring->header->n_exact == n ? n : n_taken;
}

void ring_recover(Ring *ring) {
        size_t n = atomic_load_explicit(&ring->header->n_intent, memory_order_acquire);

        ring_sync(ring);
        ring_put_header(ring);
        if (!n || n > RING_READ_MAX)
                return;
        if (ring->header->intent_at != ring_end(ring)) /* committed; only its end was not noted any more */
                atomic_store_explicit(&ring->header->n_intent, 0, memory_order_release);
        else
                ring_commit(ring, ring_count_read(ring, n));
}

void ring_append(Ring *ring, Str bytes) {
        while (bytes.n) {
                size_t n = bytes.n < ring->n_bytes / 4 ? bytes.n : ring->n_bytes / 4;
                memcpy(write_place(ring), bytes.data, n);
                ring_commit(ring, n);
                bytes = (Str){bytes.data + n, bytes.n - n};
        }
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* The file with all its blocks, or else memory that only we have. */
static int ring_whole_file(const char *path, off_t n) {
        int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

        if (fd >= 0 && posix_fallocate(fd, 0, n) == 0)
                return fd;
        close_fd(fd);
        fd = memfd_create("ring", MFD_CLOEXEC);
        if (fd >= 0 && ftruncate(fd, n))
                fd = close_fd(fd);
        return fd;
}

void ring_mend(Ring *ring, const char *path) {
        _cleanup_(closep) int fd = ring_whole_file(path, (off_t)(RING_HEADER + ring->n_bytes));

        if (fd >= 0)
                (void)ring_map_at((char *)ring->header, fd, ring->n_bytes); /* else zeros do as well */
        mapping_mended(ring->mapping);
        ring->lost_to = ring->end;
        ring_append(ring, STR("\r\n[muster: the output before this was damaged]\r\n"));
}

void ring_mend_if_cut(Ring *ring, const char *path) {
        struct stat st;

        if (stat(path, &st) || st.st_size < (off_t)(RING_HEADER + ring->n_bytes))
                mapping_break(ring->mapping);
        if (ring_is_broken(ring))
                ring_mend(ring, path);
}
