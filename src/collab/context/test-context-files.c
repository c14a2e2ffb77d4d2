/* SPDX-License-Identifier: MIT */
/* The files of a context: what others wrote, what breaks, versions, bounds, the cache. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "collab/context/test-context-fixture.h"

static void test_unknown_members(void **state) {
        Place *place = *state;
        const char *text;

        place_write_file(place, "context.yaml",
                         "future: {a: [1, 2]}\nmilestones:\n- id: M4\n  color: red\n  status: pending\n");
        place_write_file(place, "tasks/T007.yaml",
                         "owner: me\nid: T007\nname: hand\nsteps:\n- id: S1\n  weight: 3\n");
        place_write_file(place, "tasks/Tfoo.yaml", "id: Tfoo\n");
        place_load(place);
        assert_has(place_summary(place),
                   "{\"id\":\"M4\",\"name\":\"\",\"description\":\"\",\"status\":\"planned\"");
        assert_has(place_store(
                           place,
                           "[{\"op\":\"milestone.update\",\"milestone_id\":\"M4\",\"status\":\"active\"},"
                           "{\"op\":\"milestone.create\"},{\"op\":\"task.create\"},"
                           "{\"op\":\"task.update\",\"task_id\":\"T007\",\"step_id\":\"S1\",\"step_status\":"
                           "\"in_progress\"}]"),
                   "Created M5");
        text = place_read_file(place, "context.yaml");
        assert_has(text, "color: red");
        assert_has(text, "future:");
        assert_true(strstr(text, "future:") > strstr(text, "references:"));
        assert_has(place_read_file(place, "tasks/T007.yaml"), "owner: me");
        assert_has(place_read_file(place, "tasks/T007.yaml"), "weight: 3");
        assert_int_equal(strncmp(place_read_file(place, "tasks/T007.yaml"), "id: T007\n", 9), 0);
}

static void test_broken_files(void **state) {
        Place *place = *state;

        place_write_file(place, "context.yaml", "vision: [unclosed\n");
        place_write_file(place, "tasks/T003.yaml", "- a list\n");
        place_write_file(place, "presence.yaml", "");
        place_load(place);
        assert_has(place_summary(place), "\"version\":\"e3b0c44298fc\",\"vision\":null");
        assert_refused(place, "[{\"op\":\"task.update\",\"task_id\":\"T003\"}]", "Task not found: T003");
        assert_has(place_store(place,
                               "[{\"op\":\"vision.update\",\"vision\":\"v\"},{\"op\":\"task.create\"},"
                               "{\"op\":\"presence.update\",\"agent_id\":\"a\"}]"),
                   "Created T004");
        assert_string_equal(place_read_file(place, "context.yaml.unreadable"), "vision: [unclosed\n");
        assert_string_equal(place_read_file(place, "tasks/T003.yaml"), "- a list\n");
        assert_int_equal(access(place_path(place, "presence.yaml.unreadable"), F_OK), -1);
}

/* Nothing of a batch is kept when one of its documents cannot be. */
static void test_store_fails_whole(void **state) {
        Place *place = *state;

        assert_int_equal(mkdir(place_path(place, "presence.yaml"), 0700), 0);
        place_load(place);
        assert_int_equal(place_apply(place,
                                     "[{\"op\":\"vision.update\",\"vision\":\"v\"},{\"op\":\"task.create\"},"
                                     "{\"op\":\"presence.update\",\"agent_id\":\"a\"}]"),
                         0);
        assert_true(context_store(&place->context) < 0);
        assert_int_equal(access(place_path(place, "context.yaml"), F_OK), -1);
        assert_int_equal(access(place_path(place, "tasks/T001.yaml"), F_OK), -1);
        assert_int_equal(access(place_path(place, ".new-T001.yaml"), F_OK), -1);
}

static void test_version(void **state) {
        Place *place = *state;
        char a[CONTEXT_VERSION_MAX], b[CONTEXT_VERSION_MAX], c[CONTEXT_VERSION_MAX];

        place_write_file(place, "context.yaml", "vision: v\nsketch: s\nnotes: [{id: N001, content: x}]\n");
        place_load(place);
        place_version(place, a);
        place_write_file(place, "context.yaml",
                         "sketch: 's'\nnotes:\n- content: x\n  id: N001\nvision: v\n");
        place_load(place);
        place_version(place, b);
        assert_string_equal(a, b);
        place_store(place, "[{\"op\":\"task.create\"}]");
        place_version(place, c);
        assert_string_not_equal(b, c);
}

