#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * StrVec: a list of strings that grows. It owns its strings. Zeroed is empty.
 */
#include <stddef.h>

typedef struct StrVec {
        char **items;
        size_t n;
} StrVec;

int strvec_push(StrVec *vec, const char *item);     /* copies */
int strvec_append(StrVec *vec, const StrVec *more); /* copies all of them */
void strvec_deinit(StrVec *vec);
char **strvec_list(
        const StrVec *vec); /* NULL-terminated; to be freed, its strings are vec's; NULL without memory */
