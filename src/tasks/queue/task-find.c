/* SPDX-License-Identifier: MIT */
#include "tasks/queue/task-find.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/macro.h"

enum {
        FIND_DIGITS_MAX = 15 /* of a number */,
        FIND_PADDED = 4 /* digits of a number at least, in our ids */
};

static Str task_find_digits(Str word, bool *ret_is_bare) {
        *ret_is_bare = !str_starts(word, STR("task-"));
        return *ret_is_bare ? word : (Str){word.data + 5, word.n - 5};
}

static bool task_find_read(Str digits, uint64_t *ret) {
        *ret = 0;
        for (size_t i = 0; i < digits.n; i++) {
                if (digits.data[i] < '0' || digits.data[i] > '9')
                        return false;
                *ret = *ret * 10 + (uint64_t)(digits.data[i] - '0');
        }
        return digits.n > 0 && digits.n <= FIND_DIGITS_MAX;
}

bool task_find_number(Str word, bool *ret_is_bare, uint64_t *ret) {
        Str digits = task_find_digits(word, ret_is_bare);

        return (*ret_is_bare || digits.n < 2 || digits.data[0] != '0') && task_find_read(digits, ret);
}

bool task_find_number_of(Str id, uint64_t *ret) {
        bool is_bare;
        Str digits = task_find_digits(id, &is_bare);

        return !is_bare && task_find_read(digits, ret);
}

bool task_find_id(const TaskRows *rows, uint64_t row, char ret[TASK_FIND_ID_MAX]) {
        static const char *const forms[] = {"task-%04" PRIu64, "task-%" PRIu64};

        for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
                snprintf(ret, TASK_FIND_ID_MAX, forms[i], rows->rows[row].number);
                if (hash_str(str_from(ret)) == rows->rows[row].hash)
                        return true;
        }
        return false;
}

/* ---- numbers that begin so ------------------------------------------------------------------- */

typedef struct FindRange {
        uint64_t from, to;
} FindRange;

/* Numbers of n_digits, zeros before them among these, whose first digits these are. */
static FindRange task_find_range(uint64_t value, size_t n_given, size_t n_digits) {
        uint64_t more = 1;

        for (size_t i = n_given; i < n_digits; i++)
                more *= 10;
        return (FindRange){value * more, value * more + (more - 1)};
}

/* From the short numbers to the long ones; each has its own first digits, so ranges grow and do not meet. */
static size_t task_find_ranges(Str digits, FindRange ret[FIND_DIGITS_MAX]) {
        uint64_t value;
        size_t n = 0;

        if (!task_find_read(digits, &value))
                return 0;
        for (size_t n_digits = digits.n; n_digits <= FIND_DIGITS_MAX; n_digits++)
                if (digits.data[0] != '0' || n_digits == FIND_PADDED)
                        ret[n++] = task_find_range(value, digits.n, n_digits);
        return n;
}

static uint64_t task_find_first(const TaskRows *rows, uint64_t number) {
        uint64_t low = 0, high = rows->header->n_rows;

        while (low < high) {
                uint64_t middle = low + (high - low) / 2;

                if (rows->rows[middle].number < number)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

static bool task_find_fits(const TaskRows *rows, uint64_t row, FindRange range, Str beginning) {
        const TaskRow *at = &rows->rows[row];
        char id[TASK_FIND_ID_MAX];

        return at->state != TASK_PURGED && at->number >= range.from && at->number <= range.to &&
               task_find_id(rows, row, id) && str_starts(str_from(id), beginning);
}

size_t task_find_beginning(const TaskRows *rows, Str beginning, uint64_t *ret, size_t n_max) {
        FindRange ranges[FIND_DIGITS_MAX];
        bool is_bare, is_sorted = !rows->header->is_unsorted;
        size_t n_ranges = task_find_ranges(task_find_digits(beginning, &is_bare), ranges), n = 0;

        if (is_bare || beginning.n < TASK_FIND_MIN)
                return 0;
        for (size_t i = 0; i < n_ranges; i++) {
                uint64_t row = is_sorted ? task_find_first(rows, ranges[i].from) : 0;

                for (; row < rows->header->n_rows && n < n_max; row++) {
                        if (is_sorted && rows->rows[row].number > ranges[i].to)
                                break;
                        if (task_find_fits(rows, row, ranges[i], beginning))
                                ret[n++] = row;
                }
        }
        return n;
}
