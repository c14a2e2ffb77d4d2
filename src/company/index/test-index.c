/* SPDX-License-Identifier: MIT */
/*
 * The engine of the index on folders made here: what a sync gives is what a rebuild gives, after any sequence
 * of edits; a file that is missing, cut, foreign or locked is made again or told; a sync reads what is new.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/macro.h"
#include "base/test-cmocka.h"
#include "company/index/index-internal.h"

static char folder[PATH_MAX - 600];
static int root;
static Index *engine;
static unsigned dice = 20261117;

static unsigned throw(unsigned n) {
        dice = dice * 1103515245 + 12345;
        return (dice >> 16) % n;
}

static int setup(_unused_ void **state) {
        char name[] = "/tmp/test-index-XXXXXX";

        if (!mkdtemp(name) || !realpath(name, folder))
                return -1;
        root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return index_make(&engine, root, NULL);
}

static int teardown(_unused_ void **state) {
        char command[2 * PATH_MAX];

        engine = index_end(engine);
        close(root);
        snprintf(command, sizeof(command), "rm -rf '%s'", folder);
        return system(command); /* NOLINT: a test tidies up */
}

static const char *at(const char *name) {
        static char path[PATH_MAX];

        snprintf(path, sizeof(path), "%s/%s", folder, name);
        return path;
}

static void write_file(const char *flags, const char *name, const char *format, ...) {
        char parent[PATH_MAX];
        va_list ap;
        FILE *file;

        snprintf(parent, sizeof(parent), "%s", at(name));
        *strrchr(parent, '/') = '\0';
        assert_int_equal(dir_make(parent, 0755), 0);
        file = fopen(at(name), flags);
        assert_non_null(file);
        va_start(ap, format);
        vfprintf(file, format, ap);
        va_end(ap);
        fclose(file);
}

/* Nothing is left of what other tests have made. */
static void begin_anew(void) {
        char command[2 * PATH_MAX];

        snprintf(command, sizeof(command), "cd '%s' && rm -rf inbox org work .local/sessions", folder);
        assert_int_equal(system(command), 0); /* NOLINT: a test tidies up */
}

/* ---- edits ----------------------------------------------------------------------------------- */

static void edit_run(unsigned project, unsigned run) {
        static const char *const states[] = {"running", "ended", "failed", "stopped", "nonsense"};
        static const char *const usages[] = {
                "", "",
                "usage:\n  source: provider_reported\n  confidence: high\n  total_tokens: 12\n"
                "  cost_usd: 0.1\n  cost_source: provider_rate_card\n"
                "context_cycles:\n  count: 2\n  source: provider_signal\n",
                "usage:\n  source: estimated_chars\n  confidence: low\n  total_tokens: 7\n"
                "  cost_usd: 0.0000007\ncontext_cycles:\n  count: 0\n  source: unknown\n"};
        char name[200];

        snprintf(name, sizeof(name), "work/projects/p%u/runs/run_%u/run.yaml", project, run);
        write_file("w", name,
                   "schema_version: 1\ntype: run\nid: run_%u\nproject_id: p%u\nagent_id: "
                   "agent_%u\nprovider: cmd\n"
                   "created_at: 2026-01-02T03:04:05.000Z\nstatus: %s\ncontext_pack_id: ctx\n"
                   "events_relpath: runs/run_%u/events.jsonl\n%s",
                   run, project, throw(4), states[throw(5)], run, usages[throw(4)]);
}

static void edit_events(unsigned project, unsigned run) {
        static const char *const lines[] = {
                "{\"type\":\"run.started\",\"ts_wallclock\":\"2026-01-02T03:04:05Z\",\"payload\":{}}\n",
                "oops{\n",
                "\n",
                "  \n",
                "{\"payload\":[1]}\n",
                "3\n",
                "{\"type\":\"torn",
                "\",\"actor\":\"a\\u00e9\\\"b\"}\n",
                "{\"type\":\"policy.decision\",\"payload\":{\"allowed\":true},\"ts_monotonic_ms\":1.5}\n",
                "{\"type\":\"bad\xff\"}\n",
                "{\"type\":1,\"type\":\"twice\"}\r\n",
        };
        char name[200];

        snprintf(name, sizeof(name), "work/projects/p%u/runs/run_%u/events.jsonl", project, run);
        write_file(throw(8) ? "a" : "w", name, "%s", lines[throw(ARRAY_SIZE(lines))]);
}

