/* SPDX-License-Identifier: MIT */
/* Budgets, what runs have used together, and bills: as the contract writes them. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/macro.h"
#include "base/test-cmocka.h"
#include "company/govern/bill.h"
#include "company/govern/totals.h"
#include "company/index/index-internal.h"

static Json *parsed(Arena *arena, const char *text) {
        Json *json = NULL;

        assert_int_equal(json_parse(arena, text, strlen(text), NULL, &json, NULL), 0);
        return json;
}

static void expect_text(Buf *text, const char *wanted) {
        assert_string_equal(buf_cstr(text), wanted);
        text->n = 0;
}

/* ---- budgets --------------------------------------------------------------------------------- */

/* The events of a report, a line each. */
static void expect_events(const BudgetReport *report, const char *wanted) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;

        for (BudgetEvent event = BUDGET_EVENT_FIRST; budget_next(report, &event);) {
                JsonWriter w = JSON_WRITER(&text);

                assert_int_equal(buf_printf(&text, "%s ", event.type), 0);
                budget_write(&w, report, &event);
                assert_int_equal(buf_append_str(&text, STR("\n")), 0);
        }
        expect_text(&text, wanted);
}

static BudgetReport judge(const char *budgets, bool is_preflight, const BudgetUsed used[BUDGET_N_SCOPES]) {
        static const char *const scopes[] = {"run", "project", "task"};
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        const Json *json = parsed(&arena, budgets);
        Budget all[BUDGET_N_SCOPES];
        BudgetReport report;

        for (int i = 0; i < BUDGET_N_SCOPES; i++)
                all[i] = budget_of(json_get(json, scopes[i]));
        (is_preflight ? budget_preflight : budget_final)(all, used, &report);
        return report;
}

static void expect_refusal(const BudgetReport *report, const char *wanted) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;

        assert_true(report->is_exceeded);
        assert_string_equal(budget_refusal(&arena, report).data, wanted);
}

static void test_a_threshold_of_nothing_is_reached(_unused_ void **state) {
        const BudgetUsed used[BUDGET_N_SCOPES] = {{0}};
        BudgetReport report = judge("{\"run\":{\"soft_tokens\":0,\"hard_tokens\":0}}", true, used);

        expect_events(&report,
                      "budget.decision {\"scope\":\"run\",\"metric\":\"tokens\",\"severity\":\"soft\","
                      "\"threshold\":0,\"actual\":0,\"result\":\"alert\",\"phase\":\"preflight\"}\n"
                      "budget.decision {\"scope\":\"run\",\"metric\":\"tokens\",\"severity\":\"hard\","
                      "\"threshold\":0,\"actual\":0,\"result\":\"exceeded\",\"phase\":\"preflight\"}\n"
                      "budget.alert {\"scope\":\"run\",\"metric\":\"tokens\",\"severity\":\"soft\","
                      "\"threshold\":0,\"actual\":0,\"phase\":\"preflight\"}\n"
                      "budget.exceeded {\"scope\":\"run\",\"metric\":\"tokens\",\"severity\":\"hard\","
                      "\"threshold\":0,\"actual\":0,\"phase\":\"preflight\"}\n");
        expect_refusal(&report, "Budget preflight blocked launch: run.tokens.hard: actual=0 threshold=0");
}

/* A run begins with nothing, whatever an earlier launch of it has used. */
static void test_a_run_before_and_after(_unused_ void **state) {
        static const char budgets[] = "{\"run\":{\"hard_tokens\":2,\"soft_cost_usd\":5}}";
        const BudgetUsed used[BUDGET_N_SCOPES] = {{.n_tokens = 3}};
        BudgetReport report = judge(budgets, true, used);

        assert_false(report.is_exceeded);
        expect_events(&report,
                      "budget.decision {\"scope\":\"run\",\"metric\":\"cost_usd\",\"severity\":\"soft\","
                      "\"threshold\":5,\"actual\":0,\"result\":\"ok\",\"phase\":\"preflight\"}\n"
                      "budget.decision {\"scope\":\"run\",\"metric\":\"tokens\",\"severity\":\"hard\","
                      "\"threshold\":2,\"actual\":0,\"result\":\"ok\",\"phase\":\"preflight\"}\n");
        report = judge(budgets, false, used);
        assert_true(report.is_exceeded);
        expect_events(&report,
                      "budget.decision {\"scope\":\"run\",\"metric\":\"cost_usd\",\"severity\":\"soft\","
                      "\"threshold\":5,\"actual\":0,\"result\":\"ok\"}\n"
                      "budget.decision {\"scope\":\"run\",\"metric\":\"tokens\",\"severity\":\"hard\","
                      "\"threshold\":2,\"actual\":3,\"result\":\"exceeded\"}\n"
                      "budget.exceeded {\"scope\":\"run\",\"metric\":\"tokens\",\"severity\":\"hard\","
                      "\"threshold\":2,\"actual\":3}\n");
}

