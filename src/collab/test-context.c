/* SPDX-License-Identifier: MIT */
#include "collab/context.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "collab/context-cache.h"

enum { MAY_2026 = 1778000000 }; /* 2026-05-05 */

/* Every test has a context folder of its own. */
typedef struct Place {
        char path[64];
        Arena arena;
        Context context;
        int64_t now_us;
        ContextCache cache;
} Place;

static int place_make(void **state) {
        Place *place = calloc(1, sizeof(*place));

        *state = place;
        strcpy(place->path, "/tmp/test-context.XXXXXX");
        place->now_us = (int64_t)MAY_2026 * 1000000;
        return mkdtemp(place->path) ? 0 : -1;
}

static int place_remove(void **state) {
        _cleanup_(freep) Place *place = *state;
        char command[128];

        context_cache_deinit(&place->cache);
        arena_deinit(&place->arena);
        snprintf(command, sizeof(command), "rm -rf %s", place->path);
        return system(command) == 0 ? 0 : -1;
}

static void load(Place *place) {
        place->now_us += 1000000;
        assert_int_equal(
                context_load(&place->context, &place->arena, place->path, place->now_us, &place->cache), 0);
}

static int apply(Place *place, const char *ops) {
        Json *json;

        assert_int_equal(json_parse(&place->arena, ops, strlen(ops), NULL, &json, NULL), 0);
        return context_apply(&place->context, json);
}

static const char *changes(Place *place) {
        Buf text = BUF_NULL;
        Str copy;

        assert_int_equal(json_write(&text, place->context.changes), 0);
        copy = arena_str(&place->arena, buf_str(&text));
        buf_deinit(&text);
        return copy.data;
}

/* A whole op: load, apply, store, load again. */
static const char *store(Place *place, const char *ops) {
        const char *result;

        load(place);
        assert_int_equal(apply(place, ops), 0);
        result = changes(place);
        assert_int_equal(context_store(&place->context), 0);
        load(place);
        return result;
}

static void refused(Place *place, const char *ops, const char *complaint) {
        load(place);
        assert_int_equal(apply(place, ops), CONTEXT_E_REFUSED);
        assert_string_equal(place->context.complaint.data, complaint);
}

static char *path_of(Place *place, const char *name) {
        return (char *)arena_printf(&place->arena, "%s/%s", place->path, name).data;
}

static void write_file(Place *place, const char *name, const char *text) {
        assert_int_equal(dir_make(path_of(place, "tasks"), 0700), 0);
        assert_int_equal(file_replace(path_of(place, name), str_from(text), 0600, FILE_RUNTIME), 0);
}

static const char *read_file(Place *place, const char *name) {
        Buf text = BUF_NULL;
        Str copy;

        assert_int_equal(file_read(path_of(place, name), 1 << 20, &text), 0);
        copy = arena_str(&place->arena, buf_str(&text));
        buf_deinit(&text);
        return copy.data;
}

static void has(const char *text, const char *part) {
        if (!text || !strstr(text, part))
                fail_msg("\"%s\" is not in:\n%s", part, text ? text : "");
}

static const char *summary(Place *place) {
        Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        Str copy;

        assert_int_equal(context_write_summary(&place->context, &w), 0);
        assert_false(w.failed);
        copy = arena_str(&place->arena, buf_str(&text));
        buf_deinit(&text);
        return copy.data;
}

static const char *tasks(Place *place) {
        Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        Str copy;

        context_write_tasks(&place->context, &w);
        copy = arena_str(&place->arena, buf_str(&text));
        buf_deinit(&text);
        return copy.data;
}