static void edit_documents(void) {
        const unsigned n = throw(4), id = throw(6) ? n : throw(4); /* now and then one key in two files */
        char name[200];

        switch (throw(6)) {
        case 0:
                snprintf(name, sizeof(name), "inbox/reviews/rev_%u.yaml", n);
                write_file(
                        "w", name,
                        "schema_version: 1\ntype: review\nid: rev_%u\ncreated_at: 2026-01-02T03:04:05.000Z\n"
                        "actor_id: human\nactor_role: human\ndecision: %s\nsubject:\n  kind: memory_delta\n"
                        "  artifact_id: art_%u\n  project_id: p0\npolicy:\n  allowed: true\n"
                        "  rule_id: vis.org\n  reason: org_visible\nnotes: n%u\n",
                        id, throw(5) ? "approved" : "perhaps", throw(4), throw(1000));
                break;
        case 1:
                snprintf(name, sizeof(name), "inbox/help_requests/help_%u.md", n);
                write_file("w", name,
                           "---\nschema_version: 1\ntype: help_request\nid: help_%u\n"
                           "created_at: 2026-01-02T03:04:05.000Z\ntitle: T%u\nvisibility: managers\n"
                           "requester: a\ntarget_manager: m\n---\n\n# H\n",
                           id, throw(1000));
                break;
        case 2:
                snprintf(name, sizeof(name), "work/projects/p%u/artifacts/art_%u.md", throw(2), n);
                write_file("w", name, "---\ntype: %s\nid: art_%u\ntitle: T%u\n%s---\nbody\n",
                           throw(4) ? "memory_delta" : "milestone_report", id, throw(1000),
                           throw(5) ? "" : "broken: [\n");
                break;
        case 3:
                snprintf(name, sizeof(name), "work/projects/p0/tasks/task_%u.md", n);
                write_file("w", name,
                           "---\nschema_version: 1\ntype: task\nid: task_%u\nproject_id: p0\ntitle: T%u\n"
                           "created_at: 2026-01-02T03:04:05.000Z\nstatus: ready\nvisibility: team\n"
                           "milestones:\n  - id: ms_1\n    title: M\n    kind: coding\n    status: %s\n"
                           "    acceptance_criteria: []\n---\n## Contract\n## Milestones\n",
                           id, throw(1000), throw(2) ? "done" : "ready");
                break;
        case 4:
                snprintf(name, sizeof(name), "inbox/conversations/conv_%u/conversation.yaml", n);
                write_file("w", name,
                           "schema_version: 1\ntype: conversation\nid: conv_%u\nscope: workspace\nkind: "
                           "channel\n"
                           "name: N%u\nslug: s\nvisibility: team\ncreated_at: 2026-01-02T03:04:05.000Z\n"
                           "created_by: a\nauto_generated: false\nparticipants:\n  agent_ids: [a, b%u]\n"
                           "  team_ids: []\n",
                           id, throw(1000), throw(3));
                break;
        default:
                snprintf(name, sizeof(name), "org/agents/agent_%u/agent.yaml", n);
                write_file("w", name,
                           "schema_version: 1\ntype: agent\nid: agent_%u\nname: N%u\nrole: "
                           "worker\nprovider: cmd\n"
                           "created_at: 2026-01-02T03:04:05.000Z\n",
                           n, throw(1000));
        }
}

static void edit_records(void) {
        const unsigned n = throw(5);
        char name[200];

        switch (throw(3)) {
        case 0:
                snprintf(name, sizeof(name), ".local/sessions/s%u.yaml", n);
                write_file("w", name,
                           "schema_version: 1\ntype: session_record\nsession_ref: s%u\nworkspace_dir: "
                           "/w\nproject_id: p0\nrun_id: run_%u\nstatus: %s\nexit_code: null\nsignal: null\n"
                           "started_at_ms: %u\nmode: command\n",
                           n, throw(4), throw(4) ? "running" : "ended", throw(1000));
                break;
        case 1:
                snprintf(name, sizeof(name), "work/projects/p%u/jobs/job_%u/job.yaml", throw(2), n);
                write_file("w", name, "type: job\n%s", throw(4) ? "status: queued\n" : "");
                break;
        default:
                snprintf(name, sizeof(name), "inbox/comments/cmt_%u.yaml", n);
                write_file("w", name,
                           "schema_version: 1\ntype: comment\nid: cmt_%u\ncreated_at: "
                           "2026-01-02T03:04:05.000Z\nauthor_id: a\nauthor_role: human\nvisibility: team\n"
                           "target:\n  project_id: p0\n  run_id: run_%u\nbody: b%u\n",
                           n, throw(4), throw(1000));
        }
}

