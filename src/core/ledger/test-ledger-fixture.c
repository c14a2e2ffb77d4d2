/* SPDX-License-Identifier: MIT */
#include "core/ledger/test-ledger-fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macro.h"

bool test_classify(Arena *arena, const Json *line, LedgerFacts *facts) {
        facts->id = json_str(json_get(line, "id"));
        if (!facts->id.n)
                return false;
        (void)json_int64(json_get(line, "ts"), &facts->ts_us);
        facts->kind = json_str(json_get(line, "kind"));
        json_each (to, json_get(line, "to")) {
                ledger_facts_tag(facts, arena, STR("to:"), json_str(to));
        }
        return true;
}

int fixture_setup(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        if (!f || make_loop((void **)&f->loop))
                return -1;
        snprintf(f->dir, sizeof(f->dir), "/tmp/ledger-test-XXXXXX");
        if (!mkdtemp(f->dir))
                return -1;
        snprintf(f->path, sizeof(f->path), "%s/ledger.jsonl", f->dir);
        snprintf(f->state, sizeof(f->state), "%s/state/ledger", f->dir);
        *state = f;
        return 0;
}

int fixture_teardown(void **state) {
        Fixture *f = *state;
        char command[96];

        if (f->ledger)
                fixture_close(f);
        free_loop((void **)&f->loop);
        snprintf(command, sizeof(command), "rm -rf %s", f->dir);
        if (system(command) != 0) // NOLINT(cert-env33-c)
                return -1;
        free(f);
        return 0;
}

void fixture_wait(Fixture *f, const bool *flag) {
        while (!*flag)
                loop_turn_wait(f->loop);
}

static void on_opened(void *user, int r) {
        Fixture *f = user;

        f->opened_r = r;
        f->is_settled = true;
}

static void on_closed(void *user) {
        ((Fixture *)user)->is_settled = true;
}

static void on_committed(void *user, uint64_t first, uint64_t n) {
        Fixture *f = user;

        if (f->ledger)
                assert_int_equal(first + n, ledger_n_committed(f->ledger));
        f->n_committed += n;
}

static void on_rewritten(void *user, _unused_ uint64_t n_gone) {
        ((Fixture *)user)->n_rewritten++;
}

int fixture_open(Fixture *f) {
        LedgerOptions options = {.loop = f->loop,
                                 .path = f->path,
                                 .state_path = f->state,
                                 .policy = f->policy,
                                 .has_chain = f->has_chain,
                                 .classify = test_classify,
                                 .committed = on_committed,
                                 .rewritten = on_rewritten,
                                 .user = f};

        f->is_settled = false;
        assert_int_equal(ledger_open(&f->ledger, &options, on_opened), 0);
        fixture_wait(f, &f->is_settled);
        return f->opened_r;
}

void fixture_close(Fixture *f) {
        f->is_settled = false;
        ledger_close(f->ledger, on_closed, f);
        fixture_wait(f, &f->is_settled);
        f->ledger = NULL;
}

void fixture_reopen(Fixture *f) {
        fixture_close(f);
        assert_int_equal(fixture_open(f), 0);
}

void fixture_settle(Fixture *f) {
        Write barrier;

        write_begin(&barrier, f);
        assert_int_equal(write_end(&barrier, f), 0);
}

void event_text(char *out, size_t n, unsigned number, const char *to) {
        snprintf(out, n, "{\"id\":\"e%u\",\"ts\":%u,\"kind\":\"chat\",\"to\":[\"%s\"]}", number, number, to);
}

static void on_done(LedgerChange *change, int r) {
        Write *write = container_of(change, Write, change);

        assert_false(write->is_done);
        write->is_done = true;
        write->r = r;
}

void write_begin(Write *write, Fixture *f) {
        *write = (Write){.r = -1};
        ledger_change_init(&write->change, f->ledger, on_done);
}

void write_line(Write *write, const char *text) {
        assert_int_equal(ledger_change_line(&write->change, str_from(text)), 0);
}

void write_event(Write *write, unsigned number, const char *to) {
        char text[256];

        event_text(text, sizeof(text), number, to);
        write_line(write, text);
}

int write_end(Write *write, Fixture *f) {
        assert_int_equal(ledger_change_commit(&write->change), 0);
        fixture_wait(f, &write->is_done);
        return write->r;
}

int put_event(Fixture *f, unsigned number, const char *to) {
        Write write;

        write_begin(&write, f);
        write_event(&write, number, to);
        return write_end(&write, f);
}

void put_events(Fixture *f, unsigned first, unsigned n, const char *to) {
        Write *writes = calloc(n, sizeof(*writes));

        assert_non_null(writes);
        for (unsigned i = 0; i < n; i++) {
                write_begin(&writes[i], f);
                write_event(&writes[i], first + i, to);
                assert_int_equal(ledger_change_commit(&writes[i].change), 0);
        }
        for (unsigned i = 0; i < n; i++) {
                fixture_wait(f, &writes[i].is_done);
                assert_int_equal(writes[i].r, 0);
        }
        free(writes);
}

void file_put(const char *path, const void *data, size_t n, bool is_append) {
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (is_append ? O_APPEND : O_TRUNC), 0600);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, data, n), n);
        close(fd);
}

size_t file_get(const char *path, char *out, size_t n_max) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n;

        assert_true(fd >= 0);
        n = read(fd, out, n_max - 1);
        assert_true(n >= 0);
        close(fd);
        out[n] = 0;
        return (size_t)n;
}

size_t count_files(const char *dir, const char *prefix) {
        DIR *open = opendir(dir);
        struct dirent *entry;
        size_t n = 0;

        while (open && (entry = readdir(open)))
                n += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
        if (open)
                closedir(open);
        return n;
}

static void on_read(LedgerRead *read, int r) {
        assert_int_equal(r, 0);
        container_of(read, Look, read)->is_done = true;
}

void look_at(Look *look, Fixture *f, const uint64_t *positions, size_t n) {
        int r;

        *look = (Look){.read.done = on_read};
        r = ledger_read(f->ledger, &look->read, positions, n);
        assert_true(r == 0 || r == LEDGER_LATER);
        if (r)
                fixture_wait(f, &look->is_done);
}

void assert_line(Fixture *f, uint64_t position, const char *text) {
        Look look;
        Str line;

        look_at(&look, f, &position, 1);
        line = ledger_read_line(&look.read, 0);
        assert_int_equal(line.n, strlen(text));
        assert_memory_equal(line.data, text, line.n);
        ledger_read_deinit(&look.read);
}

void assert_event(Fixture *f, uint64_t position, unsigned number, const char *to) {
        char text[256];

        event_text(text, sizeof(text), number, to);
        assert_line(f, position, text);
}

void assert_listed(Fixture *f, const char *words, uint64_t from, bool is_backwards, const char *want) {
        char copy[256], got[1024] = "", *save = NULL;
        LedgerTag tags[LEDGER_CURSOR_MAX];
        LedgerCursor cursor;
        uint64_t position;
        size_t n = 0;

        snprintf(copy, sizeof(copy), "%s", words);
        for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
                tags[n++] = ledger_tag(f->ledger, str_from(word));
        assert_int_equal(ledger_cursor_init(&cursor, f->ledger, tags, n, from, is_backwards), 0);
        while (ledger_cursor_next(&cursor, &position))
                snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%llu", *got ? " " : "",
                         (unsigned long long)position);
        assert_string_equal(got, want);
}
