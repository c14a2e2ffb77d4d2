/* SPDX-License-Identifier: MIT */
#include "base/strvec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

int strvec_push(StrVec *vec, const char *item) {
        char **items = realloc(vec->items, (vec->n + 1) * sizeof(*items));

        if (!items)
                return error_origin(-ENOMEM);
        vec->items = items;
        items[vec->n] = strdup(item);
        if (!items[vec->n])
                return error_origin(-ENOMEM);
        vec->n++;
        return 0;
}

int strvec_append(StrVec *vec, const StrVec *more) {
        int r = 0;

        for (size_t i = 0; !r && i < more->n; i++)
                r = strvec_push(vec, more->items[i]);
        return error_trace(r);
}

void strvec_deinit(StrVec *vec) {
        for (size_t i = 0; i < vec->n; i++)
                free(vec->items[i]);
        free(vec->items);
        *vec = (StrVec){0};
}

char **strvec_list(const StrVec *vec) {
        char **list = calloc(vec->n + 1, sizeof(*list));

        if (list && vec->n)
                memcpy(list, vec->items, vec->n * sizeof(*list));
        return list;
}