static void edit_messages(void) {
        const unsigned n = throw(3);
        char name[200];

        snprintf(name, sizeof(name), "inbox/conversations/conv_%u/messages.jsonl", n);
        write_file(
                throw(10) ? "a" : "w", name,
                "{\"schema_version\":1,\"type\":\"message\",\"id\":\"msg_%u\",\"conversation_id\":\"conv_%"
                "u\","
                "\"created_at\":\"2026-01-02T03:04:05.000Z\",\"author_id\":\"a\",\"author_role\":\"human\","
                "\"kind\":\"text\",\"visibility\":\"team\",\"body\":\"b%u\",\"mentions\":[]}%s",
                throw(2) ? throw(100000) : throw(6), n, throw(1000), throw(6) ? "\n" : "");
}

static void edit_remove(void) {
        static const char *const names[] = {
                "work/projects/p0/runs/run_1", "work/projects/p1",
                "inbox/reviews/rev_1.yaml",    "org/agents/agent_2",
                "inbox/conversations/conv_1",  "work/projects/p0/tasks/task_2.md",
                "inbox/help_requests",         "inbox/comments",
                "work/projects/p0/jobs/job_1", ".local/sessions/s1.yaml"};
        char command[2 * PATH_MAX];

        snprintf(command, sizeof(command), "rm -rf '%s'", at(names[throw(ARRAY_SIZE(names))]));
        assert_int_equal(system(command), 0); /* NOLINT: a test removes what it made */
}

static void edit_something(void) {
        switch (throw(14)) {
        case 0:
        case 1:
        case 2: edit_run(throw(2), throw(4)); break;
        case 3:
        case 4:
        case 5: edit_events(throw(2), throw(4)); break;
        case 6:
        case 7: edit_messages(); break;
        case 8: edit_remove(); break;
        case 9:
        case 10: edit_records(); break;
        default: edit_documents();
        }
}

/* ---- sync and rebuild ------------------------------------------------------------------------ */

static const char *const texts[] = {
        "SELECT * FROM runs ORDER BY 1,2",
        "SELECT * FROM events ORDER BY 1,2,3",
        "SELECT * FROM event_parse_errors ORDER BY 1,2,3",
        "SELECT * FROM artifacts ORDER BY 1,2",
        "SELECT * FROM reviews ORDER BY 1",
        "SELECT * FROM help_requests ORDER BY 1",
        "SELECT * FROM conversations ORDER BY 1",
        "SELECT * FROM conversation_participants ORDER BY 1,2,3",
        "SELECT * FROM messages ORDER BY 1",
        "SELECT * FROM tasks ORDER BY 1,2",
        "SELECT * FROM task_milestones ORDER BY 1,2,3",
        "SELECT * FROM agent_counters ORDER BY 1",
        "SELECT * FROM muster_agents ORDER BY 1",
        "SELECT * FROM muster_sessions ORDER BY 1",
        "SELECT * FROM muster_jobs ORDER BY 1,2",
        "SELECT * FROM muster_comments ORDER BY 1",
        "SELECT path, item, n_lines, n_bytes, tail FROM muster_files ORDER BY 1",
        "SELECT * FROM muster_sums ORDER BY 1,2,3",
        "SELECT * FROM muster_pending ORDER BY 1,2",
};
static const int n_columns[] = {17, 11, 5, 10, 9, 8, 11, 3, 11, 20, 10, 16, 6, 6, 3, 6, 5, 13, 3};

static void dump(Index *index, unsigned table, Buf *out) {
        SqlStatement *statement = NULL;
        Sql *sql = NULL;

        assert_int_equal(index_look(index, &sql), 0);
        assert_int_equal(sql_prepare(sql, texts[table], &statement), 0);
        out->n = 0;
        while (!sql_step(statement)) {
                for (int i = 0; i < n_columns[table]; i++)
                        assert_int_equal(buf_printf(out, STR_FMT "|", STR_ARG(sql_str(statement, i))), 0);
                assert_int_equal(buf_append_str(out, STR("\n")), 0);
        }
        assert_non_null(buf_cstr(out));
}