/* The version told after storing is the one that the next reading finds. */
static void test_version_reads_back(void **state) {
        Place *place = *state;
        char told[CONTEXT_VERSION_MAX], found[CONTEXT_VERSION_MAX];

        place_load(place);
        assert_int_equal(
                place_apply(place,
                            "[{\"op\":\"vision.update\",\"vision\":\"a: b\\n\\n  c\\t#\\u00e4\\u0001 \"},"
                            "{\"op\":\"note.add\",\"content\":\"\"},{\"op\":\"task.create\",\"name\":"
                            "\"null\"}]"),
                0);
        assert_int_equal(context_store(&place->context), 0);
        place_version(place, told);
        place_load(place);
        place_version(place, found);
        assert_string_equal(told, found);
}

static void test_bounds(void **state) {
        Place *place = *state;
        Buf ops = BUF_NULL;

        assert_int_equal(buf_append_str(&ops, STR("[{\"op\":\"note.add\"}")), 0);
        for (int i = 0; i < 5000; i++)
                assert_int_equal(buf_append_str(&ops, STR(",{\"op\":\"note.add\"}")), 0);
        assert_int_equal(buf_append_str(&ops, STR("]")), 0);
        assert_refused(place, buf_cstr(&ops), "too many operations in one batch");
        buf_deinit(&ops);
        assert_true(context_is_task_id(STR("T1")));
        assert_false(context_is_task_id(STR("T")));
        assert_false(context_is_task_id(STR("T1/..")));
        assert_false(context_is_task_id(STR("t1")));
        assert_false(context_is_task_id(STR("T0000000000000000001")));
}

/* Files are as old as the future wants them: all are kept, and only changed ones are read again. */
static void test_cache(void **state) {
        Place *place = *state;
        const Document *kept, *kept_task;

        place_store(place,
                    "[{\"op\":\"vision.update\",\"vision\":\"a\"},{\"op\":\"task.create\",\"name\":\"x\"}]");
        assert_int_equal(place->cache.n, 0); /* written just now */
        place->now_us = INT64_C(4000000000) * 1000000;
        place_load(place);
        assert_int_equal(place->cache.n, 2);
        kept = place->context.main.document;
        kept_task = place->context.tasks[0]->document;
        place_load(place);
        assert_ptr_equal(place->context.main.document, kept);
        assert_ptr_equal(place->context.tasks[0]->document, kept_task);
        place_write_file(place, "context.yaml", "vision: b\n");
        place_load(place);
        assert_ptr_not_equal(place->context.main.document, kept);
        assert_has(place_summary(place), "\"vision\":\"b\"");
        assert_int_equal(unlink(place_path(place, "tasks/T001.yaml")), 0);
        place_load(place);
        assert_int_equal(place->cache.n, 1);
        assert_string_equal(place_tasks(place), "[]");
}

/* A batch that is refused leaves nothing behind, not even in memory. */
static void test_cache_is_not_changed(void **state) {
        Place *place = *state;
        const Document *kept, *kept_task;

        place_store(place,
                    "[{\"op\":\"vision.update\",\"vision\":\"a\"},{\"op\":\"task.create\",\"name\":\"x\"},"
                    "{\"op\":\"presence.update\",\"agent_id\":\"a\",\"status\":\"s\"}]");
        place->now_us = INT64_C(4000000000) * 1000000;
        place_load(place);
        kept = place->context.main.document;
        kept_task = place->context.tasks[0]->document;
        assert_refused(
                place,
                "[{\"op\":\"vision.update\",\"vision\":\"b\"},{\"op\":\"task.update\",\"task_id\":\"T001\","
                "\"name\":\"y\"},"
                "{\"op\":\"presence.clear\",\"agent_id\":\"a\"},{\"op\":\"teleport\"}]",
                "Unknown operation: teleport");
        place_load(place);
        assert_ptr_equal(place->context.main.document, kept);
        assert_ptr_equal(place->context.tasks[0]->document, kept_task);
        assert_has(place_summary(place), "\"vision\":\"a\"");
        assert_has(place_summary(place), "\"status\":\"s\"");
        assert_has(place_tasks(place), "\"name\":\"x\"");
        assert_int_equal(context_presence_forget(&place->context, STR("a")), 0);
        place_load(place);
        assert_has(place_summary(place), "\"status\":\"s\"");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                place_test(test_unknown_members),
                place_test(test_broken_files),
                place_test(test_store_fails_whole),
                place_test(test_version),
                place_test(test_version_reads_back),
                place_test(test_bounds),
                place_test(test_cache),
                place_test(test_cache_is_not_changed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
