#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the loop share: a loop for every test, a trail of what ran on it, and a limit of time
 * for those that really wait.
 */
#include "base/test-cmocka.h"
#include "base/loop/loop.h"

/* What ran, one letter each, in order. */
extern char trail[1024];
extern size_t n_trail;

void note(char letter);
void on_note(void *user);             /* notes the letter that `user` points to */
void assert_ran(const char *letters); /* since the last look */

/* Of every test; the second fails it when descriptors were lost. The loop is the test's state. */
int make_loop(void **state);
int free_loop(void **state);

uint32_t next_random(uint32_t *seed);

/* Runs until something stops the loop. Returns whether that came before the limit. */
bool run_within(Loop *loop, int limit_ms);

/* A timer that leaves its name on the trail. */
typedef struct NamedTimer {
        Timer timer;
        char name;
        int64_t again_ms; /* -1: one shot */
        int n_left;       /* how often it is armed again */
        Timer *victim;    /* cleared when this one fires */
} NamedTimer;

void named_init(NamedTimer *named, Loop *loop, char name);

void on_stop_timer(Timer *timer); /* stops its loop */

#define loop_test(name) cmocka_unit_test_setup_teardown(name, make_loop, free_loop)