static void compare(void) {
        Buf synced[ARRAY_SIZE(texts)] = {BUF_NULL};
        _cleanup_(buf_deinit) Buf rebuilt = BUF_NULL;
        Index *other = NULL;
        IndexReport report;
        int64_t n_total[INDEX_N_TABLES];

        assert_int_equal(index_sync_comments(engine, &report), 0);
        for (unsigned i = 0; i < ARRAY_SIZE(texts); i++)
                dump(engine, i, &synced[i]);
        memcpy(n_total, engine->n_total, sizeof(n_total));
        assert_int_equal(index_make(&other, root, NULL), 0);
        assert_int_equal(index_rebuild(other, &report), 0);
        assert_int_equal(index_sync_comments(other, &report), 0);
        for (unsigned i = 0; i < ARRAY_SIZE(texts); i++) {
                dump(other, i, &rebuilt);
                assert_string_equal(synced[i].data, rebuilt.data);
                if (i < INDEX_N_TABLES)
                        assert_int_equal(n_total[i], other->n_total[i]);
                buf_deinit(&synced[i]);
        }
        index_end(other);
}

static void equal_rounds(void) {
        const char *n_rounds = getenv("MUSTER_INDEX_ROUNDS");
        IndexReport report;

        for (int round = 0; round < (n_rounds ? atoi(n_rounds) : 40); round++) { /* NOLINT: from a person */
                for (unsigned i = 0, n = 1 + throw(6); i < n; i++) {
                        for (unsigned j = 0, m = 1 + throw(4); j < m; j++)
                                edit_something();
                        assert_int_equal(index_sync(engine, &report), 0);
                        if (!throw(3))
                                assert_int_equal(index_sync_comments(engine, &report), 0);
                }
                compare();
        }
}

/* Files are looked at one by one, then the kernel tells which. */
static void test_equal(_unused_ void **state) {
        equal_rounds();
        engine->watch_min = 0;
        equal_rounds();
        engine->watch_min = INDEX_WATCH_MIN;
}

/* ---- what happens to the file ---------------------------------------------------------------- */

static IndexReport synced(void) {
        IndexReport report;

        assert_int_equal(index_sync(engine, &report), 0);
        return report;
}

static void test_faults(_unused_ void **state) {
        const char *file = ".local/index.sqlite";
        IndexReport report = {0};
        Sql *sql = NULL;
        struct stat st;

        begin_anew();
        for (unsigned i = 0; i < 50; i++)
                edit_events(0, i);
        synced();
        assert_false(synced().is_rebuilt);
        assert_int_equal(unlink(at(file)), 0);
        assert_int_equal(index_look(engine, &sql), INDEX_E_MISSING);
        report = synced();
        assert_true(report.is_rebuilt && report.is_created);
        assert_int_equal(stat(at(file), &st), 0);
        assert_int_equal(truncate(at(file), st.st_size / 2 / 8192 * 8192), 0);
        assert_true(synced().is_rebuilt);
        assert_int_equal(truncate(at(file), st.st_size - 100), 0);
        assert_true(synced().is_rebuilt);
        write_file("w", file, "%s", "this is no database at all, but it is there");
        assert_true(synced().is_rebuilt);
        assert_int_equal(index_look(engine, &sql), 0);
        assert_int_equal(sql_run(sql, "UPDATE muster_meta SET value=0 WHERE name='version'"), 0);
        engine->is_loaded = false;
        assert_true(synced().is_rebuilt);
        assert_int_equal(index_look(engine, &sql), 0);
        assert_int_equal(sql_run(sql, "DROP TABLE events"), 0);
        write_file("a", "work/projects/p0/runs/run_1/events.jsonl", "\n{\"type\":\"one.more\"}\n");
        assert_true(synced().is_rebuilt);
        assert_int_equal(unlink(at(file)), 0);
        assert_int_equal(symlink("/etc/passwd", at(file)), 0);
        assert_true(synced().is_rebuilt);
}

