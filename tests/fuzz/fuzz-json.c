/* SPDX-License-Identifier: MIT */
/*
 * What the reader takes, the writer gives back: compact and pretty, of the tree and of its copy, again and
 * again the same bytes. The input is in a block of its own size, so that a read behind it is seen.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/json/json-writer.h"
#include "base/utf8.h"
#include "fuzz.h"

static Json *parse(Arena *arena, const Buf *text) {
        Json *tree = NULL;

        FUZZ_CHECK(json_parse(arena, text->data, text->n, NULL, &tree, NULL) == 0);
        FUZZ_CHECK(str_eq(json_raw(tree), str_trim(buf_str(text))));
        return tree;
}

/* Numbers must convert or refuse, and what converts must agree. */
static void check_numbers(const Json *tree) {
        json_each (item, tree) {
                int64_t i;
                uint64_t u;
                double d;

                if (item->type != JSON_NUMBER)
                        continue;
                if (json_int64(item, &i) && json_uint64(item, &u))
                        FUZZ_CHECK(i >= 0 && (uint64_t)i == u);
                if (json_int64(item, &i) && json_double(item, &d))
                        FUZZ_CHECK((double)i == d);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        Arena arena = ARENA_NULL;
        Buf out = BUF_NULL, again = BUF_NULL, pretty = BUF_NULL;
        Json *tree = NULL, *back, *copy;
        JsonFault fault = {SIZE_MAX, NULL};
        int r;

        r = json_parse(&arena, (const char *)data, n, NULL, &tree, &fault);
        FUZZ_CHECK(r >= 0);
        if (r) {
                FUZZ_CHECK(fault.what && fault.offset <= n && !tree);
                arena_deinit(&arena);
                return 0;
        }
        FUZZ_CHECK(utf8_valid_prefix((const char *)data, n) == n);
        check_numbers(tree);

        FUZZ_CHECK(json_write(&out, tree) == 0);
        back = parse(&arena, &out);
        FUZZ_CHECK(json_equal(tree, back) && json_equal(back, tree));
        FUZZ_CHECK(json_write(&again, back) == 0);
        FUZZ_CHECK(str_eq(buf_str(&out), buf_str(&again)));

        copy = json_clone(&arena, tree);
        FUZZ_CHECK(json_equal(tree, copy));
        again.n = 0;
        FUZZ_CHECK(json_write(&again, copy) == 0);
        back = parse(&arena, &again);
        FUZZ_CHECK(json_equal(back, tree));

        FUZZ_CHECK(json_write_pretty(&pretty, tree, 2) == 0);
        back = parse(&arena, &pretty);
        FUZZ_CHECK(json_equal(back, tree));
        again.n = 0;
        FUZZ_CHECK(json_write(&again, back) == 0);
        FUZZ_CHECK(str_eq(buf_str(&out), buf_str(&again)));

        buf_deinit(&out);
        buf_deinit(&again);
        buf_deinit(&pretty);
        arena_deinit(&arena);
        return 0;
}
