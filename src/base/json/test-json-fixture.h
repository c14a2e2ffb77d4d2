#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What the tests of JSON trees share: an arena for trees and a buffer for text, both fresh for every test.
 */
#include "base/test-cmocka.h"
#include "base/json/json-writer.h"

extern Arena arena;
extern Buf out;

int setup(void **state);
int teardown(void **state);

/* Fails the test when `text` is not JSON. The tree is in `arena`. */
Json *parse(const char *text);

void assert_str(Str s, const char *expected);
void assert_written(const Json *json, const char *expected); /* by way of `out` */

#define json_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