static void test_a_project(_unused_ void **state) {
        const BudgetUsed used[BUDGET_N_SCOPES] = {[BUDGET_PROJECT] = {.n_tokens = 5}};
        BudgetReport report = judge("{\"project\":{\"soft_tokens\":1,\"hard_tokens\":3}}", true, used);

        assert_int_equal(report.n, 2);
        expect_refusal(&report,
                       "Budget preflight blocked launch: project.tokens.hard: actual=5 threshold=3");
        report = judge("{\"project\":{\"soft_tokens\":5,\"hard_tokens\":6}}", true, used);
        assert_false(report.is_exceeded);
        assert_int_equal(report.decisions[0].result, BUDGET_ALERT); /* as much is enough */
        assert_int_equal(report.decisions[1].result, BUDGET_OK);
}

static void test_all_scopes_and_metrics_in_order(_unused_ void **state) {
        static const char whole[] = "{\"soft_cost_usd\":0.5,\"hard_cost_usd\":1.25,\"soft_tokens\":10,"
                                    "\"hard_tokens\":20}";
        const BudgetUsed used[BUDGET_N_SCOPES] = {{0.5, 9}, {1.2500000001, 20}, {1.2, 19}};
        _cleanup_(buf_deinit) Buf budgets = BUF_NULL;
        BudgetReport report;
        static const BudgetResult results[] = {
                BUDGET_ALERT, BUDGET_OK,       BUDGET_OK,    BUDGET_OK,       /* run */
                BUDGET_ALERT, BUDGET_EXCEEDED, BUDGET_ALERT, BUDGET_EXCEEDED, /* project */
                BUDGET_ALERT, BUDGET_OK,       BUDGET_ALERT, BUDGET_OK,       /* task */
        };

        assert_int_equal(
                buf_printf(&budgets, "{\"run\":%s,\"project\":%s,\"task\":%s}", whole, whole, whole), 0);
        report = judge(buf_cstr(&budgets), false, used);
        assert_int_equal(report.n, BUDGET_DECISIONS_MAX);
        for (unsigned i = 0; i < report.n; i++) {
                assert_int_equal(report.decisions[i].scope, i / 4);
                assert_int_equal(report.decisions[i].metric, i / 2 % 2);
                assert_int_equal(report.decisions[i].severity, i % 2);
                assert_int_equal(report.decisions[i].result, results[i]);
        }
        expect_refusal(&report, "Budget preflight blocked launch: "
                                "project.cost_usd.hard: actual=1.2500000001 threshold=1.25; "
                                "project.tokens.hard: actual=20 threshold=20");
}

static void test_no_budget(_unused_ void **state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        const BudgetUsed used[BUDGET_N_SCOPES] = {{1e9, 1e9}, {1e9, 1e9}, {1e9, 1e9}};
        BudgetReport report = judge("{\"run\":{},\"project\":null,\"task\":\"x\"}", false, used);
        Budget none = budget_of(NULL), some = budget_of(parsed(&arena, "{\"hard_cost_usd\":0}"));

        assert_int_equal(report.n, 0);
        assert_false(report.is_exceeded);
        expect_events(&report, "");
        assert_true(budget_is_none(&none));
        assert_false(budget_is_none(&some));
}

/* ---- totals ---------------------------------------------------------------------------------- */

static char folder[PATH_MAX - 600];
static int root;
static Index *engine;
static IndexWork work;

static int setup(_unused_ void **state) {
        char name[] = "/tmp/test-budget-XXXXXX";

        if (!mkdtemp(name) || !realpath(name, folder))
                return -1;
        root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return index_make(&engine, root, &work);
}

static int teardown(_unused_ void **state) {
        char command[PATH_MAX];

        engine = index_end(engine);
        close(root);
        snprintf(command, sizeof(command), "rm -rf '%s'", folder);
        return system(command); /* NOLINT: a test tidies up */
}

