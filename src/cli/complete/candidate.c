/* SPDX-License-Identifier: MIT */
#include "cli/complete/candidate.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "cli/print/report.h"

enum { SUMMARY_MAX = 60 };

void candidate_put(const char *current, Str name, Str summary) {
        size_t n = strlen(current);

        if (name.n < n || memcmp(name.data, current, n) != 0 || memchr(name.data, '\n', name.n))
                return;
        text_put(stdout, name);
        if (summary.n) {
                const char *end = memchr(summary.data, '\n', summary.n);

                putchar('\t');
                text_put(stdout,
                         utf8_first(end ? (Str){summary.data, (size_t)(end - summary.data)} : summary,
                                    SUMMARY_MAX));
        }
        putchar('\n');
}

void candidate_put_words(const char *current, const char *words) {
        while (*words) {
                size_t n = strcspn(words, " ");

                candidate_put(current, (Str){words, n}, STR_NULL);
                words += n + strspn(words + n, " ");
        }
}
