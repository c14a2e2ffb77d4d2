/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/test-cmocka.h"
#include "core/host/host-internal.h"
#include "core/host/load-file.h"
#include "core/host/load.h"

typedef struct LoadPlace {
        char dir[64], path[80];
} LoadPlace;

static void load_place_make(LoadPlace *place) {
        strcpy(place->dir, "/tmp/mustloadXXXXXX");
        assert_non_null(mkdtemp(place->dir));
        snprintf(place->path, sizeof(place->path), "%s/fine", place->dir);
}

static void load_place_remove(const LoadPlace *place) {
        (void)unlink(place->path);
        assert_int_equal(rmdir(place->dir), 0);
}

/* The oldest are overwritten, in order, and the file does not grow. */
static void test_ring_of_records(_unused_ void **state) {
        enum { BATCH = 30000, BATCHES = 15 };
        LoadRecord *batch = calloc(BATCH, sizeof(*batch)), *got = NULL;
        LoadPlace place;
        struct stat st;
        size_t n = 0;

        load_place_make(&place);
        assert_int_equal(load_file_read(place.path, &got, &n), 0);
        assert_int_equal(n, 0);
        for (uint32_t b = 0; b < BATCHES; b++) {
                for (uint32_t i = 0; i < BATCH; i++)
                        batch[i] = (LoadRecord){.id = 7, .at_s = b * BATCH + i};
                assert_int_equal(load_file_append(place.path, batch, BATCH), 0);
        }
        assert_int_equal(load_file_read(place.path, &got, &n), 0);
        assert_int_equal(n, LOAD_RECORDS);
        for (size_t i = 0; i < n; i++)
                assert_int_equal(got[i].at_s, BATCH * BATCHES - LOAD_RECORDS + i);
        assert_int_equal(stat(place.path, &st), 0);
        assert_int_equal(st.st_size, 24 + 24 * (off_t)LOAD_RECORDS);
        free(got);
        free(batch);
        load_place_remove(&place);
}

static void test_steps(_unused_ void **state) {
        const LoadRecord records[] = {{.id = 1, .at_s = 1000, .cpu_ms = 5, .rss_kb = 9, .n_bytes = 1},
                                      {.id = 2, .at_s = 1001, .cpu_ms = 1},
                                      {.id = 1, .at_s = 1010, .cpu_ms = 6, .rss_kb = 7, .n_bytes = 2},
                                      {.id = 1, .at_s = 1020, .cpu_ms = 7, .rss_kb = 8, .n_bytes = 4},
                                      {.id = 1, .at_s = 990, .cpu_ms = 1}, /* a clock that was set back */
                                      {.id = 1, .at_s = 2000, .cpu_ms = 100} /* not asked for */};
        const uint64_t ids[] = {1};
        LoadPlace place;
        LoadQuestion q = {
                .path = place.path, .from_s = 900, .to_s = 1500, .step_s = 20, .ids = ids, .n_ids = 1};

        load_place_make(&place);
        assert_int_equal(load_file_append(place.path, records, ARRAY_SIZE(records)), 0);
        load_question_run(&q);
        assert_int_equal(q.r, 0);
        assert_int_equal(q.n_series, 1);
        assert_int_equal(q.series[0].n, 2);
        assert_int_equal(q.series[0].points[0].at_s, 1000);
        assert_int_equal(q.series[0].points[0].cpu_ms, 11);
        assert_int_equal(q.series[0].points[0].rss_kb, 9);
        assert_int_equal(q.series[0].points[0].n_bytes, 3);
        assert_int_equal(q.series[0].points[1].at_s, 1020);
        assert_int_equal(q.series[0].points[1].cpu_ms, 8);
        assert_false(q.is_cut);
        load_question_deinit(&q);
        load_place_remove(&place);
}

static void test_titles(_unused_ void **state) {
        static const char *const rows[][2] = {{"one", "one"},
                                              {"\xe2\xa0\x8b one", "one"},
                                              {"\xe2\x9c\xb3 one two", "one two"},
                                              {"* 3 files", "3 files"},
                                              {"  ", ""},
                                              {"", ""},
                                              {"\xc3\xa9t\xc3\xa9", "\xc3\xa9t\xc3\xa9"}};

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                assert_true(str_is(host_title_words(str_from(rows[i][0])), rows[i][1]));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_ring_of_records),
                cmocka_unit_test(test_steps),
                cmocka_unit_test(test_titles),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
