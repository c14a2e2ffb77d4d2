/* SPDX-License-Identifier: MIT */
#include "cli/print/nearest.h"

#include <string.h>

#include "base/macro.h"

static unsigned min3(unsigned a, unsigned b, unsigned c) {
        return MIN(MIN(a, b), c);
}

/* Optimal string alignment distance, row by row; only the last two rows are kept. */
static unsigned distance(const char *a, size_t n_a, const char *b, size_t n_b) {
        unsigned rows[3][NEAREST_WORD_MAX + 1];

        for (size_t j = 0; j <= n_b; j++)
                rows[0][j] = (unsigned)j;
        for (size_t i = 1; i <= n_a; i++) {
                unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];

                row[0] = (unsigned)i;
                for (size_t j = 1; j <= n_b; j++) {
                        row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
                        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                                row[j] = MIN(row[j], above2[j - 2] + 1);
                }
        }
        return rows[n_a % 3][n_b];
}

bool nearest_offer(Nearest *nearest, const char *candidate) {
        size_t n = strlen(nearest->word), n_candidate = strlen(candidate);
        unsigned d;

        if (!n || n > NEAREST_WORD_MAX || n_candidate > NEAREST_WORD_MAX)
                return false;
        d = distance(nearest->word, n, candidate, n_candidate);
        if (d > MAX(n / 3, (size_t)1) || d >= MAX(n, n_candidate)) {
                if (n < 2 || strncmp(candidate, nearest->word, n) != 0)
                        return false;
                d = NEAREST_WORD_MAX + d; /* behind every real likeness */
        }
        if (nearest->best && d >= nearest->distance)
                return false;
        nearest->best = candidate;
        nearest->distance = d;
        return true;
}
