/* SPDX-License-Identifier: MIT */
#include "cli/print/progress.h"

#include <stdlib.h>
#include <string.h>

#include "base/test-cmocka.h"
#include "base/macro.h"
#include "cli/link/connect.h"

static char *shown;
static size_t n_shown;

static Progress progress_since(int64_t ms) {
        return (Progress){
                .out = open_memstream(&shown, &n_shown), .what = "g_1", .begin_ms = clock_ms() - ms};
}

static const char *progress_text(Progress *progress) {
        fflush(progress->out);
        return shown;
}

static void test_quick_is_silent(_unused_ void **state) {
        Progress progress = progress_since(0);

        progress_tell(&progress, 1, 2);
        progress_end(&progress);
        assert_string_equal(progress_text(&progress), "");
        fclose(progress.out);
        free(shown);
}

static void test_slow_is_told_and_wiped(_unused_ void **state) {
        Progress progress = progress_since(5000);

        progress_tell(&progress, 43, 100);
        progress_tell(&progress, 44, 100); /* too soon after the first */
        assert_string_equal(progress_text(&progress), "\r\x1b[Kg_1: 43 %");
        progress_end(&progress);
        progress_end(&progress);
        assert_string_equal(progress_text(&progress), "\r\x1b[Kg_1: 43 %\r\x1b[K");
        fclose(progress.out);
        free(shown);
}

static void test_nobody_looks(_unused_ void **state) {
        Progress progress = {.what = "g_1", .begin_ms = clock_ms() - 5000};

        progress_tell(&progress, 1, 2);
        progress_end(&progress);
        assert_int_equal(progress.told_ms, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_quick_is_silent),
                cmocka_unit_test(test_slow_is_told_and_wiped),
                cmocka_unit_test(test_nobody_looks),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
