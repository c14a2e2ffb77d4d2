#pragma once
/* SPDX-License-Identifier: MIT */
/* What every fuzzer has: its entry, and a check that ends it where it is. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define FUZZ_CHECK(x)                                                                                       \
        do {                                                                                                \
                if (!(x)) {                                                                                 \
                        fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #x);                   \
                        abort();                                                                            \
                }                                                                                           \
        } while (0)