static void write_run(const char *project, const char *run, const char *task, const char *usage) {
        char path[PATH_MAX];
        FILE *file;

        snprintf(path, sizeof(path), "%s/work/projects/%s/runs/%s", folder, project, run);
        assert_int_equal(dir_make(path, 0755), 0);
        snprintf(path, sizeof(path), "%s/work/projects/%s/runs/%s/run.yaml", folder, project, run);
        file = fopen(path, "w");
        assert_non_null(file);
        fprintf(file,
                "schema_version: 1\ntype: run\nid: %s\nproject_id: %s\nagent_id: a\nprovider: cmd\n"
                "created_at: 2026-01-02T03:04:05.000Z\nstatus: ended\ncontext_pack_id: ctx\n"
                "events_relpath: runs/%s/events.jsonl\n",
                run, project, run);
        if (task)
                fprintf(file, "spec:\n  kind: command\n  argv: []\n  task_id: %s\n", task);
        if (usage)
                fprintf(file, "usage:\n  source: provider_reported\n  confidence: high\n%s", usage);
        fclose(file);
}

static void expect_totals(Index *index, int at, const TotalsAsk *ask, BudgetUsed project, BudgetUsed task) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        BudgetUsed used[BUDGET_N_SCOPES] = {{7, 7}, {7, 7}, {7, 7}};

        assert_int_equal(totals_read(index, at, &arena, ask, used), 0);
        assert_true(used[BUDGET_PROJECT].n_tokens == project.n_tokens &&
                    used[BUDGET_PROJECT].usd == project.usd);
        assert_true(used[BUDGET_TASK].n_tokens == task.n_tokens && used[BUDGET_TASK].usd == task.usd);
}

/* The same from the index, without any folder to walk through, and from the files. */
static void expect_both(const TotalsAsk ask, BudgetUsed project, BudgetUsed task) {
        expect_totals(engine, -1, &ask, project, task);
        expect_totals(NULL, root, &ask, project, task);
}

static void test_totals(_unused_ void **state) {
        const BudgetUsed nothing = {0};

        expect_both((TotalsAsk){.project_id = STR("p")}, nothing, nothing);
        write_run("p", "run_1", NULL,
                  "  total_tokens: 10\n  cost_usd: 0.1\n  cost_source: provider_rate_card\n");
        write_run("p", "run_2", "t1",
                  "  total_tokens: 20\n  cost_usd: 0.2\n  cost_source: provider_rate_card\n");
        write_run("p", "run_3", "t2", "  total_tokens: 5\n  cost_source: no_rate_card\n");
        write_run("p", "run_4", "t1", NULL);
        write_run("q", "run_5", "t1", "  total_tokens: 999\n  cost_source: no_rate_card\n");
        expect_both((TotalsAsk){.project_id = STR("p")}, (BudgetUsed){0.3, 35}, nothing);
        expect_both((TotalsAsk){.project_id = STR("p"), .task_id = STR("t1")}, (BudgetUsed){0.3, 35},
                    (BudgetUsed){0.2, 20});
        expect_both((TotalsAsk){.project_id = STR("p"), .task_id = STR("t1"), .except_run = STR("run_2")},
                    (BudgetUsed){0.1, 15}, nothing);
        expect_both((TotalsAsk){.project_id = STR("none")}, nothing, nothing);
        expect_both((TotalsAsk){.project_id = STR("../p")}, nothing, nothing);
        /* What another has written since is in it. */
        write_run("p", "run_4", "t1", "  total_tokens: 1\n  cost_source: no_rate_card\n");
        expect_both((TotalsAsk){.project_id = STR("p"), .task_id = STR("t1")}, (BudgetUsed){0.3, 36},
                    (BudgetUsed){0.2, 21});
}

static void test_totals_while_another_holds_the_index(_unused_ void **state) {
        char path[PATH_MAX];
        Sql *other = NULL;

        write_run("p", "run_9", NULL, "  total_tokens: 100\n  cost_source: no_rate_card\n");
        snprintf(path, sizeof(path), "%s/.local/index.sqlite", folder);
        assert_int_equal(sql_open(&other, path, &(SqlOptions){.wait_ms = 1000}), 0);
        assert_int_equal(sql_run(other, "BEGIN EXCLUSIVE"), 0);
        engine->wait_ms = 1;
        expect_totals(engine, root, &(TotalsAsk){.project_id = STR("p")}, (BudgetUsed){0.3, 136},
                      (BudgetUsed){0});
        assert_int_equal(sql_run(other, "COMMIT"), 0);
        sql_close(other);
        expect_totals(engine, -1, &(TotalsAsk){.project_id = STR("p")}, (BudgetUsed){0.3, 136},
                      (BudgetUsed){0});
}

