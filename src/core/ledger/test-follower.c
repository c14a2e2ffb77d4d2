/* SPDX-License-Identifier: MIT */
/* Followers of a ledger: own lines from memory, lines of others from the file, lines that are taken out. */
#include <stdio.h>
#include <stdlib.h>

#include "base/macro.h"
#include "core/ledger/follower.h"
#include "core/ledger/test-ledger-fixture.h"

typedef struct Reader {
        LedgerFollower lines;
        char told[512]; /* ids, with a star if the text came from memory, "-" without text */
        unsigned n_turns, n_caught_up;
        uint64_t n_gone;
        const Json *tree; /* of the last line */
        bool is_held;
        Write *write;       /* NULL, or one whose done() is looked at when a line is given */
        bool is_done_first; /* what was seen */
} Reader;

static Reader *reader_of(LedgerFollower *lines) {
        return container_of(lines, Reader, lines);
}

static void reader_take(LedgerFollower *lines, LedgerLine *line) {
        Reader *reader = reader_of(lines);
        size_t n = strlen(reader->told);
        Str id;

        reader->tree = ledger_line_json(line);
        assert_int_equal(line->position + 1, lines->position);
        id = reader->tree ? json_str(json_get(reader->tree, "id")) : STR("-");
        snprintf(reader->told + n, sizeof(reader->told) - n, "%s" STR_FMT "%s", n ? " " : "", STR_ARG(id),
                 line->is_own ? "*" : "");
        if (reader->write)
                reader->is_done_first = reader->write->is_done;
}

static void reader_taken(LedgerFollower *lines) {
        reader_of(lines)->n_turns++;
}

static void reader_caught_up(LedgerFollower *lines) {
        reader_of(lines)->n_caught_up++;
}

static void reader_rewritten(LedgerFollower *lines, uint64_t n_gone) {
        reader_of(lines)->n_gone += n_gone;
}

static bool reader_is_ready(const LedgerFollower *lines) {
        return !container_of(lines, Reader, lines)->is_held;
}

static bool reader_wants_even(_unused_ const LedgerFollower *lines, const LedgerEntry *entry) {
        return entry->ts_us % 2 == 0;
}

#define TYPE(...)                                                                                           \
        (&(const LedgerFollowerType){.n_lines = 2,                                                          \
                                     .n_bytes = 1 << 20,                                                    \
                                     .take = reader_take,                                                   \
                                     .taken = reader_taken,                                                 \
                                     .rewritten = reader_rewritten,                                         \
                                     .is_ready = reader_is_ready,                                           \
                                     __VA_ARGS__})

static void reader_start(Reader *reader, Fixture *f, const LedgerFollowerType *type, uint64_t position) {
        follower_start(&reader->lines, type, f->ledger, position);
}

static void reader_wait(Fixture *f, Reader *reader) {
        while (follower_is_behind(&reader->lines))
                loop_turn_wait(f->loop);
}

static void test_own_lines_come_from_memory(void **state) {
        Fixture *f = *state;
        Reader early = {0}, late = {0};
        Write write;

        assert_int_equal(fixture_open(f), 0);
        reader_start(&early, f, TYPE(.is_early = true), 0);
        reader_start(&late, f, TYPE(.is_early = false), 0);
        early.write = late.write = &write;
        write_begin(&write, f);
        write_event(&write, 1, "a");
        write_event(&write, 2, "a");
        assert_int_equal(write_end(&write, f), 0);
        reader_wait(f, &late);
        assert_string_equal(early.told, "e1* e2*");
        assert_string_equal(late.told, "e1* e2*");
        assert_false(early.is_done_first);
        assert_true(late.is_done_first);
        assert_int_equal(late.n_turns, 1);
        follower_stop(&early.lines);
        follower_stop(&late.lines);
        follower_stop(&late.lines);
}

static void test_one_tree_for_all(void **state) {
        Fixture *f = *state;
        Reader a = {0}, b = {0};

        assert_int_equal(fixture_open(f), 0);
        reader_start(&a, f, TYPE(), 0);
        reader_start(&b, f, TYPE(), 0);
        assert_int_equal(put_event(f, 1, "a"), 0);
        assert_non_null(a.tree);
        assert_ptr_equal(a.tree, b.tree);
        follower_stop(&a.lines);
        follower_stop(&b.lines);
}

static void test_one_that_is_behind_reads_the_file(void **state) {
        Fixture *f = *state;
        Reader all = {0}, even = {0};

        assert_int_equal(fixture_open(f), 0);
        put_events(f, 1, 5, "a");
        reader_start(&all, f, TYPE(.caught_up = reader_caught_up), 0);
        reader_start(&even, f, TYPE(.wants = reader_wants_even), 1);
        follower_go_on(&all.lines);
        follower_go_on(&even.lines);
        while (!all.n_caught_up)
                loop_turn_wait(f->loop);
        reader_wait(f, &even);
        assert_string_equal(all.told, "e1 e2 e3 e4 e5");
        assert_int_equal(all.n_turns, 3); /* two lines each */
        assert_string_equal(even.told, "e2 e4");
        follower_stop(&all.lines);
        follower_stop(&even.lines);
}

