#pragma once
/* SPDX-License-Identifier: MIT */
/* A context folder of its own for every test, and what is done with it. Owned by the test: place_remove().
 */
#include "base/test-cmocka.h"
#include "collab/context/context-internal.h"
#include "collab/context/context.h"

typedef struct Place {
        char path[64];
        Arena arena;
        Context context;
        int64_t now_us;
        ContextCache cache;
} Place;

int place_make(void **state);
int place_remove(void **state);
void place_load(Place *place);
int place_apply(Place *place, const char *ops);
const char *place_changes(Place *place);
const char *place_store(Place *place, const char *ops); /* a whole op: load, apply, store, load again */
void assert_refused(Place *place, const char *ops, const char *complaint);
char *place_path(Place *place, const char *name);
void place_write_file(Place *place, const char *name, const char *text);
const char *place_read_file(Place *place, const char *name);
void assert_has(const char *text, const char *part);
const char *place_summary(Place *place);
const char *place_tasks(Place *place);
void place_version(Place *place, char out[CONTEXT_VERSION_MAX]);

#define place_test(name) cmocka_unit_test_setup_teardown(name, place_make, place_remove)
