/* SPDX-License-Identifier: MIT */
/* JSON without memory: every call that can fail says so, and nothing leaks. */
#include <errno.h>
#include <stdlib.h>

#include "base/test-cmocka.h"
#include "base/json/json-writer.h"

/* malloc() of this program fails from the n-th call on while `n_left` counts. */
static long n_left = -1;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static bool spend(void) {
        return n_left < 0 || (n_left > 0 && n_left-- > 0);
}

void *__wrap_malloc(size_t n) {
        return spend() ? __real_malloc(n) : NULL;
}

void *__wrap_calloc(size_t n, size_t size) {
        return spend() ? __real_calloc(n, size) : NULL;
}

void *__wrap_realloc(void *p, size_t n) {
        return spend() ? __real_realloc(p, n) : NULL;
}

/* All that can fail, in one row; stops at the first that does. */
static int do_everything(Arena *a, Buf *buf, Buf *stream, const Buf *text, const JsonLimits *limits) {
        Json *tree = NULL, *copy, *again = NULL;
        JsonWriter w = JSON_WRITER(stream);
        int r;

        r = json_parse(a, text->data, text->n, limits, &tree, NULL);
        if (r)
                return r;
        copy = json_clone(a, tree);
        if (!copy)
                return -ENOMEM;
        r = json_set(a, copy, STR("new"), json_new_str(a, STR("x")));
        if (r)
                return r;
        r = json_write(buf, copy);
        if (r) {
                assert_int_equal(buf->n, 0);
                return r;
        }
        r = json_parse(a, buf->data, buf->n, limits, &again, NULL);
        if (r)
                return r;
        jw_value(&w, again);
        jw_str(&w, STR("text"));
        return w.failed ? -ENOMEM : json_equal(copy, again) ? 0 : -ENOMEM;
}

static void test_without_memory(void **state) {
        JsonLimits limits = {.n_depth = 1000};
        Buf text = BUF_NULL;
        int n_failed = 0, r;

        (void)state;
        assert_int_equal(buf_append(&text, "{\"deep\":", 8), 0);
        for (int i = 0; i < 300; i++)
                assert_int_equal(buf_append(&text, "[", 1), 0);
        for (int i = 0; i < 300; i++)
                assert_int_equal(buf_append(&text, "]", 1), 0);
        for (int i = 0; i < 200; i++)
                assert_int_equal(buf_printf(&text, ",\"key%d\":\"a longer text \\n with escapes %d\"", i, i),
                                 0);
        assert_int_equal(buf_append(&text, "}", 1), 0);
        for (long n = 0;; n++) {
                Arena a = ARENA_NULL;
                Buf buf = BUF_NULL, stream = BUF_NULL;

                n_left = n;
                r = do_everything(&a, &buf, &stream, &text, &limits);
                n_left = -1;
                arena_deinit(&a);
                buf_deinit(&buf);
                buf_deinit(&stream);
                if (r == 0)
                        break;
                assert_int_equal(r, -ENOMEM);
                n_failed++;
        }
        assert_in_range(n_failed, 10, 1000);
        buf_deinit(&text);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_without_memory),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