static void test_boot(_unused_ void **state) {
        begin_anew();
        synced();
        engine = index_end(engine);
        assert_int_equal(index_make(&engine, root, NULL), 0);
        assert_false(synced().is_rebuilt); /* closed, and the same boot */
        edit_run(0, 0);
        synced();
        index_shut(engine);
        write_file("w", ".local/muster/index", "another-boot open\n");
        assert_true(synced().is_rebuilt);
        index_shut(engine);
        write_file("w", ".local/muster/index", "another-boot closed\n");
        assert_false(synced().is_rebuilt);
}

static void test_locked(_unused_ void **state) {
        IndexReport report;
        Sql *other = NULL;

        synced();
        engine->wait_ms = 1;
        index_shut(engine);
        assert_int_equal(sql_open(&other, at(".local/index.sqlite"), &(SqlOptions){0}), 0);
        assert_int_equal(sql_run(other, "BEGIN EXCLUSIVE"), 0);
        edit_run(0, 3);
        assert_int_equal(index_sync(engine, &report), INDEX_E_BUSY);
        assert_int_equal(sql_run(other, "ROLLBACK"), 0);
        sql_close(other);
        assert_int_equal(index_sync(engine, &report), 0);
        compare();
}

/* What a sync looks at and reads is what is new, whatever there is. */
static void test_growth(_unused_ void **state) {
        begin_anew();
        for (unsigned size = 0; size < 2; size++) {
                IndexReport report;

                for (unsigned run = 0; run < (size ? 800U : 80U); run++) {
                        edit_run(7, run);
                        for (unsigned i = 0; i < 5; i++)
                                edit_events(7, run);
                }
                usleep(2 * INDEX_SETTLE_MS * 1000); /* NOLINT: the clock of the files has to move on */
                synced();
                index_shut(engine);
                report = synced();
                assert_true(report.n_looked >= (size ? 1600U : 160U)); /* from here on they are watched */
                report = synced();
                assert_int_equal(report.n_looked, 0);
                assert_int_equal(report.n_read, 0);
                write_file("a", "work/projects/p7/runs/run_5/events.jsonl", "\n{\"type\":\"one.more\"}\n");
                report = synced();
                assert_int_equal(report.n_looked, 1);
                assert_int_equal(report.n_read, 1);
                assert_true(report.n_added[INDEX_EVENTS] >= 1 && report.n_added[INDEX_EVENTS] <= 2);
                assert_true(report.n_bytes < 200);
                edit_run(7, 2000 + size); /* a folder that is new */
                report = synced();
                assert_int_equal(report.n_looked, 1);
                edit_events(7, 2000 + size);
                assert_int_equal(synced().n_looked, 1);
                compare();
        }
}

/* What the kernel has lost count of is looked at as a whole, and so is what was not looked at for long. */
static void test_lost(_unused_ void **state) {
        IndexWatch *watch = &engine->parts[INDEX_AREA_TABLES].watch;

        begin_anew();
        for (unsigned run = 0; run < 80; run++)
                edit_run(9, run);
        for (unsigned run = 0; run < 80; run++)
                edit_events(9, run);
        synced();
        synced();
        assert_int_equal(synced().n_looked, 0);
        for (unsigned i = 0; i < 20000; i++) /* more than it keeps */
                assert_int_equal(utimensat(root,
                                           i % 2 ? "work/projects/p9/runs/run_1/run.yaml"
                                                 : "work/projects/p9/runs/run_2/run.yaml",
                                           NULL, 0),
                                 0);
        assert_true(synced().n_looked >= 160);
        assert_int_equal(synced().n_looked, 0);
        watch->walked_ms -= INDEX_WALK_MS;
        assert_true(synced().n_looked >= 160);
        assert_int_equal(synced().n_looked, 0);
        compare();
}

static void test_long_line(_unused_ void **state) {
        const char *name = "work/projects/p8/runs/run_1/events.jsonl";

        begin_anew();
        write_file("w", name, "{\"type\":\"first\"}\n\"%0*d", INDEX_LINE_MAX + 100000, 1);
        write_file("a", name, "\"\n{\"type\":\"third\"}\n");
        synced();
        write_file("a", name, "{\"type\":\"fourth\"}\n");
        assert_int_equal(synced().n_added[INDEX_EVENTS], 1);
        compare();
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_equal),     cmocka_unit_test(test_faults), cmocka_unit_test(test_boot),
                cmocka_unit_test(test_locked),    cmocka_unit_test(test_growth), cmocka_unit_test(test_lost),
                cmocka_unit_test(test_long_line),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
