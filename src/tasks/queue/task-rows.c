/* SPDX-License-Identifier: MIT */
#include "tasks/queue/task-rows.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/error.h"
#include "base/file.h"
#include "core/host/shim.h"

enum { ROWS_VERSION = 2, ROWS_HEADER = 4096, ROWS_STEP = 4096, NUMBER_DIGITS = 15 };
_Static_assert(sizeof(TaskRowsHeader) <= ROWS_HEADER, "the header has its page");
_Static_assert(sizeof(TaskRow) == 32, "nothing lies between the members");

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

/* Memory of our own, never the file's: agents may write that one. Pages that no row is in cost nothing. */
static int task_rows_allocate(TaskRows *rows, size_t n_capacity) {
        void *base;

        if (rows->header)
                base = mremap(rows->header, bytes_for(rows->n_capacity), bytes_for(n_capacity),
                              MREMAP_MAYMOVE);
        else
                base = mmap(NULL, bytes_for(n_capacity), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                            -1, 0);
        if (base == MAP_FAILED)
                return error_origin(-errno);
        rows->header = base;
        rows->rows = (TaskRow *)((char *)base + ROWS_HEADER);
        rows->n_capacity = n_capacity;
        return 0;
}

/* All blocks are allocated, so that writing a row cannot fail for want of space. */
static int task_rows_grow(TaskRows *rows, size_t n_capacity) {
        int r = posix_fallocate(rows->fd, 0, (off_t)bytes_for(n_capacity));

        return r ? error_origin(-r) : error_trace(task_rows_allocate(rows, n_capacity));
}

static bool task_rows_write(const TaskRows *rows, const void *data, size_t n, size_t offset) {
        return !file_write_at(rows->fd, (Str){data, n}, offset);
}

/* Rows before the header: one that the header does not count yet, or whose line it does not cover, is made
 * from the history again. What cannot be written is tried with the next change. */
bool task_rows_flush(TaskRows *rows) {
        uint64_t first = rows->dirty_from, n = rows->dirty_to - first;

        if (n && !task_rows_write(rows, &rows->rows[first], n * sizeof(TaskRow), bytes_for(first)))
                return false;
        rows->dirty_from = rows->dirty_to = 0;
        return task_rows_write(rows, rows->header, sizeof(*rows->header), 0);
}

static uint32_t check_of(const TaskRow *row) {
        uint64_t parts[] = {row->hash, row->number, row->position, (uint64_t)(int64_t)row->since_ms,
                            row->state};
        uint64_t sum = 0x9e3779b97f4a7c15u;

        for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
                sum = ((sum ^ parts[i]) * 0xbf58476d1ce4e5b9u) ^ (sum >> 29);
        return (sum ^ (sum >> 32)) & 0xffffff;
}

static bool task_rows_is_sound(const TaskRowsHeader *header) {
        return header && !memcmp(header->magic, "mustask1", 8) && header->version == ROWS_VERSION &&
               header->n_row_bytes == sizeof(TaskRow) && header->n_stable <= header->n_rows &&
               (header->is_clean || header->boot == shim_boot_hash());
}

void task_rows_clear(TaskRows *rows) {
        uint64_t next_number = task_rows_is_sound(rows->header) ? rows->header->next_number : 0;

        *rows->header = (TaskRowsHeader){.version = ROWS_VERSION,
                                         .n_row_bytes = sizeof(TaskRow),
                                         .boot = shim_boot_hash(),
                                         .next_number = next_number};
        memcpy(rows->header->magic, "mustask1", 8);
        memset(rows->counts, 0, sizeof(rows->counts));
        rows->dirty_from = rows->dirty_to = 0;
        (void)task_rows_flush(rows);
}