/* Steps of the database and files that were looked at, when nothing is new and there are n runs in all. */
static void cost_with(unsigned n_first, unsigned n, uint64_t *steps, uint64_t *looked) {
        const TotalsAsk ask = {.project_id = STR("many"), .task_id = STR("few"), .except_run = STR("run_7")};

        for (unsigned i = n_first; i < n; i++) {
                char run[20];

                snprintf(run, sizeof(run), "run_%u", i);
                write_run("many", run,
                          i % 50    ? NULL
                          : i < 100 ? "few"
                                    : "other",
                          "  total_tokens: 10\n  cost_usd: 0.1\n  cost_source: provider_rate_card\n");
        }
        /* What was written in the last instants, and once a minute everything, is looked at again. */
        for (int try = 0; try < 100; try++) {
                uint64_t steps_before, looked_before, read_before;

                index_count_steps(engine);
                steps_before = work.n_steps, looked_before = work.n_looked, read_before = work.n_read;
                expect_totals(engine, -1, &ask, (BudgetUsed){usage_round(0.1 * (n - 1)), 10.0 * (n - 1)},
                              (BudgetUsed){0.2, 20});
                index_count_steps(engine);
                *steps = work.n_steps - steps_before;
                *looked = work.n_looked - looked_before;
                if (!*looked && work.n_read == read_before)
                        return;
                usleep(10000);
        }
}

static void test_totals_cost_what_is_new(_unused_ void **state) {
        uint64_t steps_small, steps_large, looked;

        cost_with(0, 200, &steps_small, &looked);
        assert_int_equal(looked, 0);
        cost_with(200, 1000, &steps_large, &looked);
        assert_int_equal(looked, 0);
        assert_true(steps_large <= steps_small + 50);
}

/* ---- bills ----------------------------------------------------------------------------------- */

static const char cards[] =
        "{\"cmd\":{\"input\":1.5,\"cached_input\":0.5,\"output\":2,\"reasoning_output\":3},"
        "\"default\":{\"input\":1,\"output\":1}}";

/* `usage` and `context_cycles` of a run that printed this. */
static void expect_bill(const char *provider, const char *with_cards, const char *output,
                        const char *wanted) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(usage_meter_deinit) UsageMeter meter = {0};
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        Bill bill;

        assert_int_equal(usage_meter_feed(&meter, USAGE_STDOUT, str_from(output), NULL), 0);
        usage_meter_end(&meter, NULL);
        bill_make(&bill, &meter, 0, str_from(provider), parsed(&arena, with_cards));
        jw_begin_array(&w);
        bill_write_usage(&w, &bill);
        bill_write_cycles(&w, &meter);
        if (bill.is_estimate)
                bill_write_estimated(&w, &bill);
        if (bill.has_cost)
                bill_write_cost(&w, &bill);
        jw_end_array(&w);
        expect_text(&text, wanted);
}

