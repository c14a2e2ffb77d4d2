/* SPDX-License-Identifier: MIT */
/* The ops of a context: what they change, and what is refused. */
#include <string.h>

#include "collab/context/test-context-fixture.h"

static void test_empty(void **state) {
        Place *place = *state;

        place_load(place);
        assert_string_equal(
                place_summary(place),
                "{\"version\":\"e3b0c44298fc\",\"vision\":null,\"sketch\":null,\"milestones\":[],"
                "\"notes\":[],\"references\":[],\"tasks_summary\":{\"total\":0,\"done\":0,"
                "\"active\":0,\"planned\":0},\"active_task\":null,\"presence\":{\"agents\":[]}}");
        assert_int_equal(context_heartbeat_s(&place->context), 300);
}

static void test_details(void **state) {
        Place *place = *state;

        assert_string_equal(
                place_store(
                        place,
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
        assert_has(place_summary(place),
                   "{\"id\":\"M1\",\"name\":\"a\",\"description\":\"\",\"status\":\"done\",\"started\":null,"
                   "\"completed\":\"2026-05-05\",\"outcomes\":\"well\"}");
        assert_has(place_read_file(place, "context.yaml"), "completed: '2026-05-05'");
}

static void test_tasks(void **state) {
        Place *place = *state;

        assert_string_equal(
                place_store(
                        place,
                        "[{\"op\":\"task.create\",\"name\":\"x\",\"steps\":[{\"name\":\"a\"},7,{\"name\":"
                        "\"c\"}"
                        "]},"
                        "{\"op\":\"task.create\",\"name\":\"y\",\"milestone\":\"M1\",\"assignee\":\"dev\"}"
                        "]"),
                "[{\"index\":0,\"op\":\"task.create\",\"detail\":\"Created T001\"},"
                "{\"index\":1,\"op\":\"task.create\",\"detail\":\"Created T002\"}]");
        assert_has(place_tasks(place),
                   "\"steps\":[{\"id\":\"S1\",\"name\":\"a\",\"acceptance\":\"\",\"status\":\"pending\"},"
                   "{\"id\":\"S3\",\"name\":\"c\"");
        place_store(place,
                    "[{\"op\":\"task.update\",\"task_id\":\"T001\",\"status\":\"active\",\"step_id\":\"S1\","
                    "\"step_status\":\"done\"},{\"op\":\"task.update\",\"task_id\":\"T002\",\"assignee\":"
                    "null}]");
        assert_has(place_tasks(place), "\"current_step\":\"S3\",\"progress\":0.5}");
        assert_has(place_tasks(place), "\"milestone\":\"M1\",\"assignee\":null");
        assert_has(place_store(place,
                               "[{\"op\":\"task.update\",\"task_id\":\"T001\",\"status\":\"archived\"},"
                               "{\"op\":\"task.restore\",\"task_id\":\"T001\"}]"),
                   "Restored T001 -> active");
        assert_null(strstr(place_read_file(place, "tasks/T001.yaml"), "archived_from"));
}

static void test_refusals(void **state) {
        Place *place = *state;

        place_store(place, "[{\"op\":\"task.create\"},{\"op\":\"milestone.create\"}]");
        assert_refused(place, "[{\"op\":\"teleport\"}]", "Unknown operation: teleport");
        assert_refused(place, "[7]", "ops[0] must be an object");
        assert_refused(place, "[{\"op\":\"milestone.create\",\"status\":\"someday\"}]",
                       "Invalid milestone status: someday");
        assert_refused(place, "[{\"op\":\"milestone.update\",\"milestone_id\":\"M9\"}]",
                       "Milestone not found: M9");
        assert_refused(place, "[{\"op\":\"milestone.complete\"}]", "Milestone not found: ");
        assert_refused(place, "[{\"op\":\"milestone.restore\",\"milestone_id\":\"M1\"}]",
                       "Milestone is not archived: M1");
        assert_refused(place, "[{\"op\":\"task.update\",\"task_id\":\"../T001\"}]",
                       "Task not found: ../T001");
        assert_refused(place, "[{\"op\":\"task.update\",\"task_id\":\"T001\",\"status\":\"x\"}]",
                       "Invalid task status: x");
        assert_refused(place, "[{\"op\":\"task.update\",\"task_id\":\"T001\",\"step_id\":\"S1\"}]",
                       "step_id and step_status must be given together");
        assert_refused(
                place,
                "[{\"op\":\"task.update\",\"task_id\":\"T001\",\"step_id\":\"S1\",\"step_status\":\"done\"}"
                "]",
                "Step not found: S1");
        assert_refused(place, "[{\"op\":\"task.restore\",\"task_id\":\"T001\"}]",
                       "Task is not archived: T001");
        assert_refused(place, "[{\"op\":\"note.update\",\"note_id\":\"N001\"}]", "Note not found: N001");
        assert_refused(place, "[{\"op\":\"note.remove\",\"note_id\":\"N001\"}]", "Note not found: N001");
        assert_refused(place, "[{\"op\":\"reference.update\",\"reference_id\":\"R1\"}]",
                       "Reference not found: R1");
        assert_refused(place, "[{\"op\":\"reference.remove\"}]", "Reference not found: ");
        assert_refused(place, "[{\"op\":\"presence.update\",\"agent_id\":\" _- \"}]",
                       "agent_id must not be empty");
        assert_refused(place, "[{\"op\":\"presence.clear\"}]", "agent_id must not be empty");
}

static void test_notes(void **state) {
        Place *place = *state;

        assert_has(
                place_store(
                        place,
                        "[{\"op\":\"note.add\",\"content\":\"yes\"},{\"op\":\"note.add\",\"content\":\"2\"},"
                        "{\"op\":\"note.remove\",\"note_id\":\"N002\"},{\"op\":\"note.add\",\"content\":12}"
                        "]"),
                "\"detail\":\"Added N002\"");
        assert_has(place_summary(place),
                   "\"notes\":[{\"id\":\"N001\",\"content\":\"yes\"},{\"id\":\"N002\",\"content\":\"12\"}]");
        assert_has(place_read_file(place, "context.yaml"), "content: 'yes'");
        place_store(place, "[{\"op\":\"reference.add\",\"url\":\"u\",\"note\":\"n\"},"
                           "{\"op\":\"reference.update\",\"reference_id\":\"R001\",\"url\":\"v\"}]");
        assert_has(place_summary(place), "\"references\":[{\"id\":\"R001\",\"url\":\"v\",\"note\":\"n\"}]");
        assert_has(place_store(place, "[{\"op\":\"reference.remove\",\"reference_id\":\"R001\"}]"),
                   "Removed R001");
        assert_has(place_summary(place), "\"references\":[]");
}

static void test_presence(void **state) {
        Place *place = *state;
        char before[CONTEXT_VERSION_MAX], after[CONTEXT_VERSION_MAX];

        place_load(place);
        place_version(place, before);
        assert_has(place_store(place,
                               "[{\"op\":\"presence.update\",\"agent_id\":\"DevOne_x\",\"status\":\"  busy "
                               "\\n now \"},"
                               "{\"op\":\"presence.update\",\"agent_id\":\"-a--B  C-\",\"status\":\"\"}]"),
                   "Updated presence for DevOne_x");
        place_version(place, after);
        assert_string_equal(before, after);
        assert_has(place_summary(place),
                   "{\"id\":\"dev-one-x\",\"status\":\"busy now\",\"updated_at\":\"2026-05-05T");
        assert_has(place_summary(place), "{\"id\":\"a-b-c\",\"status\":\"\"");
        place_store(place,
                    "[{\"op\":\"presence.clear\",\"agent_id\":\"dev_one_x\"},{\"op\":\"presence.clear\","
                    "\"agent_id\":\"q\"}]");
        assert_has(place_summary(place), "{\"id\":\"dev-one-x\",\"status\":\"\"");
        assert_has(place_summary(place), "{\"id\":\"q\",\"status\":\"\"");
        assert_has(place_read_file(place, "presence.yaml"), "heartbeat_timeout_seconds: 300");
}

/* What a hand wrote stays, in its place or behind what we know. */
int main(void) {
        const struct CMUnitTest tests[] = {
                place_test(test_empty),    place_test(test_details), place_test(test_tasks),
                place_test(test_refusals), place_test(test_notes),   place_test(test_presence),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
