/* SPDX-License-Identifier: MIT */
#include "tasks/task-rows.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "core/host/shim.h"

enum { ROWS_VERSION = 1, ROWS_HEADER = 4096, ROWS_STEP = 4096, NUMBER_DIGITS = 15 };
_Static_assert(sizeof(TaskRowsHeader) <= ROWS_HEADER, "the header has its page");

static uint64_t hash_of(Str id) {
        uint64_t hash = 14695981039346656037u;

        for (size_t i = 0; i < id.n; i++)
                hash = (hash ^ (unsigned char)id.data[i]) * 1099511628211u;
        return hash;
}

/* Digits behind the last dash of an id; false when there are none or too many. */
static bool task_id_number(Str id, uint64_t *ret) {
        size_t at = id.n;
        uint64_t number = 0;

        while (at > 0 && id.data[at - 1] >= '0' && id.data[at - 1] <= '9')
                at--;
        if (at == id.n || at == 0 || id.data[at - 1] != '-' || id.n - at > NUMBER_DIGITS)
                return false;
        for (; at < id.n; at++)
                number = number * 10 + (uint64_t)(id.data[at] - '0');
        *ret = number;
        return true;
}

/* ---- the file -------------------------------------------------------------------------------- */

static size_t bytes_for(size_t n_rows) {
        return ROWS_HEADER + n_rows * sizeof(TaskRow);
}

static int map(TaskRows *rows, size_t n_capacity) {
        void *base;

        if (rows->header)
                base = mremap(rows->header, bytes_for(rows->n_capacity), bytes_for(n_capacity),
                              MREMAP_MAYMOVE);
        else
                base = mmap(NULL, bytes_for(n_capacity), PROT_READ | PROT_WRITE, MAP_SHARED, rows->fd, 0);
        if (base == MAP_FAILED)
                return error_origin(-errno);
        rows->header = base;
        rows->rows = (TaskRow *)((char *)base + ROWS_HEADER);
        rows->n_capacity = n_capacity;
        return 0;
}

/* All blocks are allocated: a store through the mapping must not be able to fail. */
static int grow(TaskRows *rows, size_t n_capacity) {
        int r = posix_fallocate(rows->fd, 0, (off_t)bytes_for(n_capacity));

        return r ? error_origin(-r) : error_trace(map(rows, n_capacity));
}

static uint32_t check_of(const TaskRow *row) {
        uint64_t parts[] = {row->hash,
                            row->number,
                            row->position,
                            (uint64_t)row->created_ms,
                            (uint64_t)row->started_ms,
                            (uint64_t)row->completed_ms,
                            row->state};
        uint64_t sum = 0x9e3779b97f4a7c15u;

        for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
                sum = ((sum ^ parts[i]) * 0xbf58476d1ce4e5b9u) ^ (sum >> 29);
        return (uint32_t)(sum ^ (sum >> 32));
}

static bool is_sound(const TaskRows *rows) {
        const TaskRowsHeader *header = rows->header;

        return !memcmp(header->magic, "mustask1", 8) && header->version == ROWS_VERSION &&
               header->n_row_bytes == sizeof(TaskRow) && header->n_rows <= rows->n_capacity &&
               (header->is_clean || header->boot == shim_boot_hash());
}

/* False: a row is damaged. */
static bool count(TaskRows *rows) {
        bool is_whole = true;

        memset(rows->counts, 0, sizeof(rows->counts));
        for (uint64_t i = 0; i < rows->header->n_rows && is_whole; i++) {
                is_whole = rows->rows[i].state <= TASK_PURGED &&
                           rows->rows[i].check == check_of(&rows->rows[i]);
                if (is_whole)
                        rows->counts[rows->rows[i].state]++;
        }
        return is_whole;
}

void task_rows_clear(TaskRows *rows) {
        uint64_t next_number = is_sound(rows) ? rows->header->next_number : 0;

        *rows->header = (TaskRowsHeader){.version = ROWS_VERSION,
                                         .n_row_bytes = sizeof(TaskRow),
                                         .boot = shim_boot_hash(),
                                         .next_number = next_number};
        memcpy(rows->header->magic, "mustask1", 8);
        (void)count(rows);
}