static void version(Place *place, char out[CONTEXT_VERSION_MAX]) {
        assert_int_equal(context_version(&place->context, out), 0);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_empty(void **state) {
        Place *place = *state;

        load(place);
        assert_string_equal(
                summary(place),
                "{\"version\":\"e3b0c44298fc\",\"vision\":null,\"sketch\":null,\"milestones\":[],"
                "\"notes\":[],\"references\":[],\"tasks_summary\":{\"total\":0,\"done\":0,"
                "\"active\":0,\"planned\":0},\"active_task\":null,\"presence\":{\"agents\":[]}}");
        assert_int_equal(context_heartbeat_s(&place->context), 300);
}

static void test_details(void **state) {
        Place *place = *state;

        assert_string_equal(
                store(place,
                      "[{\"op\":\"vision.update\",\"vision\":\"ship\"},{\"op\":\"milestone.create\","
                      "\"name\":"
                      "\"a\"},"
                      "{\"op\":\"milestone.create\",\"name\":\"b\"},{\"op\":\"milestone.update\","
                      "\"milestone_"
                      "id\":\"M2\","
                      "\"status\":\"Archived\"},{\"op\":\"milestone.restore\",\"milestone_id\":\"M2\"},"
                      "{\"op\":\"milestone.complete\",\"milestone_id\":\"M1\",\"outcomes\":\"well\"}]"),
                "[{\"index\":0,\"op\":\"vision.update\",\"detail\":\"Set vision\"},"
                "{\"index\":1,\"op\":\"milestone.create\",\"detail\":\"Created M1\"},"
                "{\"index\":2,\"op\":\"milestone.create\",\"detail\":\"Created M2\"},"
                "{\"index\":3,\"op\":\"milestone.update\",\"detail\":\"Updated M2\"},"
                "{\"index\":4,\"op\":\"milestone.restore\",\"detail\":\"Restored M2 -> planned\"},"
                "{\"index\":5,\"op\":\"milestone.complete\",\"detail\":\"Completed M1\"}]");
        has(summary(place),
            "{\"id\":\"M1\",\"name\":\"a\",\"description\":\"\",\"status\":\"done\",\"started\":null,"
            "\"completed\":\"2026-05-05\",\"outcomes\":\"well\"}");
        has(read_file(place, "context.yaml"), "completed: '2026-05-05'");
}

static void test_tasks(void **state) {
        Place *place = *state;

        assert_string_equal(
                store(place,
                      "[{\"op\":\"task.create\",\"name\":\"x\",\"steps\":[{\"name\":\"a\"},7,{\"name\":"
                      "\"c\"}"
                      "]},"
                      "{\"op\":\"task.create\",\"name\":\"y\",\"milestone\":\"M1\",\"assignee\":\"dev\"}]"),
                "[{\"index\":0,\"op\":\"task.create\",\"detail\":\"Created T001\"},"
                "{\"index\":1,\"op\":\"task.create\",\"detail\":\"Created T002\"}]");
        has(tasks(place),
            "\"steps\":[{\"id\":\"S1\",\"name\":\"a\",\"acceptance\":\"\",\"status\":\"pending\"},"
            "{\"id\":\"S3\",\"name\":\"c\"");
        store(place,
              "[{\"op\":\"task.update\",\"task_id\":\"T001\",\"status\":\"active\",\"step_id\":\"S1\","
              "\"step_status\":\"done\"},{\"op\":\"task.update\",\"task_id\":\"T002\",\"assignee\":null}]");
        has(tasks(place), "\"current_step\":\"S3\",\"progress\":0.5}");
        has(tasks(place), "\"milestone\":\"M1\",\"assignee\":null");
        has(store(place, "[{\"op\":\"task.update\",\"task_id\":\"T001\",\"status\":\"archived\"},"
                         "{\"op\":\"task.restore\",\"task_id\":\"T001\"}]"),
            "Restored T001 -> active");
        assert_null(strstr(read_file(place, "tasks/T001.yaml"), "archived_from"));
}

static void test_refusals(void **state) {
        Place *place = *state;

        store(place, "[{\"op\":\"task.create\"},{\"op\":\"milestone.create\"}]");
        refused(place, "[{\"op\":\"teleport\"}]", "Unknown operation: teleport");
        refused(place, "[7]", "ops[0] must be an object");
        refused(place, "[{\"op\":\"milestone.create\",\"status\":\"someday\"}]",
                "Invalid milestone status: someday");
        refused(place, "[{\"op\":\"milestone.update\",\"milestone_id\":\"M9\"}]", "Milestone not found: M9");
        refused(place, "[{\"op\":\"milestone.complete\"}]", "Milestone not found: ");
        refused(place, "[{\"op\":\"milestone.restore\",\"milestone_id\":\"M1\"}]",
                "Milestone is not archived: M1");
        refused(place, "[{\"op\":\"task.update\",\"task_id\":\"../T001\"}]", "Task not found: ../T001");
        refused(place, "[{\"op\":\"task.update\",\"task_id\":\"T001\",\"status\":\"x\"}]",
                "Invalid task status: x");
        refused(place, "[{\"op\":\"task.update\",\"task_id\":\"T001\",\"step_id\":\"S1\"}]",
                "step_id and step_status must be given together");
        refused(place,
                "[{\"op\":\"task.update\",\"task_id\":\"T001\",\"step_id\":\"S1\",\"step_status\":\"done\"}"
                "]",
                "Step not found: S1");
        refused(place, "[{\"op\":\"task.restore\",\"task_id\":\"T001\"}]", "Task is not archived: T001");
        refused(place, "[{\"op\":\"note.update\",\"note_id\":\"N001\"}]", "Note not found: N001");
        refused(place, "[{\"op\":\"note.remove\",\"note_id\":\"N001\"}]", "Note not found: N001");
        refused(place, "[{\"op\":\"reference.update\",\"reference_id\":\"R1\"}]", "Reference not found: R1");
        refused(place, "[{\"op\":\"reference.remove\"}]", "Reference not found: ");
        refused(place, "[{\"op\":\"presence.update\",\"agent_id\":\" _- \"}]", "agent_id must not be empty");
        refused(place, "[{\"op\":\"presence.clear\"}]", "agent_id must not be empty");
}

static void test_notes(void **state) {
        Place *place = *state;

        has(store(place,
                  "[{\"op\":\"note.add\",\"content\":\"yes\"},{\"op\":\"note.add\",\"content\":\"2\"},"
                  "{\"op\":\"note.remove\",\"note_id\":\"N002\"},{\"op\":\"note.add\",\"content\":12}]"),
            "\"detail\":\"Added N003\"");
        has(summary(place),
            "\"notes\":[{\"id\":\"N001\",\"content\":\"yes\"},{\"id\":\"N003\",\"content\":\"12\"}]");
        has(read_file(place, "context.yaml"), "content: 'yes'");
        store(place, "[{\"op\":\"reference.add\",\"url\":\"u\",\"note\":\"n\"},"
                     "{\"op\":\"reference.update\",\"reference_id\":\"R001\",\"url\":\"v\"}]");
        has(summary(place), "\"references\":[{\"id\":\"R001\",\"url\":\"v\",\"note\":\"n\"}]");
        has(store(place, "[{\"op\":\"reference.remove\",\"reference_id\":\"R001\"}]"), "Removed R001");
        has(summary(place), "\"references\":[]");
}

static void test_presence(void **state) {
        Place *place = *state;
        char before[CONTEXT_VERSION_MAX], after[CONTEXT_VERSION_MAX];

        load(place);
        version(place, before);
        has(store(place,
                  "[{\"op\":\"presence.update\",\"agent_id\":\"DevOne_x\",\"status\":\"  busy \\n now \"},"
                  "{\"op\":\"presence.update\",\"agent_id\":\"-a--B  C-\",\"status\":\"\"}]"),
            "Updated presence for DevOne_x");
        version(place, after);
        assert_string_equal(before, after);
        has(summary(place), "{\"id\":\"dev-one-x\",\"status\":\"busy now\",\"updated_at\":\"2026-05-05T");
        has(summary(place), "{\"id\":\"a-b-c\",\"status\":\"\"");
        store(place, "[{\"op\":\"presence.clear\",\"agent_id\":\"dev_one_x\"},{\"op\":\"presence.clear\","
                     "\"agent_id\":\"q\"}]");
        has(summary(place), "{\"id\":\"dev-one-x\",\"status\":\"\"");
        assert_null(strstr(summary(place), "\"q\""));
        has(read_file(place, "presence.yaml"), "heartbeat_timeout_seconds: 300");
}

/* What a hand wrote stays, in its place or behind what we know. */
static void test_unknown_members(void **state) {
        Place *place = *state;
        const char *text;

        write_file(place, "context.yaml",
                   "future: {a: [1, 2]}\nmilestones:\n- id: M4\n  color: red\n  status: pending\n");
        write_file(place, "tasks/T007.yaml",
                   "owner: me\nid: T007\nname: hand\nsteps:\n- id: S1\n  weight: 3\n");
        write_file(place, "tasks/Tfoo.yaml", "id: Tfoo\n");
        load(place);
        has(summary(place), "{\"id\":\"M4\",\"name\":\"\",\"description\":\"\",\"status\":\"planned\"");
        has(store(place, "[{\"op\":\"milestone.update\",\"milestone_id\":\"M4\",\"status\":\"active\"},"
                         "{\"op\":\"milestone.create\"},{\"op\":\"task.create\"},"
                         "{\"op\":\"task.update\",\"task_id\":\"T007\",\"step_id\":\"S1\",\"step_status\":"
                         "\"in_progress\"}]"),
            "Created M5");
        text = read_file(place, "context.yaml");
        has(text, "color: red");
        has(text, "future:");
        assert_true(strstr(text, "future:") > strstr(text, "references:"));
        has(read_file(place, "tasks/T007.yaml"), "owner: me");
        has(read_file(place, "tasks/T007.yaml"), "weight: 3");
        assert_int_equal(strncmp(read_file(place, "tasks/T007.yaml"), "id: T007\n", 9), 0);
}

static void test_broken_files(void **state) {
        Place *place = *state;

        write_file(place, "context.yaml", "vision: [unclosed\n");
        write_file(place, "tasks/T003.yaml", "- a list\n");
        write_file(place, "presence.yaml", "");
        load(place);
        has(summary(place), "\"version\":\"e3b0c44298fc\",\"vision\":null");
        refused(place, "[{\"op\":\"task.update\",\"task_id\":\"T003\"}]", "Task not found: T003");
        has(store(place, "[{\"op\":\"vision.update\",\"vision\":\"v\"},{\"op\":\"task.create\"},"
                         "{\"op\":\"presence.update\",\"agent_id\":\"a\"}]"),
            "Created T004");
        assert_string_equal(read_file(place, "context.yaml.unreadable"), "vision: [unclosed\n");
        assert_string_equal(read_file(place, "tasks/T003.yaml"), "- a list\n");
        assert_int_equal(access(path_of(place, "presence.yaml.unreadable"), F_OK), -1);
}

/* Nothing of a batch is kept when one of its documents cannot be. */
static void test_store_fails_whole(void **state) {
        Place *place = *state;

        assert_int_equal(mkdir(path_of(place, "presence.yaml"), 0700), 0);
        load(place);
        assert_int_equal(apply(place,
                               "[{\"op\":\"vision.update\",\"vision\":\"v\"},{\"op\":\"task.create\"},"
                               "{\"op\":\"presence.update\",\"agent_id\":\"a\"}]"),
                         0);
        assert_true(context_store(&place->context) < 0);
        assert_int_equal(access(path_of(place, "context.yaml"), F_OK), -1);
        assert_int_equal(access(path_of(place, "tasks/T001.yaml"), F_OK), -1);
        assert_int_equal(access(path_of(place, ".new-T001.yaml"), F_OK), -1);
}

static void test_version(void **state) {
        Place *place = *state;
        char a[CONTEXT_VERSION_MAX], b[CONTEXT_VERSION_MAX], c[CONTEXT_VERSION_MAX];

        write_file(place, "context.yaml", "vision: v\nsketch: s\nnotes: [{id: N001, content: x}]\n");
        load(place);
        version(place, a);
        write_file(place, "context.yaml", "sketch: 's'\nnotes:\n- content: x\n  id: N001\nvision: v\n");
        load(place);
        version(place, b);
        assert_string_equal(a, b);
        store(place, "[{\"op\":\"task.create\"}]");
        version(place, c);
        assert_string_not_equal(b, c);
}

/* The version told after storing is the one that the next reading finds. */
static void test_version_reads_back(void **state) {
        Place *place = *state;
        char told[CONTEXT_VERSION_MAX], found[CONTEXT_VERSION_MAX];

        load(place);
        assert_int_equal(
                apply(place,
                      "[{\"op\":\"vision.update\",\"vision\":\"a: b\\n\\n  c\\t#\\u00e4\\u0001 \"},"
                      "{\"op\":\"note.add\",\"content\":\"\"},{\"op\":\"task.create\",\"name\":\"null\"}]"),
                0);
        assert_int_equal(context_store(&place->context), 0);
        version(place, told);
        load(place);
        version(place, found);
        assert_string_equal(told, found);
}

static void test_bounds(void **state) {
        Place *place = *state;
        Buf ops = BUF_NULL;

        assert_int_equal(buf_append_str(&ops, STR("[{\"op\":\"note.add\"}")), 0);
        for (int i = 0; i < 5000; i++)
                assert_int_equal(buf_append_str(&ops, STR(",{\"op\":\"note.add\"}")), 0);
        assert_int_equal(buf_append_str(&ops, STR("]")), 0);
        refused(place, buf_cstr(&ops), "too many operations in one batch");
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

        store(place,
              "[{\"op\":\"vision.update\",\"vision\":\"a\"},{\"op\":\"task.create\",\"name\":\"x\"}]");
        assert_int_equal(place->cache.n, 0); /* written just now */
        place->now_us = INT64_C(4000000000) * 1000000;
        load(place);
        assert_false(place->context.main.is_cached);
        assert_int_equal(place->cache.n, 2);
        load(place);
        assert_true(place->context.main.is_cached);
        assert_true(place->context.tasks[0]->is_cached);
        write_file(place, "context.yaml", "vision: b\n");
        load(place);
        assert_false(place->context.main.is_cached);
        has(summary(place), "\"vision\":\"b\"");
        assert_int_equal(unlink(path_of(place, "tasks/T001.yaml")), 0);
        load(place);
        assert_int_equal(place->cache.n, 1);
        assert_string_equal(tasks(place), "[]");
}

/* A batch that is refused leaves nothing behind, not even in memory. */
static void test_cache_is_not_changed(void **state) {
        Place *place = *state;

        store(place, "[{\"op\":\"vision.update\",\"vision\":\"a\"},{\"op\":\"task.create\",\"name\":\"x\"},"
                     "{\"op\":\"presence.update\",\"agent_id\":\"a\",\"status\":\"s\"}]");
        place->now_us = INT64_C(4000000000) * 1000000;
        load(place);
        refused(place,
                "[{\"op\":\"vision.update\",\"vision\":\"b\"},{\"op\":\"task.update\",\"task_id\":\"T001\","
                "\"name\":\"y\"},"
                "{\"op\":\"presence.clear\",\"agent_id\":\"a\"},{\"op\":\"teleport\"}]",
                "Unknown operation: teleport");
        load(place);
        assert_true(place->context.main.is_cached && place->context.tasks[0]->is_cached);
        has(summary(place), "\"vision\":\"a\"");
        has(summary(place), "\"status\":\"s\"");
        has(tasks(place), "\"name\":\"x\"");
        assert_int_equal(context_presence_forget(&place->context, STR("a")), 0);
        load(place);
        has(summary(place), "\"status\":\"s\"");
}

int main(void) {
        const struct CMUnitTest all[] = {
                cmocka_unit_test_setup_teardown(test_empty, place_make, place_remove),
                cmocka_unit_test_setup_teardown(test_details, place_make, place_remove),
                cmocka_unit_test_setup_teardown(test_tasks, place_make, place_remove),
                cmocka_unit_test_setup_teardown(test_refusals, place_make, place_remove),
                cmocka_unit_test_setup_teardown(test_notes, place_make, place_remove),
                cmocka_unit_test_setup_teardown(test_presence, place_make, place_remove),
                cmocka_unit_test_setup_teardown(test_unknown_members, place_make, place_remove),
                cmocka_unit_test_setup_teardown(test_broken_files, place_make, place_remove),
                cmocka_unit_test_setup_teardown(test_store_fails_whole, place_make, place_remove),
                cmocka_unit_test_setup_teardown(test_version, place_make, place_remove),
                cmocka_unit_test_setup_teardown(test_version_reads_back, place_make, place_remove),
                cmocka_unit_test_setup_teardown(test_bounds, place_make, place_remove),
                cmocka_unit_test_setup_teardown(test_cache, place_make, place_remove),
                cmocka_unit_test_setup_teardown(test_cache_is_not_changed, place_make, place_remove),
        };

        return cmocka_run_group_tests(all, NULL, NULL);
}
