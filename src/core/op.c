/* SPDX-License-Identifier: MIT */
#include "core/op.h"

#include "base/macro.h"

/* Bytewise, as the generator sorts. */
static int compare_name(Str name, const char *other) {
        size_t n = strlen(other);
        int order = memcmp(name.n ? name.data : "", other, MIN(name.n, n));

        return order ? order : (name.n > n) - (name.n < n);
}

const Op *op_find(const OpTable *table, Str name) {
        size_t low = 0, high = table->n_ops;

        while (low < high) {
                size_t middle = low + (high - low) / 2;
                const Op *op = &table->ops[middle];
                int order = compare_name(name, op->name);

                if (order == 0)
                        return op;
                if (order < 0)
                        high = middle;
                else
                        low = middle + 1;
        }
        return NULL;
}
