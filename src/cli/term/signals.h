#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Signals: some signals as something to poll for instead of something that happens. From open to deinit they
 * are blocked and wait in a descriptor, so that nothing is interrupted and no handler needs to be safe.
 * Owned by the command.
 */
#include <signal.h>
#include <stddef.h>

#include "base/macro.h"

typedef struct Signals {
        int fd; /* -1: not open */
        sigset_t before;
} Signals;

#define SIGNALS_NULL                                                                                        \
        { .fd = -1 }

/* Those that are ignored already stay so. */
int signals_open(Signals *signals, const int *numbers, size_t n);
/* What still waits takes effect here: put the terminal right first. */
void signals_deinit(Signals *signals);
/* The next one that has come; 0: none. */
int signals_take(Signals *signals);
/* Ends the process as the signal would have done, so that whoever started us sees it. */
_noreturn_ void die_by_signal(int number);
