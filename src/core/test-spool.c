/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/test-cmocka.h"
#include "core/spool.h"

/* An array of n objects of about 1 KiB each. */
static void write_objects(JsonWriter *w, size_t n) {
        static char filling[1000];

        memset(filling, 'x', sizeof(filling));
        jw_begin_array(w);
        for (size_t i = 0; i < n; i++) {
                jw_begin_object(w);
                jw_field_uint(w, "number", i);
                jw_field_str(w, "filling", (Str){filling, sizeof(filling)});
                jw_end_object(w);
        }
        jw_end_array(w);
}

/* All of it, from file and memory. */
static Buf text_of(const Spool *spool) {
        Buf all = BUF_NULL;
        uint64_t at = 0;

        while (spool->fd >= 0 && at < spool->n_kept)
                assert_int_equal(spool_read(spool, &at, &all), 0);
        assert_int_equal(buf_append_str(&all, buf_str(&spool->text)), 0);
        return all;
}

static void expect_same(const Spool *spool, size_t n) {
        _cleanup_(buf_deinit) Buf expected = BUF_NULL;
        _cleanup_(buf_deinit) Buf all = text_of(spool);
        JsonWriter w = JSON_WRITER(&expected);

        write_objects(&w, n);
        assert_int_equal(all.n, expected.n);
        assert_memory_equal(all.data, expected.data, all.n);
}

static void test_a_short_text_stays_in_memory(_unused_ void **state) {
        _cleanup_(spool_deinit) Spool spool;

        spool_init(&spool, "/nowhere");
        write_objects(&spool.w, 10);
        assert_int_equal(spool_end(&spool), 0);
        assert_int_equal(spool.fd, -1);
        expect_same(&spool, 10);
}

static void test_a_long_one_is_in_a_file_as_a_whole(_unused_ void **state) {
        _cleanup_(spool_deinit) Spool spool;

        spool_init(&spool, "/tmp");
        write_objects(&spool.w, 5000);
        assert_true(spool.text.cap <= 4 * (size_t)SPOOL_MEMORY_BYTES);
        assert_int_equal(spool_end(&spool), 0);
        assert_true(spool.fd >= 0);
        assert_int_equal(spool.text.n, 0);
        expect_same(&spool, 5000);
}

static void test_one_behind_the_other(_unused_ void **state) {
        for (size_t n = 10; n <= 5000; n += 4990) {
                _cleanup_(spool_deinit) Spool spool;
                _cleanup_(spool_deinit) Spool other;
                _cleanup_(buf_deinit) Buf all = BUF_NULL;

                spool_init(&spool, "/tmp");
                spool_init(&other, "/tmp");
                write_objects(&other.w, n);
                jw_begin_array(&spool.w);
                spool_take(&spool, &other);
                jw_end_array(&spool.w);
                assert_int_equal(spool_end(&spool), 0);
                all = text_of(&spool);
                assert_true(all.n > n * 1000 && !memcmp(all.data, "[[{\"number\":0,", 14));
                assert_memory_equal(all.data + all.n - 3, "}]]", 3);
        }
}

static void test_a_file_that_cannot_be_made(_unused_ void **state) {
        _cleanup_(spool_deinit) Spool spool;

        spool_init(&spool, "/nowhere/at/all");
        write_objects(&spool.w, 5000);
        assert_true(spool.w.failed);
        assert_int_equal(spool_end(&spool), -ENOENT);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_short_text_stays_in_memory),
                cmocka_unit_test(test_a_long_one_is_in_a_file_as_a_whole),
                cmocka_unit_test(test_one_behind_the_other),
                cmocka_unit_test(test_a_file_that_cannot_be_made),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