int task_rows_open(TaskRows *rows, const char *path) {
        struct stat st;
        size_t n = 0;
        int r;

        *rows = (TaskRows){.fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
        if (rows->fd < 0 || fstat(rows->fd, &st))
                return error_origin(-errno);
        if (st.st_size > ROWS_HEADER)
                n = ((size_t)st.st_size - ROWS_HEADER) / sizeof(TaskRow);
        r = grow(rows, n > ROWS_STEP ? n : ROWS_STEP);
        if (r)
                return error_trace(r);
        if (!is_sound(rows) || rows->header->n_rows > n || !count(rows)) {
                task_rows_clear(rows);
                return TASK_ROWS_E_NEW;
        }
        rows->header->boot = shim_boot_hash();
        rows->was_clean = rows->header->is_clean;
        rows->header->is_clean = 0;
        return 0;
}

void task_rows_close(TaskRows *rows, bool is_clean) {
        if (rows->header) {
                if (is_clean && !msync(rows->header, bytes_for(rows->n_capacity), MS_SYNC))
                        rows->header->is_clean = 1;
                (void)munmap(rows->header, bytes_for(rows->n_capacity));
        }
        rows->fd = close_fd(rows->fd);
        rows->header = NULL;
        rows->rows = NULL;
}

int task_rows_reserve(TaskRows *rows, size_t n) {
        size_t n_now = rows->n_capacity;

        if (rows->header->n_rows + n <= n_now)
                return 0;
        return error_trace(grow(rows, n_now + n + MAX(n_now / 2, (size_t)ROWS_STEP)));
}

void task_rows_rest(TaskRows *rows) {
        (void)madvise(rows->header, bytes_for(rows->n_capacity), MADV_DONTNEED);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int64_t find_sorted(const TaskRows *rows, uint64_t number, uint64_t hash) {
        uint64_t low = 0, high = rows->header->n_rows;

        while (low < high) {
                uint64_t middle = low + (high - low) / 2;
                if (rows->rows[middle].number < number)
                        low = middle + 1;
                else
                        high = middle;
        }
        for (; low < rows->header->n_rows && rows->rows[low].number == number; low++)
                if (rows->rows[low].hash == hash)
                        return (int64_t)low;
        return -1;
}

int64_t task_rows_find(const TaskRows *rows, Str id) {
        uint64_t hash = hash_of(id), number = 0;
        bool has_number = task_id_number(id, &number);

        if (!rows->header->is_unsorted)
                return has_number ? find_sorted(rows, number, hash) : -1;
        for (uint64_t i = 0; i < rows->header->n_rows; i++)
                if (rows->rows[i].hash == hash)
                        return (int64_t)i;
        return -1;
}

uint64_t task_rows_add(TaskRows *rows, Str id, TaskState state, int64_t created_ms) {
        TaskRowsHeader *header = rows->header;
        uint64_t i = header->n_rows, number = 0;
        bool has_number = task_id_number(id, &number);

        if (!has_number || (i > 0 && rows->rows[i - 1].number >= number))
                header->is_unsorted = 1;
        rows->rows[i] =
                (TaskRow){.hash = hash_of(id), .number = number, .created_ms = created_ms, .state = state};
        task_rows_seal(rows, i);
        header->n_rows = i + 1;
        if (has_number && number >= header->next_number)
                header->next_number = number + 1;
        rows->counts[state]++;
        return i;
}

void task_rows_set_state(TaskRows *rows, uint64_t row, TaskState state) {
        rows->counts[rows->rows[row].state]--;
        rows->counts[state]++;
        rows->rows[row].state = state;
        task_rows_seal(rows, row);
}

void task_rows_seal(TaskRows *rows, uint64_t row) {
        rows->rows[row].check = check_of(&rows->rows[row]);
}

void task_rows_cover(TaskRows *rows, uint64_t n_covered, uint64_t covered_bytes) {
        rows->header->n_covered = n_covered;
        rows->header->covered_bytes = covered_bytes;
}
