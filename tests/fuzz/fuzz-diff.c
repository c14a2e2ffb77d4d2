/* SPDX-License-Identifier: MIT */
/*
 * Two texts with a NUL between them: the diff of both makes the second of the first, and the second taken as
 * a patch is applied or refused.
 */
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "core/diff.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        const uint8_t *cut = n ? memchr(data, 0, n) : NULL;
        Str before = {(const char *)data, cut ? (size_t)(cut - data) : n};
        Str after = cut ? (Str){(const char *)cut + 1, n - before.n - 1} : STR_NULL;
        _cleanup_(buf_deinit) Buf patch = BUF_NULL;
        _cleanup_(buf_deinit) Buf made = BUF_NULL;
        _cleanup_(buf_deinit) Buf other = BUF_NULL;

        if (diff_make(&patch, STR("f"), before, after) || diff_apply(&made, buf_str(&patch), before))
                abort();
        if (made.n != after.n || (made.n && memcmp(made.data, after.data, made.n) != 0))
                abort();
        (void)diff_apply(&other, after, before);
        return 0;
}