/* Takes rows that were just read and counts them. False: one is damaged. */
static bool task_rows_take(TaskRows *rows, uint64_t first, uint64_t n) {
        for (uint64_t i = first; i < first + n; i++) {
                if (rows->rows[i].state > TASK_PURGED || rows->rows[i].check != check_of(&rows->rows[i]))
                        return false;
                rows->counts[rows->rows[i].state]++;
        }
        return true;
}

/* Block by block, so that a file that only pretends to hold many rows costs no memory. TASK_ROWS_E_NEW: it
 * is damaged, or not ours. */
static int task_rows_read(TaskRows *rows) {
        TaskRowsHeader header;
        int r = 0;

        if (pread(rows->fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header))
                return TASK_ROWS_E_NEW;
        *rows->header = header;
        if (!task_rows_is_sound(&header))
                return TASK_ROWS_E_NEW;
        for (uint64_t at = 0; at < header.n_rows && !r;) {
                uint64_t n = MIN(header.n_rows - at, (uint64_t)ROWS_STEP);
                ssize_t n_bytes = (ssize_t)(n * sizeof(TaskRow));

                if (at + n > rows->n_capacity)
                        r = task_rows_allocate(rows, rows->n_capacity + MAX(rows->n_capacity / 2, n));
                if (!r &&
                    (pread(rows->fd, &rows->rows[at], (size_t)n_bytes, (off_t)bytes_for(at)) != n_bytes ||
                     !task_rows_take(rows, at, n)))
                        r = TASK_ROWS_E_NEW;
                at += n;
        }
        return r;
}

int task_rows_open(TaskRows *rows, const char *path) {
        int r;

        *rows = (TaskRows){.fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
        if (rows->fd < 0)
                return error_origin(-errno);
        r = task_rows_allocate(rows, ROWS_STEP);
        if (r)
                return error_trace(r);
        r = task_rows_read(rows);
        if (r < 0)
                return error_trace(r);
        if (r)
                task_rows_clear(rows);
        rows->was_clean = !r && rows->header->is_clean;
        rows->header->boot = shim_boot_hash();
        rows->header->is_clean = 0;
        if (task_rows_grow(rows, rows->n_capacity))
                return error_origin(-ENOSPC);
        (void)task_rows_flush(rows);
        return r;
}

void task_rows_close(TaskRows *rows, bool is_clean) {
        if (rows->header) {
                if (task_rows_flush(rows) && is_clean && !fdatasync(rows->fd)) {
                        rows->header->is_clean = 1;
                        (void)task_rows_flush(rows);
                }
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
        return error_trace(task_rows_grow(rows, n_now + n + MAX(n_now / 2, (size_t)ROWS_STEP)));
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
        uint64_t hash = hash_str(id), number = 0;
        bool has_number = task_id_number(id, &number);

        if (!rows->header->is_unsorted)
                return has_number ? find_sorted(rows, number, hash) : -1;
        for (uint64_t i = 0; i < rows->header->n_rows; i++)
                if (rows->rows[i].hash == hash)
                        return (int64_t)i;
        return -1;
}

uint64_t task_rows_add(TaskRows *rows, Str id, TaskState state) {
        TaskRowsHeader *header = rows->header;
        uint64_t i = header->n_rows, number = 0;
        bool has_number = task_id_number(id, &number);

        if (!has_number || (i > 0 && rows->rows[i - 1].number >= number))
                header->is_unsorted = 1;
        rows->rows[i] = (TaskRow){.hash = hash_str(id), .number = number, .state = state};
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
        if (rows->dirty_from == rows->dirty_to) {
                rows->dirty_from = row;
                rows->dirty_to = row + 1;
                return;
        }
        rows->dirty_from = MIN(rows->dirty_from, row);
        rows->dirty_to = MAX(rows->dirty_to, row + 1);
}

void task_rows_cover(TaskRows *rows, uint64_t n_covered, uint64_t covered_bytes) {
        rows->header->n_covered = n_covered;
        rows->header->covered_bytes = covered_bytes;
        (void)task_rows_flush(rows);
}
