/* SPDX-License-Identifier: MIT */
#include "base/macro.h"
#include "base/test-cmocka.h"
#include "base/metrics.h"

static void test_labels_are_escaped(_unused_ void **state) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Metrics metrics = {.out = &text};

        metrics_family(&metrics, "a_total", "counter", "What it is.");
        metrics_sample(&metrics, NULL, 3);
        metrics_sample(&metrics, METRIC_LABELS({"x", STR("a\"b\\c\nd\033\xff")}, {"y", STR_NULL}), 0.5);
        assert_false(metrics.failed);
        assert_string_equal(buf_cstr(&text),
                            "# HELP a_total What it is.\n# TYPE a_total counter\na_total 3\n"
                            "a_total{x=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\xef\xbf\xbd\",y=\"\"} 0.5\n");
}

int main(void) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_labels_are_escaped)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