static void test_lines_of_others_then_own(void **state) {
        static const char other[] = "{\"id\":\"x\",\"ts\":1,\"kind\":\"chat\"}\n";
        Fixture *f = *state;
        Reader reader = {0};

        assert_int_equal(fixture_open(f), 0);
        reader_start(&reader, f, TYPE(), 0);
        file_put(f->path, other, sizeof(other) - 1, true);
        assert_int_equal(put_event(f, 2, "a"), 0); /* the same commit finds both */
        reader_wait(f, &reader);
        assert_int_equal(put_event(f, 3, "a"), 0);
        assert_string_equal(reader.told, "x e2 e3*");
        follower_stop(&reader.lines);
}

static void test_held_and_paused(void **state) {
        Fixture *f = *state;
        Reader reader = {.is_held = true};

        assert_int_equal(fixture_open(f), 0);
        reader_start(&reader, f, TYPE(), 0);
        assert_int_equal(put_event(f, 1, "a"), 0);
        reader.is_held = false;
        reader.lines.is_paused = true;
        assert_int_equal(put_event(f, 2, "a"), 0);
        assert_string_equal(reader.told, "");
        follower_go_on(&reader.lines);
        reader_wait(f, &reader);
        assert_string_equal(reader.told, "e1 e2");
        follower_stop(&reader.lines);
}

static void test_a_line_that_was_overwritten(void **state) {
        Fixture *f = *state;
        Reader reader = {0};
        FILE *file;

        assert_int_equal(fixture_open(f), 0);
        assert_int_equal(put_event(f, 1, "a"), 0);
        file = fopen(f->path, "r+e");
        assert_non_null(file);
        assert_int_equal(fputc('\n', file), '\n');
        assert_int_equal(fclose(file), 0);
        reader_start(&reader, f, TYPE(), 0);
        follower_go_on(&reader.lines);
        reader_wait(f, &reader);
        assert_string_equal(reader.told, "-");
        follower_stop(&reader.lines);
}

static void test_long_lines_come_without_their_text(void **state) {
        Fixture *f = *state;
        Reader reader = {0};

        assert_int_equal(fixture_open(f), 0);
        assert_int_equal(put_event(f, 1, "a"), 0);
        assert_int_equal(put_event(f, 2, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), 0);
        assert_int_equal(put_event(f, 3, "a"), 0);
        reader_start(&reader, f, TYPE(.n_line_max = 60), 0);
        follower_go_on(&reader.lines);
        reader_wait(f, &reader);
        assert_string_equal(reader.told, "e1 - e3");
        follower_stop(&reader.lines);
}

static void follower_on_rewrite_done(void *user, int r) {
        assert_int_equal(r, 0);
        *(bool *)user = true;
}

static void test_lines_that_are_taken_out(void **state) {
        Fixture *f = *state;
        Reader reader = {0};
        char archive[128];
        bool is_done = false;

        assert_int_equal(fixture_open(f), 0);
        put_events(f, 1, 3, "a");
        reader_start(&reader, f, TYPE(), 3);
        snprintf(archive, sizeof(archive), "%s/archive.jsonl", f->state);
        assert_int_equal(ledger_rewrite(f->ledger, (const uint64_t[]){0, 1}, 2, archive,
                                        follower_on_rewrite_done, &is_done),
                         0);
        fixture_wait(f, &is_done);
        assert_int_equal(reader.n_gone, 2);
        assert_int_equal(reader.lines.position, 1);
        assert_int_equal(put_event(f, 4, "a"), 0);
        assert_string_equal(reader.told, "e4*");
        follower_stop(&reader.lines);
}

/* More than is given in one turn: the rest is read. */
static void test_many_at_once(void **state) {
        Fixture *f = *state;
        Reader reader = {0};
        Write write;

        assert_int_equal(fixture_open(f), 0);
        reader_start(&reader, f, TYPE(.wants = reader_wants_even), 0);
        write_begin(&write, f);
        for (unsigned i = 0; i < FOLLOWER_LINES + 4; i++)
                write_event(&write, i + 1, "a");
        assert_int_equal(write_end(&write, f), 0);
        reader_wait(f, &reader);
        assert_non_null(strstr(reader.told, "e64* e66 e68"));
        follower_stop(&reader.lines);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                ledger_test(test_own_lines_come_from_memory),
                ledger_test(test_one_tree_for_all),
                ledger_test(test_one_that_is_behind_reads_the_file),
                ledger_test(test_lines_of_others_then_own),
                ledger_test(test_held_and_paused),
                ledger_test(test_a_line_that_was_overwritten),
                ledger_test(test_long_lines_come_without_their_text),
                ledger_test(test_lines_that_are_taken_out),
                ledger_test(test_many_at_once),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
