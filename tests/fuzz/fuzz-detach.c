/* SPDX-License-Identifier: MIT */
/*
 * The keys that leave: wherever the reads cut what a terminal sends, the program gets the same bytes and the
 * person leaves at the same one; nothing is made up, and without any of the keys nothing is lost.
 *
 *   byte 0     which keys, and the seed of the sizes of the pieces
 *   then       what is typed
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/macro.h"
#include "cli/term/detach.h"
#include "fuzz.h"

static void take(Detach *detach, Str bytes, Buf *out) {
        char *block = malloc(bytes.n ? bytes.n : 1);

        FUZZ_CHECK(block);
        if (bytes.n)
                memcpy(block, bytes.data, bytes.n);
        FUZZ_CHECK(!detach_feed(detach, (Str){block, bytes.n}, out));
        free(block);
}

static void take_pieces(Detach *detach, Str typed, unsigned seed, Buf *out) {
        while (typed.n) {
                size_t n;

                seed = seed * 1103515245u + 12345u;
                n = MIN(typed.n, 1 + (seed >> 16) % 7);
                take(detach, (Str){typed.data, n}, out);
                typed = (Str){typed.data + n, typed.n - n};
        }
}

/* In the order in which they were typed. */
static bool is_part_of(Str passed, Str typed) {
        size_t at = 0;

        for (size_t i = 0; i < typed.n && at < passed.n; i++)
                at += passed.data[at] == typed.data[i];
        return at == passed.n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        static const char *const names[] = {"C-]", "C-a,d", "C-p,C-q", "none"};
        Detach whole = {.vt = VT_NULL}, pieces = {.vt = VT_NULL};
        Buf a = BUF_NULL, b = BUF_NULL;
        DetachKeys keys;
        Str typed;

        if (!n)
                return 0;
        typed = (Str){(const char *)data + 1, n - 1};
        FUZZ_CHECK(!detach_keys_parse(names[data[0] % ARRAY_SIZE(names)], &keys));
        whole.keys = pieces.keys = &keys;
        whole.is_watching = pieces.is_watching = data[0] & 4;
        take(&whole, typed, &a);
        take_pieces(&pieces, typed, data[0], &b);
        FUZZ_CHECK(str_eq(buf_str(&a), buf_str(&b)) && whole.leaves == pieces.leaves &&
                   whole.at == pieces.at);
        FUZZ_CHECK(!detach_end(&whole, &a));
        FUZZ_CHECK(is_part_of(buf_str(&a), typed));
        if (!keys.n && !whole.is_watching)
                FUZZ_CHECK(str_eq(buf_str(&a), typed) && !whole.leaves);
        buf_deinit(&a);
        buf_deinit(&b);
        detach_deinit(&whole);
        detach_deinit(&pieces);
        return 0;
}
