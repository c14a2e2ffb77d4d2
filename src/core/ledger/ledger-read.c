/* SPDX-License-Identifier: MIT */
/*
 * Reading lines back. Lines that lie next to each other are fetched with one call. What is in the page cache
 * comes at once (RWF_NOWAIT), everything else is fetched by a worker.
 */
#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/error.h"
#include "core/ledger/ledger-internal.h"

typedef struct Part {
        uint64_t offset; /* in the file */
        size_t at, n;    /* in the bytes */
} Part;

enum {
        GAP = 2,                  /* a newline, perhaps with a CR, between neighbours */
        READ_AT_ONCE = 256 << 10, /* more is copied by a worker, also from the cache */
};

static Part *parts_of(const LedgerRead *read) {
        return (Part *)(void *)read->parts.data;
}

/* From part i on: how many follow each other in the file, and their length together. */
static size_t run_length(const LedgerRead *read, size_t i, size_t *ret_bytes) {
        const Part *parts = parts_of(read);
        size_t k = i + 1;

        while (k < read->n && parts[k].at - parts[i].at == parts[k].offset - parts[i].offset)
                k++;
        *ret_bytes = parts[k - 1].at + parts[k - 1].n - parts[i].at;
        return k - i;
}

/* -EAGAIN: not in the cache, or a file system that cannot tell. */
static int ledger_read_fetch(int fd, char *out, size_t n, uint64_t offset, int flags) {
        while (n > 0) {
                ssize_t got = preadv2(fd, &(struct iovec){out, n}, 1, (off_t)offset, flags);

                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0 && flags && (errno == EAGAIN || errno == EOPNOTSUPP || errno == ENOSYS))
                        return -EAGAIN;
                if (got < 0)
                        return error_origin(-errno);
                if (got == 0)
                        return error_origin(-ESTALE);
                out += got;
                offset += (uint64_t)got;
                n -= (size_t)got;
        }
        return 0;
}

static int fetch_all(LedgerRead *read, int flags) {
        const Part *parts = parts_of(read);
        size_t n_bytes;
        int r = 0;

        for (size_t i = 0; r == 0 && i < read->n;) {
                size_t n = run_length(read, i, &n_bytes);

                r = ledger_read_fetch(read->file->fd, read->bytes.data + parts[i].at, n_bytes,
                                      parts[i].offset, flags);
                i += n;
        }
        return r;
}

/* Where each line will lie. Neighbours in the file stay neighbours, with what is between them. */
static int ledger_read_plan(Ledger *ledger, LedgerRead *read, const uint64_t *positions, size_t n) {
        size_t at = 0;
        Part *parts;
        int r;

        read->parts.n = read->bytes.n = 0;
        r = buf_reserve(&read->parts, n * sizeof(Part));
        if (r)
                return error_trace(r);
        parts = parts_of(read);
        for (size_t i = 0; i < n; i++) {
                IndexEntry entry;
                uint64_t gap;

                if (positions[i] >= ledger_n_committed(ledger))
                        return error_origin(-EINVAL);
                entry = index_entry(ledger->index, positions[i]);
                gap = i ? entry.offset - (parts[i - 1].offset + parts[i - 1].n) : 0;
                at += gap <= GAP ? (size_t)gap : 0;
                parts[i] = (Part){.offset = entry.offset, .at = at, .n = entry.n_bytes};
                at += entry.n_bytes;
                if (at > LEDGER_READ_MAX)
                        return error_origin(-EMSGSIZE);
        }
        read->n = n;
        r = buf_reserve(&read->bytes, at);
        read->bytes.n = r ? 0 : at;
        return error_trace(r);
}

static void read_work(void *user) {
        LedgerRead *read = user;

        read->r = fetch_all(read, 0);
}

static void ledger_read_read_done(void *user) {
        LedgerRead *read = user;
        Ledger *ledger = read->ledger;

        read->file = ledger_file_unref(read->file);
        if (--ledger->n_reads == 0 && ledger->is_closing)
                ledger_kick(ledger);
        read->done(read, read->r);
}

/* The index is made again first. The positions wait where the parts will be. */
static int read_after_mending(Ledger *ledger, LedgerRead *read, const uint64_t *positions, size_t n) {
        LedgerRead **last = &ledger->waiting_reads;
        int r;

        read->parts.n = read->bytes.n = 0;
        r = buf_append(&read->parts, positions, n * sizeof(*positions));
        if (r)
                return error_trace(r);
        read->ledger = ledger;
        read->n = n;
        read->next = NULL;
        while (*last)
                last = &(*last)->next;
        *last = read;
        ledger->n_reads++;
        return LEDGER_LATER;
}

void ledger_resume_reads(Ledger *ledger, int r) {
        LedgerRead *read = steal(&ledger->waiting_reads), *next;

        if (!r && read && index_is_broken(ledger->index))
                r = error_origin(-ESTALE);
        for (; read; read = next) {
                _cleanup_(buf_deinit) Buf positions = read->parts;
                size_t n = read->n;

                next = read->next;
                read->parts = BUF_NULL;
                read->n = 0;
                read->file = ledger_file_ref(ledger->file);
                read->r =
                        r ? r : ledger_read_plan(ledger, read, (const uint64_t *)(void *)positions.data, n);
                if (read->r || (read->r = loop_work(ledger->loop, read_work, ledger_read_read_done, read)))
                        ledger_read_read_done(read);
        }
}

int ledger_read(Ledger *ledger, LedgerRead *read, const uint64_t *positions, size_t n) {
        int r;

        read->n = 0;
        if (ledger_is_mending(ledger))
                return error_trace(read_after_mending(ledger, read, positions, n));
        r = ledger_read_plan(ledger, read, positions, n);
        if (ledger_is_mending(ledger))
                return error_trace(read_after_mending(ledger, read, positions, n));
        if (r)
                return error_trace(r);
        read->ledger = ledger;
        read->file = ledger_file_ref(ledger->file);
        r = read->bytes.n > READ_AT_ONCE ? -EAGAIN : fetch_all(read, RWF_NOWAIT);
        if (r == -EAGAIN) {
                r = loop_work(ledger->loop, read_work, ledger_read_read_done, read);
                if (r == 0) {
                        ledger->n_reads++;
                        return LEDGER_LATER;
                }
        }
        read->file = ledger_file_unref(read->file);
        return error_trace(r);
}

Str ledger_read_line(const LedgerRead *read, size_t i) {
        const Part *part = &parts_of(read)[i];

        return (Str){read->bytes.data + part->at, part->n};
}

void ledger_read_deinit(LedgerRead *read) {
        buf_deinit(&read->parts);
        buf_deinit(&read->bytes);
}