static void test_bills(_unused_ void **state) {
        expect_bill("cmd", cards,
                    "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":1000,"
                    "\"cached_input_tokens\":200,\"output_tokens\":100}}\nplain\n",
                    "[{\"source\":\"provider_reported\",\"confidence\":\"high\",\"provider\":\"cmd\","
                    "\"input_tokens\":1000,\"cached_input_tokens\":200,\"output_tokens\":100,"
                    "\"total_tokens\":1300,\"captured_from_event_type\":\"usage\",\"cost_usd\":1.8,"
                    "\"cost_currency\":\"USD\",\"cost_source\":\"provider_rate_card\","
                    "\"cost_rate_card_provider\":\"cmd\"},{\"count\":0,\"source\":\"unavailable\"},"
                    "{\"cost_usd\":1.8,\"currency\":\"USD\",\"source\":\"provider_rate_card\","
                    "\"rate_card_provider\":\"cmd\"}]");
        expect_bill("other", cards,
                    "{\"prompt_tokens\":7,\"completion_tokens\":5}\n"
                    "{\"msg\":{\"total_token_usage\":{\"total_tokens\":99}}}\n",
                    "[{\"source\":\"provider_reported\",\"confidence\":\"high\",\"provider\":\"other\","
                    "\"total_tokens\":99,\"captured_from_event_type\":\"total_token_usage\","
                    "\"cost_usd\":0.099,\"cost_currency\":\"USD\",\"cost_source\":\"provider_rate_card\","
                    "\"cost_rate_card_provider\":\"default\"},{\"count\":0,\"source\":\"unavailable\"},"
                    "{\"cost_usd\":0.099,\"currency\":\"USD\",\"source\":\"provider_rate_card\","
                    "\"rate_card_provider\":\"default\"}]");
        expect_bill("cmd", cards, "{\"context_compacted\":true,\"info\":{\"compaction_count\":2}}\n",
                    "[{\"source\":\"estimated_chars\",\"confidence\":\"low\",\"estimate_method\":"
                    "\"estimated from character counts using tokens≈chars/4\",\"provider\":\"cmd\","
                    "\"input_tokens\":0,\"output_tokens\":15,\"total_tokens\":15,\"cost_usd\":0.03,"
                    "\"cost_currency\":\"USD\",\"cost_source\":\"provider_rate_card\","
                    "\"cost_rate_card_provider\":\"cmd\"},{\"count\":3,\"source\":\"provider_signal\","
                    "\"signal_types\":[\"context_compacted\",\"info.compaction_count\"]},"
                    "{\"source\":\"estimated_chars\",\"confidence\":\"low\",\"estimate_method\":"
                    "\"estimated from character counts using tokens≈chars/4\",\"provider\":\"cmd\","
                    "\"input_tokens\":0,\"output_tokens\":15,\"total_tokens\":15},"
                    "{\"cost_usd\":0.03,\"currency\":\"USD\",\"source\":\"provider_rate_card\","
                    "\"rate_card_provider\":\"cmd\"}]");
        expect_bill("cmd", "null", "hello\n",
                    "[{\"source\":\"estimated_chars\",\"confidence\":\"low\",\"estimate_method\":"
                    "\"estimated from character counts using tokens≈chars/4\",\"provider\":\"cmd\","
                    "\"input_tokens\":0,\"output_tokens\":2,\"total_tokens\":2,"
                    "\"cost_source\":\"no_rate_card\"},{\"count\":0,\"source\":\"unavailable\"},"
                    "{\"source\":\"estimated_chars\",\"confidence\":\"low\",\"estimate_method\":"
                    "\"estimated from character counts using tokens≈chars/4\",\"provider\":\"cmd\","
                    "\"input_tokens\":0,\"output_tokens\":2,\"total_tokens\":2}]");
        expect_bill("cmd", "{}", "{\"cycle\":1}\n{\"cycle\":2}\n{\"usage\":{\"total_tokens\":1}}\n",
                    "[{\"source\":\"provider_reported\",\"confidence\":\"high\",\"provider\":\"cmd\","
                    "\"total_tokens\":1,\"captured_from_event_type\":\"usage\","
                    "\"cost_source\":\"no_rate_card\"},{\"count\":3,\"source\":\"provider_signal\","
                    "\"signal_types\":[\"cycle\"]}]");
}

static void test_events_of_usage(_unused_ void **state) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text), next = JSON_WRITER(&text);

        bill_write_reported(&w,
                            &(UsageCount){.n_input = 11,
                                          .n_cached = USAGE_UNSAID,
                                          .n_output = 4,
                                          .n_reasoning = USAGE_UNSAID,
                                          .n_total = 15,
                                          .from = STR("usage")},
                            STR("codex"));
        expect_text(&text,
                    "{\"source\":\"provider_reported\",\"confidence\":\"high\",\"provider\":\"codex\","
                    "\"input_tokens\":11,\"output_tokens\":4,\"total_tokens\":15,"
                    "\"captured_from_event_type\":\"usage\"}");
        bill_write_cycle(&next, USAGE_NOTIFICATION, &(UsageCycle){2, STR("info.compaction_count")});
        expect_text(&text, "{\"count\":2,\"signal_type\":\"info.compaction_count\","
                           "\"source\":\"provider_notification\"}");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_threshold_of_nothing_is_reached),
                cmocka_unit_test(test_a_run_before_and_after),
                cmocka_unit_test(test_a_project),
                cmocka_unit_test(test_all_scopes_and_metrics_in_order),
                cmocka_unit_test(test_no_budget),
                cmocka_unit_test(test_totals),
                cmocka_unit_test(test_totals_while_another_holds_the_index),
                cmocka_unit_test(test_totals_cost_what_is_new),
                cmocka_unit_test(test_bills),
                cmocka_unit_test(test_events_of_usage),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
