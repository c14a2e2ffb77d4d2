#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the ledger share: a ledger in a folder of its own, events as short JSON lines, and
 * waiting for what comes later.
 */
#include "base/loop/test-loop-fixture.h"
#include "core/ledger/ledger.h"

typedef struct Fixture {
        Loop *loop;
        Ledger *ledger;
        char dir[64], path[96], state[96];
        LedgerPolicy policy;
        bool has_chain;
        int opened_r;
        uint64_t n_committed, n_rewritten; /* what was told */
        bool is_settled;
} Fixture;

/* One change that notes how it ended. */
typedef struct Write {
        LedgerChange change;
        bool is_done;
        int r;
} Write;

int fixture_setup(void **state);
int fixture_teardown(void **state); /* closes, fails when descriptors were lost, removes the folder */

bool test_classify(Arena *arena, const Json *line, LedgerFacts *facts);
int fixture_open(Fixture *f); /* what opened() said */
void fixture_close(Fixture *f);
void fixture_reopen(Fixture *f);
void fixture_wait(Fixture *f, const bool *flag);
void fixture_settle(Fixture *f); /* a barrier */

/* {"id":"e7","ts":7,"kind":"chat","to":["a"],"text":"…"} */
void event_text(char *out, size_t n, unsigned number, const char *to);
void write_begin(Write *write, Fixture *f);
void write_line(Write *write, const char *text);
void write_event(Write *write, unsigned number, const char *to);
int write_end(Write *write, Fixture *f); /* commits and waits */
int put_event(Fixture *f, unsigned number, const char *to);
void put_events(Fixture *f, unsigned first, unsigned n, const char *to); /* one change each, one group */

/* Files behind its back. */
void file_put(const char *path, const void *data, size_t n, bool is_append);
size_t file_get(const char *path, char *out, size_t n_max);
size_t count_files(const char *dir, const char *prefix);
typedef struct Look {
        LedgerRead read;
        bool is_done;
} Look;
void look_at(Look *look, Fixture *f, const uint64_t *positions, size_t n); /* and waits */
void assert_line(Fixture *f, uint64_t position, const char *text);
void assert_event(Fixture *f, uint64_t position, unsigned number, const char *to);
/* Positions of the lines with these words (blank-separated), forwards or backwards, as "0 3 7". */
void assert_listed(Fixture *f, const char *words, uint64_t from, bool is_backwards, const char *want);

#define ledger_test(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
