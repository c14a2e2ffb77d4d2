/* SPDX-License-Identifier: MIT */
#include "core/web/servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/loop/test-loop-fixture.h"

typedef struct Fixture {
        Loop *loop;
        Log log;
        Servers *servers;
        char dir[64], path[96];
        bool is_done; /* of the last change */
        int r;
} Fixture;

static void servers_reopen(Fixture *f) {
        f->servers = servers_free(f->servers);
        assert_int_equal(servers_open(&f->servers, f->loop, &f->log, f->dir), 0);
}

static int servers_setup(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        if (!f || make_loop((void **)&f->loop))
                return -1;
        log_init(&f->log);
        snprintf(f->dir, sizeof(f->dir), "/tmp/servers-test-XXXXXX");
        if (!mkdtemp(f->dir))
                return -1;
        snprintf(f->path, sizeof(f->path), "%s/web/servers.json", f->dir);
        servers_reopen(f);
        *state = f;
        return 0;
}

static int servers_teardown(void **state) {
        Fixture *f = *state;
        char command[96];

        servers_free(f->servers);
        free_loop((void **)&f->loop);
        log_deinit(&f->log);
        snprintf(command, sizeof(command), "rm -rf %s", f->dir);
        if (system(command) != 0) // NOLINT(cert-env33-c)
                return -1;
        free(f);
        return 0;
}

static void on_server_change(void *user, int r) {
        Fixture *f = user;

        f->is_done = true;
        f->r = r;
}

static int servers_wait(Fixture *f, int r) {
        f->is_done = false;
        assert_int_equal(r, 0);
        while (!f->is_done)
                loop_turn_wait(f->loop);
        return f->r;
}

static int servers_keep_port(Fixture *f, unsigned port) {
        ServerRecord what = {
                .host = (char[]){"127.0.0.1"}, .port = port, .scope = WEB_SCOPE_VIEW, .since_us = 7};

        assert_int_equal(token_digest(STR("sesame"), what.digest), 0);
        return servers_wait(f, servers_keep(f->servers, &what, on_server_change, f));
}

static size_t servers_count(const Fixture *f) {
        size_t n = 0;

        for (const ServerRecord *record = servers_first(f->servers); record; record = record->next)
                n++;
        return n;
}

static void test_a_server_is_there_after_a_kill(void **state) {
        Fixture *f = *state;
        const ServerRecord *record;
        struct stat of;

        assert_int_equal(servers_keep_port(f, 8888), 0);
        assert_int_equal(servers_keep_port(f, 8889), 0);
        assert_int_equal(stat(f->path, &of), 0);
        assert_int_equal(of.st_mode & 07777, 0600);
        servers_reopen(f);
        record = servers_first(f->servers);
        assert_string_equal(record->host, "127.0.0.1");
        assert_int_equal(record->port, 8888);
        assert_int_equal(record->scope, WEB_SCOPE_VIEW);
        assert_int_equal(record->since_us, 7);
        assert_int_equal(strlen(record->digest), SHA256_HEX_MAX - 1);
        assert_int_equal(record->next->port, 8889);
        assert_null(record->next->next);
}

static void test_one_address_once(void **state) {
        Fixture *f = *state;

        assert_int_equal(servers_keep_port(f, 8888), 0);
        assert_int_equal(servers_keep_port(f, 8888), SERVERS_E_TAKEN);
        assert_int_equal(servers_wait(f, servers_forget(f->servers, "127.0.0.1", 9, on_server_change, f)),
                         SERVERS_E_MISSING);
        assert_int_equal(servers_wait(f, servers_forget(f->servers, "127.0.0.1", 8888, on_server_change, f)),
                         0);
        servers_reopen(f);
        assert_null(servers_first(f->servers));
        for (unsigned i = 0; i < SERVERS_MAX; i++)
                assert_int_equal(servers_keep_port(f, 100 + i), 0);
        assert_int_equal(servers_keep_port(f, 99), SERVERS_E_FULL);
        assert_int_equal(servers_count(f), SERVERS_MAX);
}

static void test_a_stop_in_order_forgets(void **state) {
        Fixture *f = *state;

        assert_int_equal(servers_forget_all(f->servers), 0); /* there is nothing */
        servers_reopen(f);
        assert_int_equal(servers_keep_port(f, 8888), 0);
        assert_int_equal(servers_forget_all(f->servers), 0);
        assert_true(servers_keep_port(f, 8889) < 0);
        servers_reopen(f);
        assert_null(servers_first(f->servers));
}

static void test_nothing_is_kept_by_half(void **state) {
        Fixture *f = *state;
        char folder[96];

        snprintf(folder, sizeof(folder), "%s/web", f->dir);
        assert_int_equal(file_replace(folder, STR("in the way"), 0600, FILE_RUNTIME), 0);
        assert_true(servers_keep_port(f, 8888) < 0);
        assert_null(servers_first(f->servers));
        assert_int_equal(unlink(folder), 0);
        assert_int_equal(servers_keep_port(f, 8888), 0);
}

static void test_records_of_servers_that_are_none(void **state) {
        Fixture *f = *state;
        static const char *const records[] = {
                "{}",
                "7",
                "{\"host\":\"\",\"port\":1,\"scope\":\"view\",\"sha256\":\"%s\"}",
                "{\"host\":\"::1\",\"port\":0,\"scope\":\"view\",\"sha256\":\"%s\"}",
                "{\"host\":\"::1\",\"port\":65536,\"scope\":\"view\",\"sha256\":\"%s\"}",
                "{\"host\":\"::1\",\"port\":1,\"scope\":\"all\",\"sha256\":\"%s\"}",
                "{\"host\":\"::1\",\"port\":1,\"scope\":\"view\",\"sha256\":\"\"}",
        };
        static const char good[] = "{\"host\":\"::1\",\"port\":1,\"scope\":\"view\",\"sha256\":\"%s\"}";
        char digest[SHA256_HEX_MAX];

        assert_int_equal(servers_keep_port(f, 8888), 0);
        assert_int_equal(token_digest(STR("sesame"), digest), 0);
        for (size_t i = 0; i <= ARRAY_SIZE(records); i++) {
                bool is_good = i == ARRAY_SIZE(records);
                _cleanup_(buf_deinit) Buf text = BUF_NULL;
                const char *record = is_good ? good : records[i], *mark = strstr(record, "%s");

                assert_int_equal(buf_append_str(&text, STR("{\"servers\":[")), 0);
                assert_int_equal(buf_append(&text, record, mark ? (size_t)(mark - record) : strlen(record)),
                                 0);
                assert_int_equal(buf_append_str(&text, str_from(mark ? digest : "")), 0);
                assert_int_equal(buf_append_str(&text, str_from(mark ? mark + 2 : "")), 0);
                assert_int_equal(buf_append_str(&text, STR("]}")), 0);
                assert_int_equal(file_replace(f->path, buf_str(&text), 0600, FILE_RUNTIME), 0);
                servers_reopen(f);
                assert_int_equal(servers_count(f), is_good);
        }
}

#define servers_test(name) cmocka_unit_test_setup_teardown(name, servers_setup, servers_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                servers_test(test_a_server_is_there_after_a_kill),
                servers_test(test_one_address_once),
                servers_test(test_a_stop_in_order_forgets),
                servers_test(test_nothing_is_kept_by_half),
                servers_test(test_records_of_servers_that_are_none),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
