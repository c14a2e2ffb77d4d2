/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "base/test"
#include "base/log/log-file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test-cmocka.h"
#include "base/file.h"

#define STAMP "2026-01-02T03:04:05.678Z "

typedef struct World {
        Log log;
        char folder[64], path[96];
        int64_t tick_us;
        unsigned n_held;
        Buf text;
} World;

static int64_t fixed_wall(void *user) {
        (void)user;
        return INT64_C(1767323045678901);
}

static int64_t turned_tick(void *user) {
        return ((World *)user)->tick_us;
}

static void on_held(void *user) {
        ((World *)user)->n_held++;
}

static void world_open(World *world, uint64_t n_max, unsigned n_keep) {
        *world = (World){.folder = "/tmp/test-log-file.XXXXXX"};
        assert_non_null(mkdtemp(world->folder));
        snprintf(world->path, sizeof(world->path), "%s/x.log", world->folder);
        log_init(&world->log);
        world->log.wall_us = fixed_wall;
        world->log.tick_us = turned_tick;
        world->log.held = on_held;
        world->log.user = world;
        assert_int_equal(log_add_file(&world->log, world->path, n_max, n_keep, LOG_DEBUG, 0), 0);
}

static void world_close(World *world) {
        static const char *const names[] = {"x.log", "x.log.1", "x.log.2", "x.log.3", "moved"};

        log_deinit(&world->log);
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                _cleanup_(freep) char *path = path_join(world->folder, names[i]);

                (void)unlink(path);
        }
        assert_int_equal(rmdir(world->folder), 0);
        buf_deinit(&world->text);
}

/* What is in PATH and its ending, as a string; NULL: it is not there. */
static const char *content(World *world, const char *ending) {
        char path[128];

        snprintf(path, sizeof(path), "%s%s", world->path, ending);
        buf_deinit(&world->text);
        world->text = BUF_NULL;
        if (file_read(path, 1 << 20, &world->text))
                return NULL;
        return buf_cstr(&world->text);
}

static void test_repeated(void **state) {
        World world;

        (void)state;
        world_open(&world, 0, 0);
        for (int i = 0; i < 4; i++)
                log_warning(&world.log, "id", "the same %s", "again");
        assert_int_equal(world.n_held, 3);
        assert_string_equal(content(&world, ""), STAMP "warning base/test [id] the same again\n");
        log_notice(&world.log, NULL, "another");
        assert_string_equal(content(&world, ""), STAMP "warning base/test [id] the same again\n" STAMP
                                                       "warning base/log last line repeated 3 times\n" STAMP
                                                       "notice base/test another\n");
        log_notice(&world.log, NULL, "another");
        assert_false(log_settle(&world.log));
        assert_non_null(strstr(content(&world, ""), "notice base/log last line repeated 1 times\n"));
        world_close(&world);
}

static size_t count_lines(const char *text) {
        size_t n = 0;

        for (; text && *text; text++)
                n += *text == '\n';
        return n;
}

/* Of one place in the code so many in a while, and what others say gets through. */
static void test_flood(void **state) {
        World world;

        (void)state;
        world_open(&world, 0, 0);
        for (int i = 0; i < 100000; i++)
                log_warning(&world.log, NULL, "flood number=%d", i);
        assert_int_equal(count_lines(content(&world, "")), LOG_FILE_BURST);
        log_notice(&world.log, NULL, "quiet");
        assert_non_null(strstr(content(&world, ""), "quiet\n"));
        assert_true(log_settle(&world.log)); /* its period is not over */
        world.tick_us += LOG_FILE_PERIOD_US;
        assert_false(log_settle(&world.log));
        assert_non_null(strstr(content(&world, ""), "left out lines=99500 like=\"flood number=%d\"\n"));
        log_warning(&world.log, NULL, "flood number=%d", 5);
        assert_non_null(strstr(content(&world, ""), "flood number=5\n"));
        for (int i = 0; i < 2000; i++)
                log_debug(&world.log, NULL, "asked for number=%d", i);
        assert_non_null(strstr(content(&world, ""), "asked for number=1999\n"));
        world_close(&world);
}

static void test_end_says_what_is_held(void **state) {
        World world;

        (void)state;
        world_open(&world, 0, 0);
        log_notice(&world.log, NULL, "x");
        log_notice(&world.log, NULL, "x");
        log_deinit(&world.log);
        assert_non_null(strstr(content(&world, ""), "last line repeated 1 times\n"));
        world_close(&world);
}

static void test_rotation(void **state) {
        World world;

        (void)state;
        world_open(&world, 1000, 2);
        for (int i = 0; i < 100; i++)
                log_info(&world.log, NULL, "line number=%03d with some more words behind it", i);
        assert_true(strlen(content(&world, "")) <= 1000);
        assert_non_null(strstr(content(&world, ""), "number=099"));
        assert_non_null(content(&world, ".1"));
        assert_non_null(content(&world, ".2"));
        assert_null(content(&world, ".3"));
        assert_int_equal(count_lines(content(&world, ".1")), count_lines(content(&world, ".2")));
        world_close(&world);
}

static void test_moved_away(void **state) {
        World world;
        char moved[128];

        (void)state;
        world_open(&world, 1000, 1);
        log_info(&world.log, NULL, "before");
        assert_int_equal(unlink(world.path), 0);
        log_info(&world.log, NULL, "behind");
        assert_string_equal(content(&world, ""), STAMP "info base/test behind\n");
        snprintf(moved, sizeof(moved), "%s/moved", world.folder);
        assert_int_equal(rename(world.path, moved), 0); /* by another process, which begins a new one */
        close(open(world.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        for (int i = 0; i < 20; i++)
                log_info(&world.log, NULL, "line number=%03d with some more words behind it", i);
        assert_non_null(strstr(content(&world, ""), "number=019"));
        assert_null(content(&world, ".1")); /* what was there was not ours to move */
        world_close(&world);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_repeated),
                cmocka_unit_test(test_flood),
                cmocka_unit_test(test_end_says_what_is_held),
                cmocka_unit_test(test_rotation),
                cmocka_unit_test(test_moved_away),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
