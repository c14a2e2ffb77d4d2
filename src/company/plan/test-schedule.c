/* SPDX-License-Identifier: MIT */
/* The critical path: a diamond, a cycle, unknown ids, nothing. Values of the contract's section 16. */
#include "base/test-cmocka.h"
#include "base/macro.h"
#include "company/plan/schedule.h"

static Arena arena;

static PlanTask task(const char *id, const char *schedule) {
        const char *text = arena_printf(&arena, "{\"id\":\"%s\",\"schedule\":%s}", id, schedule).data;
        Json *json = NULL;

        assert_int_equal(json_parse(&arena, text, strlen(text), NULL, &json, NULL), 0);
        return (PlanTask){.task_id = str_from(id), .matter = json};
}

static const PlanBar *bar_of(const PlanChart *chart, const char *id) {
        for (size_t i = 0; i < chart->n; i++)
                if (str_is(chart->bars[i].task->task_id, id))
                        return &chart->bars[i];
        fail();
        return NULL;
}

static double slack_of(const PlanChart *chart, const char *id) {
        const PlanBar *bar = bar_of(chart, id);

        return bar->latest_start_day - bar->start_day;
}

static void test_diamond(_unused_ void **state) {
        PlanTask items[] = {
                task("e", "{\"duration_days\":1,\"depends_on_task_ids\":[\"l\",\"r\",\"nobody\",\"e\"]}"),
                task("r", "{\"duration_days\":1,\"depends_on_task_ids\":[\"s\"]}"),
                task("l", "{\"duration_days\":5,\"depends_on_task_ids\":[\"s\"]}"),
                task("s", "{\"duration_days\":2,\"planned_start\":\"2026-03-01T00:00:00.000Z\"}"),
        };
        PlanChart chart;

        assert_int_equal(plan_chart(&arena, &(PlanTasks){items, ARRAY_SIZE(items)}, 0, &chart), 0);
        assert_false(chart.has_cycle);
        assert_true(chart.span_days == 8);
        assert_true(slack_of(&chart, "r") == 4);
        assert_true(slack_of(&chart, "s") == 0 && slack_of(&chart, "l") == 0 && slack_of(&chart, "e") == 0);
        assert_string_equal(chart.bars[0].task->task_id.data, "s");
        assert_true(bar_of(&chart, "e")->start_us - chart.bars[0].start_us == INT64_C(7) * 86400 * 1000000);
}

static void test_cycle(_unused_ void **state) {
        PlanTask items[] = {
                task("d", "{}"),
                task("c", "{\"planned_start\":\"2026-03-05T00:00:00Z\",\"planned_end\":\"2026-03-07T12:00:"
                          "00Z\"}"),
                task("b", "{\"duration_days\":2,\"depends_on_task_ids\":[\"a\"]}"),
                task("a", "{\"depends_on_task_ids\":[\"b\"]}"),
        };
        PlanChart chart;

        assert_int_equal(plan_chart(&arena, &(PlanTasks){items, ARRAY_SIZE(items)}, 0, &chart), 0);
        assert_true(chart.has_cycle);
        assert_true(chart.span_days == 3);
        assert_true(slack_of(&chart, "d") == 2 && slack_of(&chart, "c") == 0 && slack_of(&chart, "b") == 0);
        assert_int_equal(bar_of(&chart, "c")->duration_days, 3);
}

static void test_nothing(_unused_ void **state) {
        PlanChart chart;

        assert_int_equal(plan_chart(&arena, &(PlanTasks){0}, 5, &chart), 0);
        assert_true(chart.n == 0 && chart.span_days == 0 && !chart.has_cycle);
        assert_true(plan_percent(0.375) == 37.5 && plan_percent(1.0 / 3) == 33.3);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_diamond),
                cmocka_unit_test(test_cycle),
                cmocka_unit_test(test_nothing),
        };
        int r = cmocka_run_group_tests(tests, NULL, NULL);

        arena_deinit(&arena);
        return r;
}
