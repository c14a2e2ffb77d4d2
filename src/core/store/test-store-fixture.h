#pragma once
/* SPDX-License-Identifier: MIT */
/* What the tests of the store share: a folder with a store in it, and changes that are waited for. */
#include "base/loop/test-loop-fixture.h"
#include "core/store/store-internal.h"

typedef struct Fixture {
        Loop *loop;
        char dir[64];
        int root;
        Store *store;
        int opened_r;
        bool is_settled;
        Buf told; /* "kind seq;" of all events */
        void (*step)(const char *what);
} Fixture;

int store_setup(void **state);
int store_teardown(void **state);
int fixture_open(Fixture *f); /* and waits */
void fixture_close(Fixture *f);
void fixture_wait(Fixture *f, const bool *flag);

typedef struct Try {
        StoreChange change;
        bool is_done;
        int r;
} Try;
void try_init(Try *try, Fixture *f);
int try_commit(Try *try, Fixture *f); /* and waits */
void try_start(Try *try);
/* A body of an event that trail_check() has nothing against. */
Str body_of(char room[512], const char *run, unsigned number);

void put(Fixture *f, const char *path, Str bytes); /* as another program: folders are made */
void get(Fixture *f, const char *path, Buf *ret);  /* missing: "(none)" */
void assert_file(Fixture *f, const char *path, const char *want);
bool has_file(Fixture *f, const char *path);
TrailReport trail_report(Fixture *f, const char *path);
unsigned count_temps(Fixture *f); /* files that no reader should ever find, in the whole tree */

#define store_test(name) cmocka_unit_test_setup_teardown(name, store_setup, store_teardown)
