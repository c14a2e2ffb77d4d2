/* SPDX-License-Identifier: MIT */
/* The minute's look: a ledger that has grown too long is compacted by the daemon itself, if the group runs.
 */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/test-cmocka.h"
#include "base/file.h"
#include "collab/collab.h"
#include "collab/group/compaction.h"

static char home[64];

static void put(const char *name, const char *format, ...) {
        _cleanup_(freep) char *path = path_join(home, name), *dir = strdup(path);
        va_list args;
        char *all = NULL;

        va_start(args, format);
        assert_true(vasprintf(&all, format, args) >= 0);
        va_end(args);
        *strrchr(dir, '/') = 0;
        assert_int_equal(dir_make(dir, 0700), 0);
        assert_int_equal(file_replace(path, str_from(all), 0600, FILE_RUNTIME), 0);
        free(all);
}

static void put_group(const char *id, bool is_running) {
        char name[128];

        snprintf(name, sizeof(name), "groups/%s/group.yaml", id);
        put(name,
            "v: 1\ngroup_id: %s\nrunning: %s\nactive_scope_key: s_1\n"
            "ledger: {max_active_bytes: 10, keep_tail_lines: 1}\n",
            id, is_running ? "true" : "false");
        snprintf(name, sizeof(name), "groups/%s/ledger.jsonl", id);
        put(name, "{\"id\":\"a\",\"ts\":\"2026-01-01T00:00:01Z\",\"kind\":\"k\"}\n"
                  "{\"id\":\"b\",\"ts\":\"2026-01-01T00:00:02Z\",\"kind\":\"k\"}\n");
        snprintf(name, sizeof(name), "groups/%s/state/read_cursors.json", id);
        put(name, "{\"x\":{\"event_id\":\"b\",\"ts\":\"2026-01-01T00:00:02Z\"}}");
}

static int remove_entry(const char *path, _unused_ const struct stat *st, _unused_ int kind,
                        _unused_ struct FTW *ftw) {
        return remove(path);
}

static bool is_loaded;

static void on_loaded(_unused_ GroupCall *wait, int r) {
        assert_int_equal(r, 0);
        is_loaded = true;
}

static void load(Collab *collab, const char *id) {
        GroupCall wait = {.loaded = on_loaded};

        is_loaded = false;
        assert_int_equal(group_get(collab, str_from(id), &wait.group), 0);
        assert_int_equal(group_load(&wait), 0);
        while (!is_loaded)
                loop_turn(collab->daemon->loop);
}

static uint64_t n_lines(Collab *collab, const char *id) {
        return ledger_n_committed(group_find(collab, str_from(id))->ledger);
}

static Collab *begin(Daemon *daemon) {
        Collab *collab = NULL;

        *daemon = (Daemon){.lock_fd = -1};
        snprintf(home, sizeof(home), "/tmp/muster-clock-XXXXXX");
        assert_non_null(mkdtemp(home));
        log_init(&daemon->log);
        assert_int_equal(daemon_init(daemon), 0);
        loop_clock_freeze(daemon->loop, INT64_C(1800000000000000));
        put_group("g_runs", true);
        put_group("g_rests", false);
        assert_int_equal(collab_new(&collab, daemon, home), 0);
        daemon->collab = collab;
        assert_int_equal(collab_start(collab), 0);
        load(collab, "g_runs");
        load(collab, "g_rests");
        while (loop_n_work(daemon->loop)) /* what else begins with a home */
                loop_turn(daemon->loop);
        return collab;
}

static void end(Daemon *daemon) {
        collab_stop(daemon->collab);
        collab_free(daemon->collab);
        daemon_deinit(daemon);
        log_deinit(&daemon->log);
        assert_int_equal(nftw(home, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static void test_the_minute(_unused_ void **state) {
        Daemon daemon;
        Collab *collab = begin(&daemon);

        loop_clock_advance(daemon.loop, COMPACTION_EVERY_MS - 1);
        loop_turn(daemon.loop);
        assert_int_equal(loop_n_work(daemon.loop), 0);
        loop_clock_advance(daemon.loop, 1);
        while (n_lines(collab, "g_runs") == 2)
                loop_turn(daemon.loop);
        assert_int_equal(n_lines(collab, "g_runs"), 1);
        assert_int_equal(n_lines(collab, "g_rests"), 2);
        end(&daemon);
}

static bool registry_says(const char *word) {
        _cleanup_(freep) char *path = path_join(home, "registry.json");
        _cleanup_(buf_deinit) Buf text = BUF_NULL;

        return !file_read(path, DOCUMENT_MAX, &text) && memmem(text.data, text.n, word, strlen(word));
}

static void test_messages_reach_the_registry(_unused_ void **state) {
        Daemon daemon;
        Collab *collab = begin(&daemon);

        group_touch(group_find(collab, STR("g_runs")), INT64_C(1800000001000002));
        group_touch(group_find(collab, STR("g_runs")), INT64_C(1800000001000001)); /* never goes back */
        loop_turn(daemon.loop);
        assert_int_equal(loop_n_work(daemon.loop), 0);
        loop_clock_advance(daemon.loop, REGISTRY_BEHIND_MS);
        while (!registry_says("2027-01-15T08:00:01.000002Z"))
                loop_turn(daemon.loop);
        group_touch(group_find(collab, STR("g_runs")), INT64_C(1800000002000000));
        collab_stop(collab);
        collab_free(collab); /* … and at the end */
        assert_true(registry_says("2027-01-15T08:00:02.000000Z"));
        daemon_deinit(&daemon);
        log_deinit(&daemon.log);
        assert_int_equal(nftw(home, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_the_minute),
                cmocka_unit_test(test_messages_reach_the_registry),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
